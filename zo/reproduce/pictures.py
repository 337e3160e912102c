"""Pictures of studies: heat maps of accuracies, bars of counts. Needs matplotlib."""

from collections.abc import Mapping
from typing import Any

from ..plots import COLOURS, INK, figures

LIGHT_ABOVE = 60


def heat_maps(panels: Mapping[str, Mapping[tuple[str, str], float]]) -> Any:
    """Side by side, per cent by (row, column); returns a matplotlib Figure."""
    figure = figures().Figure(figsize=(2.2 + 4.2 * len(panels), 5.6), layout="constrained")
    axes = figure.subplots(ncols=len(panels), sharey=True, squeeze=False)[0]
    for each, (title, values) in zip(axes, panels.items(), strict=True):
        rows = list(dict.fromkeys(row for row, _ in values))
        columns = list(dict.fromkeys(column for _, column in values))
        grid = [[values[row, column] for column in columns] for row in rows]
        each.imshow(grid, vmin=0, vmax=100, cmap="viridis", aspect="auto")
        for y, line in enumerate(grid):
            for x, value in enumerate(line):
                colour = INK if value > LIGHT_ABOVE else "white"
                each.text(x, y, f"{value:.0f}", ha="center", va="center", color=colour, size=9)
        each.set_xticks(range(len(columns)), columns, rotation=35, ha="right")
        each.set_yticks(range(len(rows)), rows)
        each.set_title(f"test accuracy, %: {title}", loc="left", color=INK)
    return figure


def bars(values: Mapping[str, float], axis: str) -> Any:
    """Lying bars over an axis that is logarithmic from 1 on. A matplotlib Figure."""
    figure = figures().Figure(figsize=(7.2, 1.2 + 0.4 * len(values)), layout="constrained")
    axes = figure.subplots()
    lying = axes.barh(list(values), list(values.values()), color=COLOURS[0])
    axes.bar_label(lying, fmt="{:,.0f}", padding=3)
    axes.margins(x=0.15)
    axes.set_xscale("symlog", linthresh=1)
    axes.invert_yaxis()
    axes.set_xlabel(axis)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def bar_panels(panels: Mapping[str, Mapping[str, tuple[float, float]]]) -> Any:
    """Lying bars side by side, each panel with labels of its own; a matplotlib Figure.

    panels   axis -> label -> (value, its standard deviation, 0 for none)
    """
    rows = max(map(len, panels.values()))
    figure = figures().Figure(figsize=(5.2 * len(panels), 1.3 + 0.42 * rows), layout="constrained")
    axes = figure.subplots(ncols=len(panels), squeeze=False)[0]
    for each, colour, (axis, values) in zip(axes, COLOURS, panels.items(), strict=False):
        lengths = [value for value, _ in values.values()]
        errors = [deviation for _, deviation in values.values()]
        each.barh(list(values), lengths, xerr=errors if any(errors) else None, color=colour)
        for y, (length, error) in enumerate(zip(lengths, errors, strict=True)):
            text = f"{length:,.1f}" if length < 1000 else f"{length:,.0f}"
            each.text(length + error, y, f" {text}", va="center", color=INK, size=9)
        each.margins(x=0.22)
        each.invert_yaxis()
        each.set_xlabel(axis)
        each.spines[["top", "right"]].set_visible(False)
    return figure
