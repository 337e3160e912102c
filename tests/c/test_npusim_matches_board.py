"""C as Neural-ART against what a board returned for one-layer models: zero differing elements."""

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from conformance.board import FILE, cases, fitted_s0, graph_of, opened
from conformance.goldens import parameters

from c.agreement import differences
from c.npu_cases import nodes

EACH = [5, pytest.param(1, marks=pytest.mark.full)]
"""Every fifth image, or all."""


@cache
def calls(case, each):
    """Images through every node; of the last one the board's output must come."""
    with TemporaryDirectory() as folder:
        graph = graph_of(case, Path(folder), fitted_s0(case, Path(folder)))
    _, images, outputs, _ = opened(case)
    found = []
    for x, board in zip(images[::each], outputs[::each], strict=True):
        *inner, last = nodes.calls(graph, x[None])
        assert last.expected["y"].size == board.size
        found += [*inner, last._replace(expected={**last.expected, "y": board.reshape(-1)})]
    return found


@pytest.mark.parametrize("each", EACH)
@pytest.mark.parametrize("case", parameters(FILE, cases))
def test_c_matches_board(npusim_code, npusim_runner, case, each):
    assert differences(npusim_code.declarations, npusim_runner, calls(case, each)) == []


@pytest.mark.parametrize("case", parameters(FILE, cases))
def test_every_layer_runs_in_c(case):
    with TemporaryDirectory() as folder:
        count = len(graph_of(case, Path(folder), fitted_s0(case, Path(folder))).nodes)
    assert len(calls(case, 5)) == count * len(opened(case)[1][::5])
