"""The charts of a run's page, drawn by matplotlib as SVG."""

from collections.abc import Sequence
from io import BytesIO
from typing import Any

from ..history import Epoch
from ..plots import COLOURS, Panel, draw, figures

SETTINGS: Any = {"svg.hashsalt": "npusim", "svg.fonttype": "none"}
"""Equal runs give equal pages, and text stays text."""


def accuracy_chart(history: Sequence[Epoch]) -> str:
    """Accuracy over forwards, and q below it."""
    return _svg(draw([Panel("", {"validation": history}, {})]))


def loss_chart(history: Sequence[Epoch]) -> str:
    """Loss of training and of validation over epochs."""
    figure = figures().Figure(figsize=(5.8, 5.6), layout="constrained")
    axes = figure.subplots()
    trained = [epoch for epoch in history if epoch.images]
    curves = {
        "validation": [(e.epoch, e.mean_loss) for e in history],
        "training, before each step": [(e.epoch, e.mean_train_loss) for e in trained],
    }
    for colour, (label, points) in zip(COLOURS, curves.items(), strict=False):
        axes.plot(*zip(*points, strict=True), color=colour, linewidth=1.8, label=label)
    axes.set_xlabel("epoch")
    axes.set_ylabel("loss per image, nat")
    axes.grid(alpha=0.25)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False)
    return _svg(figure)


def _svg(figure: Any) -> str:
    """The figure as an <svg> element, without what changes from day to day."""
    from matplotlib import rc_context

    with rc_context(SETTINGS):
        file = BytesIO()
        figure.savefig(file, format="svg", metadata={"Date": None}, transparent=True)
    text = file.getvalue().decode()
    return text[text.index("<svg") :]
