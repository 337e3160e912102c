"""What a board returned for one-layer models names Neural-ART, its ties, and s0 of the layer.

Only input and output are known: the convolution's tensor is not, and is judged with the average.
"""

from __future__ import annotations

import pytest
from conformance.board import FILE, KNOWN_TIES, fitted_s0, opened, weighted
from conformance.goldens import path_of

import npusim
from npusim.diff.sides import Dump, Side
from npusim.identify import identify


def report_of(case, folder):
    path = folder / f"{case}.tflite"
    model, x, board, _ = opened(case)
    path.write_bytes(model)
    graph = npusim.load(path)
    y = graph.tensors[graph.outputs[0]]
    dumps = (Dump(graph.tensors[graph.inputs[0]].name, "", x), Dump(y.name, "", board))
    report = identify(Side("board", "folder", dumps), graph)
    (layer,) = weighted(npusim.load(path, profile="neural-art"))
    return report, next(v for v in report.verdicts if v.node == layer.name)


@pytest.mark.parametrize(
    "case",
    [c if c == "conv2d_1x1" else pytest.param(c, marks=pytest.mark.full) for c in KNOWN_TIES],
)
def test_board_names_three_stages_and_s0_and_the_ties_that_show(case, tmp_path):
    if not path_of(FILE).exists():
        pytest.skip(f"{path_of(FILE)} is absent")
    report, layer = report_of(case, tmp_path)
    up, even = KNOWN_TIES[case]
    ties = {"": 0, " with ties up": up, " with ties to even": even}
    assert report.explained
    assert {name for name in report.consistent if name.startswith("neural-art")} == {
        f"neural-art{which}" for which, differing in ties.items() if not differing
    }
    found = {h.own for h in layer.survivors if h.own}
    assert f"s0 {fitted_s0(case, tmp_path)}" in found
    # where no tie shows, TFLite Micro's codes are the board's, and so are those of four s0
    assert len(found) == (1 if up or even else 4)
    assert any(h.names == ("neural_art, ties away",) for h in layer.survivors)
    if up and even:
        assert report.distinct == (("neural-art",),)
