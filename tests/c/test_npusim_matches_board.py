"""C as Neural-ART against what a board returned for one-layer models: zero differing elements."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import h5py
import pytest
from conformance.board import FILE, fitted_s0, graph_of
from conformance.goldens import parameters, path_of

from c.agreement import differences
from c.npu_cases import nodes

EACH = [5, pytest.param(1, marks=pytest.mark.full)]
"""Every fifth image, or all."""


@cache
def calls(case, each):
    """Images through every node; of the last one the board's output must come."""
    with TemporaryDirectory() as folder, h5py.File(path_of(FILE), "r") as file:
        graph = graph_of(case, Path(folder), s0=fitted_s0(case))
        found = []
        inputs, outputs = (file[case][name][::each] for name in ("inputs", "board"))
        for x, board in zip(inputs, outputs, strict=True):
            *inner, last = nodes.calls(graph, x[None])
            assert last.expected["y"].size == board.size
            found += [*inner, last._replace(expected={**last.expected, "y": board.reshape(-1)})]
    return found


@pytest.mark.parametrize("each", EACH)
@pytest.mark.parametrize("case", parameters(FILE, list))
def test_c_matches_board(npusim_code, npusim_runner, case, each):
    assert differences(npusim_code.declarations, npusim_runner, calls(case, each)) == []


@pytest.mark.parametrize("case", parameters(FILE, list))
def test_every_layer_runs_in_c(case):
    with TemporaryDirectory() as folder, h5py.File(path_of(FILE), "r") as file:
        count = len(graph_of(case, Path(folder), s0=fitted_s0(case)).nodes)
        assert len(calls(case, 5)) == count * len(file[case]["inputs"][::5])
