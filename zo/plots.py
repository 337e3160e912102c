"""Pictures of runs: accuracy over forwards, and q's path below it. Needs matplotlib."""

import math
from collections.abc import Mapping, Sequence
from io import BytesIO
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from .history import Epoch

INK = "#222222"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's palette, which colour-blind readers tell apart."""
MOST_COLUMNS = 3
"""Panels beside one another; more stand below."""
MOST_CURVES = len(COLOURS)
LEVEL_STYLES = (":", "--", "-.")
DOTS_PER_INCH = 144
DECADE = 10
"""Runs that differ so much in length share a logarithmic axis."""


class Panel(NamedTuple):
    """One task of a picture.

    title    over the panel
    curves   label -> history of a run, whose accuracies are of its validation images
    levels   label -> accuracy that took no training, drawn as a line
    """

    title: str
    curves: Mapping[str, Sequence[Epoch]]
    levels: Mapping[str, float]


def save_run(history: Sequence[Epoch], title: str, path: Path) -> None:
    """One run as a PNG."""
    save_panels([Panel(title, {"validation": history}, {})], path)


def save_panels(panels: Sequence[Panel], path: Path) -> None:
    """Panels side by side as a PNG, see `draw`."""
    path.write_bytes(to_png(draw(panels)))


def to_png(figure: Any) -> bytes:
    """A figure as a PNG."""
    file = BytesIO()
    figure.savefig(file, format="png", dpi=DOTS_PER_INCH)
    return file.getvalue()


def draw(panels: Sequence[Panel]) -> Any:
    """Panels in rows of MOST_COLUMNS: accuracy above, q below, over the forwards of a batch.

    returns   a matplotlib Figure; q's line holds in each epoch what that epoch used. Without any q
              there is no lower panel. Runs of several lengths share a logarithmic axis that starts
              linear, so that it holds epoch 0
    """
    histories = [history for panel in panels for history in panel.curves.values()]
    has_q = any(epoch.q for history in histories for epoch in history)
    figure, pairs = _axes(len(panels), has_q)
    for panel, pair in zip(panels, pairs, strict=True):
        _draw_panel(panel, pair, pairs[0])
    for pair in pairs:
        for each in pair:
            _scale_forwards(each, histories)
    accuracy = pairs[0][0]
    accuracy.set_ylim(top=min(accuracy.get_ylim()[1], 102))
    _name_curves(figure, [pair[0] for pair in pairs])
    return figure


def _axes(count: int, has_q: bool) -> tuple[Any, list[Sequence[Any]]]:
    """A figure, and for each panel its axes: of accuracy, and of q where there is one."""
    rows = -(-count // MOST_COLUMNS)
    columns = -(-count // rows)
    heights = (3, 1) if has_q else (1,)
    figure = figures().Figure(figsize=(1.4 + 4.4 * columns, rows * (5.6 if has_q else 4.2)),
                              layout="constrained")  # fmt: skip
    grid = figure.subplots(rows * len(heights), columns, sharex=True, squeeze=False,
                           height_ratios=heights * rows)  # fmt: skip
    pairs = [grid[row * len(heights) : (row + 1) * len(heights), column]
             for row in range(rows) for column in range(columns)]  # fmt: skip
    for pair in pairs[count:]:
        for each in pair:
            each.remove()
    for i, pair in enumerate(pairs[:count]):
        for each, label in zip(pair, ("validation accuracy, %", "q"), strict=False):
            each.set_ylabel("" if i % columns else label)
            each.tick_params(labelleft=i % columns == 0)
    return figure, pairs[:count]


def _draw_panel(panel: Panel, axes: Sequence[Any], first: Sequence[Any]) -> None:
    """One panel on its axes, scaled as the first panel's."""
    for each, same in zip(axes, first, strict=True):
        if each is not same:
            each.sharey(same)
        each.grid(alpha=0.25)
        each.spines[["top", "right"]].set_visible(False)
    _draw_accuracy(axes[0], panel)
    if len(axes) > 1:
        _draw_samples(axes[1], panel)
    axes[-1].set_xlabel("forwards of a batch")
    axes[-1].tick_params(labelbottom=True)


def _name_curves(figure: Any, axes: Sequence[Any]) -> None:
    """One legend below several panels that mean the same by a colour, else one in each panel."""
    named = [(each, *each.get_legend_handles_labels()) for each in axes]
    named = [(each, handles, labels) for each, handles, labels in named if len(labels) > 1]
    meant = {
        (label, (handle.get_color(), handle.get_linestyle()))
        for _, handles, labels in named
        for handle, label in zip(handles, labels, strict=True)
    }
    alike = len(meant) == len({label for label, _ in meant}) == len({look for _, look in meant})
    if len(named) > 1 and alike:
        _, handles, labels = max(named, key=lambda panel: len(panel[2]))
        figure.legend(handles, labels, loc="outside lower center", ncols=MOST_CURVES, frameon=False)
        return
    for each, handles, labels in named:
        each.legend(handles, labels, loc="best", fontsize="small", frameon=False)


def _draw_accuracy(axes: Any, panel: Panel) -> None:
    for style, (label, level) in zip(LEVEL_STYLES, panel.levels.items(), strict=False):
        axes.axhline(100 * level, color=INK, linestyle=style, linewidth=1.3, label=label)
    colours = COLOURS if len(panel.curves) > 1 else (INK,)  # a legend below means no single curve
    for colour, (label, history) in zip(colours, panel.curves.items(), strict=False):
        forwards = [epoch.cost.forwards for epoch in history]
        accuracies = [100 * epoch.accuracy for epoch in history]
        axes.plot(forwards, accuracies, color=colour, linewidth=1.8, label=label)
        axes.plot(forwards[-1:], accuracies[-1:], "o", color=colour, markersize=4)
    axes.set_title(panel.title, loc="left", color=INK)


def _draw_samples(axes: Any, panel: Panel) -> None:
    """q of each epoch, from the forwards it began with to those it ended with."""
    colours = COLOURS if len(panel.curves) > 1 else (INK,)
    for colour, history in zip(colours, panel.curves.values(), strict=False):
        if any(epoch.q for epoch in history):
            forwards = [epoch.cost.forwards for epoch in history]
            q = [epoch.q for epoch in history]
            axes.step(forwards, [q[1], *q[1:]], where="pre", color=colour, linewidth=1.8)
    axes.set_yscale("log", base=2)
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")


def _scale_forwards(axes: Any, histories: Sequence[Sequence[Epoch]]) -> None:
    ends = [history[-1].cost.forwards for history in histories]
    if len(ends) > 1 and max(ends) > DECADE * min(ends):
        first = min(history[1].cost.forwards for history in histories)
        axes.set_xscale("symlog", linthresh=first, linscale=0.3)
        exponents = range(math.ceil(math.log10(first)), math.floor(math.log10(max(ends))) + 1)
        axes.set_xticks([0, *(10**exponent for exponent in exponents)])
    else:
        axes.locator_params(axis="x", nbins=5)
    axes.set_xlim(left=0)


def figures() -> ModuleType:
    """matplotlib.figure; an ImportError that names the extra when it is missing."""
    try:
        from matplotlib import figure
    except ImportError as error:
        raise ImportError(
            "curves: matplotlib must be installed to draw them, got none; "
            'pip install "npusim[plot]"'
        ) from error
    return figure
