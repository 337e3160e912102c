"""Pictures of runs: what is drawn is what happened."""

from itertools import pairwise

import numpy as np

from zo.cost import Cost
from zo.history import Epoch
from zo.plots import Panel, draw


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
    assert line.get_xydata().tolist() == [[0, 4], [50, 4], [140, 8], [230, 8]]
    assert accuracy.lines[0].get_xydata().tolist() == [[0, 10], [50, 20], [140, 30], [230, 35]]
    assert accuracy.get_xscale() == "linear"
    assert (accuracy.get_ylabel(), samples.get_ylabel()) == ("validation accuracy, %", "q")
    assert accuracy.get_title(loc="left") == "task"


def test_levels_are_lines_and_exact_runs_have_no_q():
    panels = [Panel(name, {"exact": run((0, 90, 10))}, {"nothing": 0.5}) for name in "ab"]
    figure = draw(panels)
    accuracy, other = figure.axes
    assert np.array_equal(accuracy.lines[0].get_ydata(), [50, 50])
    assert (accuracy.get_xlabel(), other.get_xlabel()) == ("forwards of a batch",) * 2
    assert [t.get_text() for t in figure.legends[0].get_texts()] == ["nothing", "exact"]


def test_one_epoch_has_a_line_of_q():
    _, samples = draw([Panel("task", {"run": run((4, 20, 50))}, {})]).axes
    assert samples.lines[0].get_xydata().tolist() == [[0, 4], [50, 4]]


def test_run_interrupted_in_its_first_epoch_is_drawn():
    (accuracy,) = draw([Panel("task", {"run": run()}, {})]).axes
    assert accuracy.lines[0].get_xydata().tolist() == [[0, 10]]


def test_runs_of_several_lengths_share_an_axis_that_holds_epoch_0():
    curves = {"short": run((0, 90, 10)), "long": run((4, 20, 5000))}
    accuracy, samples = draw([Panel("task", curves, {})]).axes
    assert accuracy.get_xscale() == samples.get_xscale() == "symlog"
    assert accuracy.get_xlim()[0] == 0


def test_ticks_of_forwards_do_not_collide():
    figure = draw([Panel("task", {"run": run((4, 20, 15000), (8, 30, 157000))}, {})])
    figure.canvas.draw()
    boxes = [text.get_window_extent() for text in figure.axes[1].get_xticklabels()]
    assert len(boxes) > 2
    assert all(a.x1 < b.x0 for a, b in pairwise(boxes))


def test_every_panel_shows_all_its_accuracies():
    panels = [Panel(str(right), {"run": run((0, right, 10))}, {}) for right in (95, 20, 100)]
    low, high = draw(panels).axes[0].get_ylim()
    assert low < 10
    assert 100 < high <= 102


def test_more_than_three_panels_stand_in_rows_on_one_scale():
    tops = {"a": 20, "b": 40, "c": 60, "d": 80}
    panels = [Panel(name, {"run": run((4, top, 50))}, {}) for name, top in tops.items()]
    figure = draw(panels)
    places = {
        axes.get_title(loc="left"): axes for axes in figure.axes if axes.get_title(loc="left")
    }
    assert list(places) == ["a", "b", "c", "d"]
    figure.canvas.draw()
    corners = [places[name].get_position().bounds[:2] for name in "abcd"]
    assert corners[0][1] == corners[1][1] > corners[2][1] == corners[3][1]
    assert corners[0][0] == corners[2][0] < corners[1][0] == corners[3][0]
    assert len({axes.get_ylim() for axes in places.values()}) == 1
    assert places["a"].get_ylim()[1] >= 80


def legends(*panels):
    """Names below the picture, and in each of its panels."""
    figure = draw([Panel("", dict.fromkeys(names, run((4, 20, 50))), {}) for names in panels])
    inside = [axes.get_legend() for axes in figure.axes[: len(panels)]]
    below = [text.get_text() for legend in figure.legends for text in legend.get_texts()]
    return below, [each and [text.get_text() for text in each.get_texts()] for each in inside]


def test_a_legend_stands_below_where_a_colour_means_the_same_everywhere():
    assert legends("ab", "abc", "x") == (["a", "b", "c"], [None, None, None])


def test_a_single_curve_has_a_colour_that_no_legend_names():
    figure = draw([Panel("", dict.fromkeys(names, run((4, 20, 50))), {}) for names in ("ab", "x")])
    several, alone = ([line.get_color() for line in axes.lines] for axes in figure.axes[:2])
    assert len(set(several)) == 2
    assert set(several).isdisjoint(alone)


def test_a_legend_stands_in_each_panel_where_a_colour_means_two_things():
    assert legends("ab", "cd") == ([], [["a", "b"], ["c", "d"]])
    assert legends("ab", "ba") == ([], [["a", "b"], ["b", "a"]])
    assert legends("abc") == ([], [["a", "b", "c"]])
    assert legends("a", "b") == ([], [None, None])
