"""Neural-ART against what a board returned for small models: zero differing elements.

Each case of the file holds a .tflite model (one weighted layer, perhaps a max pool, a global
average), the inputs a board was given, its outputs, and in the group `derived` s0, the one number
that no rule gives: one, or one for each weighted layer. Where it is missing it is looked for.
"""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from conformance.board import (
    FILE,
    KNOWN_TIES,
    cases,
    derived,
    differing,
    fitted_s0,
    graph_of,
    opened,
    weighted,
)
from conformance.goldens import parameters, path_of

import npusim
from npusim.neural_art.stored import family, read

# the average's numbers, and what the file calls them
AVERAGE = {"cells": "n_pool", "mulval": "mulval", "A": "A_pool", "q": "pool_s", "C": "C_pool"}


def _cases(file: h5py.File) -> list:
    return [pytest.param(name, id=name) for name in cases(file)]


def _known(file: h5py.File) -> list:
    return [param for param in _cases(file) if param.id in KNOWN_TIES]


def _with(attribute: str):
    """Lists the cases whose group `derived` has an attribute."""

    def listed(file: h5py.File) -> list:
        return [p for p in _cases(file) if attribute in derived(file[p.values[0]])]

    return listed


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
    away = differing(case, graph_of(case, tmp_path, s0))
    assert away <= min(counts)
    if case in KNOWN_TIES:
        assert tuple(counts) == KNOWN_TIES[case]


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
