"""Pictures of runs: accuracy over forwards, and q's path below it. Needs matplotlib."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from ..history import Epoch

INK = "#222222"
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Okabe and Ito's palette, which colour-blind readers tell apart."""
LEVEL_STYLES = (":", "--", "-.")
DOTS_PER_INCH = 144


class Panel(NamedTuple):
    """One task of a picture.

    title    over the panel
    curves   label -> history of a run
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
    draw(panels).savefig(path, dpi=DOTS_PER_INCH)


def draw(panels: Sequence[Panel]) -> Any:
    """Panels side by side: accuracy above, q below, over the forwards of a batch.

    returns   a matplotlib Figure; q's line holds in each epoch what that epoch used
    """
    figure = figures().Figure(figsize=(1.4 + 4.4 * len(panels), 5.6), layout="constrained")
    axes = figure.subplots(
        2, len(panels), sharex=True, sharey="row", squeeze=False, height_ratios=(3, 1)
    )
    for column, panel in enumerate(panels):
        _draw(axes[0][column], axes[1][column], panel)
    axes[0][0].set_ylabel("accuracy, %")
    axes[1][0].set_ylabel("q")
    handles, labels = axes[0][0].get_legend_handles_labels()
    if len(labels) > 1:
        figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    return figure


def _draw(accuracy: Any, samples: Any, panel: Panel) -> None:
    for style, (label, level) in zip(LEVEL_STYLES, panel.levels.items(), strict=False):
        accuracy.axhline(100 * level, color=INK, linestyle=style, linewidth=1.3, label=label)
    for colour, (label, history) in zip(COLOURS, panel.curves.items(), strict=False):
        forwards = [epoch.cost.forwards for epoch in history[1:]]
        accuracies = [100 * epoch.accuracy for epoch in history[1:]]
        accuracy.plot(forwards, accuracies, color=colour, linewidth=1.8, label=label)
        accuracy.plot(forwards[-1:], accuracies[-1:], "o", color=colour, markersize=4)
        if any(epoch.q for epoch in history):
            q = [epoch.q for epoch in history[1:]]
            samples.step(forwards, q, where="pre", color=colour, linewidth=1.8)
    accuracy.set_title(panel.title, loc="left", color=INK)
    accuracy.set_xscale("log")
    samples.set_yscale("log", base=2)
    samples.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    samples.set_xlabel("forwards of one batch")
    for axes in (accuracy, samples):
        axes.grid(alpha=0.25)
        axes.spines[["top", "right"]].set_visible(False)


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
