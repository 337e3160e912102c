"""Neural-ART against what a board returned for one-layer models: zero differing elements.

Each case of the file holds a .tflite model (convolution, perhaps a max pool, global average), the
inputs a board was given, its outputs, and s0, the one number that no rule gives.
"""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from conformance.board import FILE, fitted_s0, graph_of, layer_of
from conformance.goldens import parameters, path_of

import npusim
from npusim.neural_art.stored import read

# case: outputs that differ from the board's when all ties go (up, to even)
KNOWN_TIES = {
    "conv2d_16f_3x3": (0, 1),
    "conv2d_1x1": (1, 3),
    "conv2d_32f_7x7": (2, 1),
    "conv2d_3x3": (2, 0),
    "conv2d_64f_3x3": (0, 7),
    "conv2d_pool": (0, 0),
}


def _cases(file: h5py.File) -> list:
    return [pytest.param(name, id=name) for name in file]


def _known(file: h5py.File) -> list:
    return [param for param in _cases(file) if param.id in KNOWN_TIES]


def differing(case: str, graph: npusim.Graph) -> int:
    """How many of the board's outputs differ."""
    with h5py.File(path_of(FILE), "r") as file:
        x, board = file[case]["inputs"][...], file[case]["board"][...]
    y = npusim.Session(graph, threads=1).run(x)
    return int(np.sum(y.reshape(board.shape) != board))


@pytest.fixture(params=["numpy", "portable"])
def isa(request, monkeypatch):
    monkeypatch.setenv("NPUSIM_ISA", request.param)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("case", parameters(FILE, _cases))
def test_given_s0_every_output_matches_board(case, tmp_path):
    assert differing(case, graph_of(case, tmp_path, s0=fitted_s0(case))) == 0


@pytest.mark.parametrize("case", parameters(FILE, _cases))
def test_s0_by_rule_is_near_the_compilers(case, tmp_path, capsys):
    graph, s0 = graph_of(case, tmp_path), fitted_s0(case)
    rule = int(read(layer_of(graph)).derived["s0"][0])
    count = differing(case, graph)
    with capsys.disabled():
        print(f"\n{case}: s0 {rule} by the rule, {s0} of the compiler: {count} outputs differ")
    assert -2 <= s0 - rule <= 1
    assert (count == 0) or (s0 != rule)


@pytest.mark.parametrize("case", parameters(FILE, _cases))
def test_coefficients_follow_from_s0(case, tmp_path):
    """The convolution's and the average's coefficients, as they were fitted to the board."""
    graph = graph_of(case, tmp_path, s0=fitted_s0(case))
    layer, average = read(layer_of(graph)).values, read(graph.nodes[-1]).values
    with h5py.File(path_of(FILE), "r") as file:
        derived = file[case]["derived"]
        expected, a_c = dict(derived.attrs), derived["A_c"][...]
    assert layer["A_c"].tolist() == a_c.tolist()
    assert set(layer["BC_c"].tolist()) == {int(expected["BC"])}
    assert layer["rows"].tolist() == expected["split_rows"].tolist()
    assert layer["columns"].tolist() == expected["split_cols"].tolist()
    assert {name: layer[name][0] for name in ("f", "s1", "s2", "A2")} == {
        name: expected[name] for name in ("f", "s1", "s2", "A2")
    }
    assert [average[n][0] for n in ("cells", "mulval", "k", "A", "q", "C")] == [
        expected["n_pool"], expected["mulval"], expected["pool_shift"] + 8, expected["A_pool"],
        expected["pool_s"], expected["C_pool"],
    ]  # fmt: skip


@pytest.mark.parametrize("case", parameters(FILE, _cases))
def test_other_ties_miss_outputs(case, tmp_path, capsys):
    s0 = fitted_s0(case)
    counts = [
        differing(case, graph_of(case, tmp_path, s0=s0, ties=ties)) for ties in ("up", "even")
    ]
    with capsys.disabled():
        print(f"\n{case}: outputs that differ: ties up {counts[0]}, to even {counts[1]}")
    assert tuple(counts) == KNOWN_TIES.get(case, tuple(counts))


@pytest.mark.parametrize("case", parameters(FILE, _known))
def test_ties_of_the_convolution_up_or_away_give_the_same_outputs(case, tmp_path):
    """What these outputs say of away against up, they say of the pool alone."""
    s0 = fitted_s0(case)
    layer = layer_of(graph_of(case, tmp_path))
    up = npusim.load(tmp_path / f"{case}.tflite", profile="neural-art",
                     parameters={layer.name: {"s0": s0, "ties": "up"}})  # fmt: skip
    assert differing(case, up) == 0


def test_partials_in_24_bits_miss_outputs_of_the_large_kernel(tmp_path):
    """The 7x7 kernel's pieces pass int16 on: raw partials give other outputs."""
    case = "conv2d_32f_7x7"
    if case not in [param.values[0] for param in parameters(FILE, _cases)]:
        pytest.skip(f"{path_of(FILE)} has no case {case}")
    assert differing(case, graph_of(case, tmp_path, s0=fitted_s0(case), partial_bits=24)) == 2
