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


@cache
def calls(case):
    """Every image through every node; of the last one the board's output must come."""
    with TemporaryDirectory() as folder, h5py.File(path_of(FILE), "r") as file:
        graph = graph_of(case, Path(folder), s0=fitted_s0(case))
        found = []
        for x, board in zip(file[case]["inputs"][...], file[case]["board"][...], strict=True):
            *inner, last = nodes.calls(graph, x[None])
            assert last.expected["y"].size == board.size
            found += [*inner, last._replace(expected={**last.expected, "y": board.reshape(-1)})]
    return found


@pytest.mark.parametrize("case", parameters(FILE, list))
def test_c_matches_board(npusim_code, npusim_runner, case):
    assert differences(npusim_code.declarations, npusim_runner, calls(case)) == []


@pytest.mark.parametrize("case", parameters(FILE, list))
def test_every_layer_runs_in_c(case):
    with TemporaryDirectory() as folder, h5py.File(path_of(FILE), "r") as file:
        count = len(graph_of(case, Path(folder), s0=fitted_s0(case)).nodes)
        assert len(calls(case)) == count * len(file[case]["inputs"])
