"""Pictures of runs: what is drawn is what happened."""

import numpy as np

from zo.commands.plot import Panel, draw
from zo.cost import Cost
from zo.history import Epoch


def run(*epochs):
    """A history of (q, correct of 100, forwards) after epoch 0."""
    return [Epoch(0, 0, 10, 100, 0, 0, 0, Cost(), 0.0)] + [
        Epoch(i + 1, q, correct, 100, 0, 0, 0, Cost(forwards), 0.0)
        for i, (q, correct, forwards) in enumerate(epochs)
    ]


def test_q_is_drawn_over_the_forwards_of_its_epochs():
    history = run((4, 20, 50), (8, 30, 140), (8, 35, 230))
    accuracy, samples = draw([Panel("task", {"run": history}, {})]).axes
    (line,) = samples.lines
    assert line.get_drawstyle() == "steps-pre"  # 8 from 50 to 140, and on to 230
    assert line.get_xydata().tolist() == [[50, 4], [140, 8], [230, 8]]
    assert accuracy.lines[0].get_xydata().tolist() == [[50, 20], [140, 30], [230, 35]]
    assert accuracy.get_title(loc="left") == "task"


def test_levels_are_lines_and_exact_runs_have_no_q():
    panels = [Panel(name, {"exact": run((0, 90, 10))}, {"nothing": 0.5}) for name in "ab"]
    figure = draw(panels)
    accuracy, _, samples, _ = figure.axes
    assert np.array_equal(accuracy.lines[0].get_ydata(), [50, 50])
    assert len(samples.lines) == 0
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["nothing", "exact"]
