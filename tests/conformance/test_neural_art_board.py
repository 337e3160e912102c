"""Neural-ART against what a board returned for small models: zero differing elements.

Each case of the file holds a .tflite model (one weighted layer, perhaps a max pool, a global
average), the inputs a board was given, its outputs, and in the group `derived` s0, the one number
that no rule gives: one, or one for each weighted layer. Where it is missing it is looked for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest
from conformance.goldens import parameters, path_of

import npusim
from npusim.neural_art.stored import family, read

FILE = "neural_art_board_dumps.h5"

# case: outputs that differ from the board's when all ties go (up, to even)
KNOWN_TIES = {
    "conv2d_16f_3x3": (0, 1),
    "conv2d_1x1": (1, 3),
    "conv2d_32f_7x7": (2, 1),
    "conv2d_3x3": (2, 0),
    "conv2d_64f_3x3": (0, 7),
    "conv2d_pool": (0, 0),
}
# the average's numbers, and what the file calls them
AVERAGE = {"cells": "n_pool", "mulval": "mulval", "A": "A_pool", "q": "pool_s", "C": "C_pool"}


def _cases(file: h5py.File) -> list:
    """Every group with a model, at any depth."""
    names: list[str] = []
    file.visititems(lambda name, item: names.append(name) if f"{name}/tflite" in file else None)
    return [pytest.param(name, id=name) for name in names]


def _known(file: h5py.File) -> list:
    return [param for param in _cases(file) if param.id in KNOWN_TIES]


def _with(attribute: str):
    """Lists the cases whose group `derived` has an attribute."""

    def listed(file: h5py.File) -> list:
        return [p for p in _cases(file) if attribute in derived(file[p.values[0]])]

    return listed


def derived(group: h5py.Group) -> dict[str, Any]:
    """Attributes and datasets of a case's group `derived`; none where it has none."""
    found = group.get("derived")
    if found is None:
        return {}
    return {**found.attrs, **{name: item[...] for name, item in found.items()}}


def opened(case: str) -> tuple[bytes, np.ndarray, np.ndarray, dict[str, Any]]:
    """Model, inputs, the board's outputs, and what is derived."""
    with h5py.File(path_of(FILE), "r") as file:
        group = file[case]
        arrays = (group[name][...] for name in ("tflite", "inputs", "board"))
        model, x, board = arrays
        return model.tobytes(), x, board, derived(group)


def graph_of(case: str, folder: Path, s0: Any = None, **given: Any) -> npusim.Graph:
    """The case's model under neural-art; its weighted layers are given `given`.

    s0   for all of them, or one for each
    """
    path = folder / f"{case.replace('/', '_')}.tflite"
    path.write_bytes(opened(case)[0])
    ties = {"*": {"ties": given.pop("ties", "away")}}
    plain = npusim.load(path, profile="neural-art")
    layers = weighted(plain)
    shifts = [None] * len(layers) if s0 is None else np.broadcast_to(s0, len(layers)).tolist()
    own = {
        node.name: given if shift is None else {**given, "s0": shift}
        for node, shift in zip(layers, shifts, strict=True)
    }
    return npusim.load(path, profile="neural-art", parameters={**own, **ties})


def weighted(graph: npusim.Graph) -> list[npusim.Node]:
    """The layers with weights on Neural-ART."""
    return [node for node in graph.nodes if family(graph, node) == "weighted"]


def differing(case: str, graph: npusim.Graph) -> int:
    """How many of the board's outputs differ."""
    _, x, board, _ = opened(case)
    y = npusim.Session(graph, threads=1).run(x)
    return int(np.sum(y.reshape(board.shape) != board))


def fitted_s0(case: str, folder: Path) -> Any:
    """s0 as the file has it; else the one of 0..8 with the fewest differing outputs."""
    s0 = opened(case)[3].get("s0")
    if s0 is not None:
        return s0
    return min(range(9), key=lambda shift: differing(case, graph_of(case, folder, shift)))


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("case", parameters(FILE, _cases))
def test_given_s0_every_output_matches_board(case, tmp_path):
    assert differing(case, graph_of(case, tmp_path, fitted_s0(case, tmp_path))) == 0


