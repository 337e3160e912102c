"""Steps: every row of the operation table calls its kernel with its operands, types and numbers."""

import numpy as np
import pytest
from kernels.graphs import GRAPHS, inputs, moved
from one_node import one_node, run_reference

from npusim import Session
from npusim.constants import with_biases
from npusim.graph import Quantization, Tensor
from npusim.kernels import table
from npusim.kernels.steps import halves
from npusim.plan import build_plan


@pytest.fixture(autouse=True)
def _portable(monkeypatch):
    monkeypatch.setenv("NPUSIM_ISA", "portable")


MOVES = [
    (op, dtype, attributes)
    for op, attributes in (("pad", {"padding": ((1, 0), (0, 0), (0, 2))}),
                           ("transpose", {"permutation": (2, 0, 1)}))
    for dtype in ("int8", "uint8", "int16", "int32", "float32")
]  # fmt: skip


def assert_session_matches_reference(graph):
    arrays = inputs(graph)
    names = [graph.tensors[i].name for i in graph.inputs]
    actual = Session(graph, threads=1).run(dict(zip(names, arrays, strict=True)))
    expected = run_reference(graph, *arrays)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert actual.tobytes() == expected.tobytes()
    assert len(np.unique(actual)) > 2


@pytest.mark.parametrize("name", GRAPHS)
def test_operation_runs_its_kernel(name):
    graph = GRAPHS[name]
    assert build_plan(with_biases(graph)).kernel(0) == name
    assert_session_matches_reference(graph)


def test_every_operation_has_a_graph_here():
    assert set(GRAPHS) == set(table.OPERATIONS)


@pytest.mark.parametrize(("op", "dtype", "attributes"), MOVES)
def test_moves_fit_the_elements_size(op, dtype, attributes):
    assert_session_matches_reference(moved(op, dtype, **attributes))


@pytest.mark.parametrize(("x_type", "y_type"), table.RESCALES)
def test_rescale_to_the_same_numbers_saturates_at_the_types_ends(x_type, y_type):
    """Scale 1 and zero point 0 on both sides: what fits stays, what does not is clamped."""
    one = Quantization(1.0, 0)
    low, high = (np.iinfo(y_type).min, np.iinfo(y_type).max)
    limits = np.iinfo(x_type)
    values = [v for v in (0, 1, -1, low - 1, low, high, high + 1, limits.min, limits.max)
              if limits.min <= v <= limits.max and abs(v) < 2**30]  # fmt: skip
    x = Tensor("", (len(values),), x_type, "input", one)
    graph = one_node("quantize", [x], Tensor("", (len(values),), y_type, "activation", one))
    actual = Session(graph, threads=1).run(np.array(values, x_type))
    assert actual.dtype == y_type
    assert actual.tolist() == [min(max(v, low), high) for v in values]


def test_halves_are_two_int64_arrays():
    scratch = np.zeros(2 * 8 * 5, np.int8)
    acc, first = halves(scratch)
    acc[:], first[:] = 1, 2
    assert scratch.view(np.int64).tolist() == [1] * 5 + [2] * 5
