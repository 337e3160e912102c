"""What a board returned for one-layer models names Neural-ART, its ties, and s0 of the layer.

Only input and output are known: the convolution's tensor is not, and is judged with the average.
"""

from __future__ import annotations

import pytest
from conformance.board import FILE, fitted_s0, opened, weighted
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
    "case", ["conv2d_1x1", pytest.param("conv2d_32f_7x7", marks=pytest.mark.full)]
)
def test_board_names_three_stages_with_ties_away_and_s0(case, tmp_path):
    if not path_of(FILE).exists():
        pytest.skip(f"{path_of(FILE)} is absent")
    report, layer = report_of(case, tmp_path)
    assert report.explained
    assert report.distinct == (("neural-art",),)
    assert {h.own for h in layer.survivors} == {f"s0 {fitted_s0(case, tmp_path)}"}
    assert any(h.names == ("neural_art, ties away",) for h in layer.survivors)


@pytest.mark.full
@pytest.mark.parametrize("case", ["conv2d_16f_3x3", "conv2d_3x3", "conv2d_64f_3x3", "conv2d_pool"])
def test_board_never_contradicts_neural_art(case, tmp_path):
    if not path_of(FILE).exists():
        pytest.skip(f"{path_of(FILE)} is absent")
    report, layer = report_of(case, tmp_path)
    assert "neural-art" in report.consistent
    assert f"s0 {fitted_s0(case, tmp_path)}" in {h.own for h in layer.survivors}