@pytest.mark.parametrize("case", parameters(FILE, _cases))
def test_s0_by_rule_is_near_the_compilers(case, tmp_path, capsys):
    graph = graph_of(case, tmp_path)
    layers = weighted(graph)
    s0 = np.broadcast_to(fitted_s0(case, tmp_path), len(layers)).tolist()
    rule = [int(read(node).derived["s0"][0]) for node in layers]
    count = differing(case, graph)
    with capsys.disabled():
        print(f"\n{case}: s0 {_list(rule)} by the rule, {_list(s0)} of the compiler: "
              f"{count} of {opened(case)[2].size} outputs differ")  # fmt: skip
    assert count == 0 or s0 != rule
    if case in KNOWN_TIES:
        assert all(-2 <= own - by_rule <= 1 for own, by_rule in zip(s0, rule, strict=True))


@pytest.mark.parametrize("case", parameters(FILE, _with("A_c")))
def test_coefficients_follow_from_s0(case, tmp_path):
    """The layer's as they were fitted to the board."""
    expected = opened(case)[3]
    (layer,) = (read(n).values for n in weighted(graph_of(case, tmp_path, expected["s0"])))
    bias = expected.get("BC_c", expected.get("BC"))
    assert layer["A_c"].tolist() == expected["A_c"].tolist()
    assert layer["BC_c"].tolist() == np.broadcast_to(bias, len(layer["BC_c"])).tolist()
    assert layer["rows"].tolist() == expected["split_rows"].tolist()
    assert layer["columns"].tolist() == expected["split_cols"].tolist()
    assert {name: layer[name][0] for name in ("f", "s1", "s2", "A2")} == {
        name: expected[name] for name in ("f", "s1", "s2", "A2")
    }


@pytest.mark.parametrize("case", parameters(FILE, _with("mulval")))
def test_coefficients_of_the_average_match_those_fitted(case, tmp_path):
    graph, expected = graph_of(case, tmp_path), opened(case)[3]
    (average,) = (read(n).values for n in graph.nodes if family(graph, n) == "mean")
    assert average["k"].tolist() == [expected["pool_shift"] + 8]
    for name, theirs in AVERAGE.items():
        assert average[name].tolist() == [expected[theirs]]


@pytest.mark.parametrize("case", parameters(FILE, _cases))
def test_other_ties_miss_outputs(case, tmp_path, capsys):
    s0 = fitted_s0(case, tmp_path)
    counts = [differing(case, graph_of(case, tmp_path, s0, ties=ties)) for ties in ("up", "even")]
    with capsys.disabled():
        print(f"\n{case}: outputs that differ: ties up {counts[0]}, to even {counts[1]}")
    assert tuple(counts) == KNOWN_TIES.get(case, tuple(counts))


@pytest.mark.parametrize("case", parameters(FILE, _known))
def test_ties_of_the_convolution_up_or_away_give_the_same_outputs(case, tmp_path):
    """What these outputs say of away against up, they say of the pool alone."""
    s0 = fitted_s0(case, tmp_path)
    path = tmp_path / f"{case}.tflite"
    (layer,) = weighted(graph_of(case, tmp_path))
    up = npusim.load(path, profile="neural-art",
                     parameters={layer.name: {"s0": s0, "ties": "up"}})  # fmt: skip
    assert differing(case, up) == 0


def test_partials_in_24_bits_miss_outputs_of_the_large_kernel(tmp_path):
    """The 7x7 kernel's pieces pass int16 on: raw partials give other outputs."""
    case = "conv2d_32f_7x7"
    if case not in [param.values[0] for param in parameters(FILE, _cases)]:
        pytest.skip(f"{path_of(FILE)} has no case {case}")
    s0 = fitted_s0(case, tmp_path)
    assert differing(case, graph_of(case, tmp_path, s0, partial_bits=24)) == 2


def _list(numbers: list[int]) -> str:
    return ", ".join(map(str, numbers))
