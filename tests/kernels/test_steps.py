"""Steps: every row of the operation table calls its kernel with its operands, types and numbers."""

from dataclasses import replace

import numpy as np
import pytest
from one_node import activation, constant, one_node, run_reference

from npusim import Session
from npusim.constants import with_biases
from npusim.graph import Accumulator, Quantization, Tensor
from npusim.kernels import table
from npusim.kernels.steps import halves
from npusim.neural_art.settle import settle
from npusim.plan import build_plan

IMAGE = activation((2, 5, 6, 4), 0.1, 3)
OTHER = activation((), 0.2, -4)
CONVOLUTION = {"stride": (1, 2), "dilation": (2, 1), "padding": "same", "activation": "relu"}
POOL = {"kernel": (2, 3), "stride": (1, 2), "padding": "same", "activation": "relu6"}
SCALES = {"int8": (0.1, 3), "uint8": (0.15, 120), "int16": (0.002, 0), "int32": (0.0007, -5),
          "float32": (1.0, 0)}  # fmt: skip


@pytest.fixture(autouse=True)
def _portable(monkeypatch):
    monkeypatch.setenv("NPUSIM_ISA", "portable")


def weights(shape, axis):
    codes = np.random.default_rng(1).integers(-127, 128, shape)
    return constant(codes, np.geomspace(0.001, 0.01, shape[axis]), axis=axis)


def typed(dtype, kind, shape=(3, 17)):
    quantization = None if dtype == "float32" else Quantization(*SCALES[dtype])
    return Tensor("", shape, dtype, kind, quantization)


def conversion(op, x_type, y_type):
    return one_node(op, [typed(x_type, "input")], typed(y_type, "activation"))


def moved(op, dtype, **attributes):
    x = typed(dtype, "input", (3, 4, 2))
    return one_node(op, [x], x, **attributes)


def delegated(op, operands, **attributes):
    return replace(one_node(op, operands, OTHER, **attributes), profile="xnnpack")


ORDERED = Accumulator(12, "saturate")
PLAIN_GRAPHS = {
    "conv2d": one_node("conv2d", [IMAGE, weights((6, 3, 3, 2), 0)], OTHER, **CONVOLUTION),
    "depthwise_conv2d": one_node(
        "depthwise_conv2d", [IMAGE, weights((1, 3, 3, 8), 3)], OTHER, **CONVOLUTION
    ),
    "fully_connected": one_node("fully_connected", [activation((3, 7)), weights((5, 7), 0)], OTHER,
                                activation="none", keep_dims=False),
}  # fmt: skip
GRAPHS = {
    **PLAIN_GRAPHS,
    **{f"{op}_ordered": replace(g, accumulator=ORDERED) for op, g in PLAIN_GRAPHS.items()},
    "add": one_node("add", [IMAGE, activation((6, 1), 0.3, 5)], OTHER, activation="relu"),
    "mul": one_node("mul", [IMAGE, activation((5, 1, 4), 0.3, 5)], OTHER, activation="none"),
    "average_pool2d": one_node("average_pool2d", [IMAGE], IMAGE, **POOL),
    "max_pool2d": one_node("max_pool2d", [IMAGE], IMAGE, **POOL),
    "mean": one_node("mean", [IMAGE], OTHER, axes=(1, 3), keep_dims=False),
    "softmax": one_node("softmax", [IMAGE], activation((), 1 / 256, -128), beta=1.0),
    "pad": one_node("pad", [IMAGE], IMAGE, padding=((0, 0), (1, 2), (0, 1), (0, 0))),
    "transpose": one_node("transpose", [IMAGE], IMAGE, permutation=(0, 3, 1, 2)),
    "move": one_node("reshape", [IMAGE], IMAGE, shape=(2, -1)),
    **{f"quantize_{code}": conversion("quantize", "float32", code) for code in table.CODE_TYPES},
    **{
        f"dequantize_{code}": conversion("dequantize", code, "float32") for code in table.CODE_TYPES
    },
    **{f"rescale_{x}_{y}": conversion("quantize", x, y) for x, y in table.RESCALES},
    "softmax_x86": replace(
        one_node("softmax", [IMAGE], activation((), 1 / 256, -128), beta=1.0), profile="litert-x86"
    ),
    "add_xnnpack": delegated("add", [IMAGE, activation((6, 1), 0.3, 5)], activation="relu"),
    "mean_xnnpack": delegated("mean", [IMAGE], axes=(1, 3), keep_dims=False),
    "rescale_xnnpack": delegated("quantize", [IMAGE]),
}
AVERAGE = one_node("mean", [IMAGE], OTHER, axes=(1, 2), keep_dims=True)
GRAPHS |= {
    f"neural_art_{name}": settle(replace(g, profile="neural-art"))
    for name, g in {**PLAIN_GRAPHS, "add": GRAPHS["add"], "mean": AVERAGE}.items()
}
MOVES = [
    (op, dtype, attributes)
    for op, attributes in (("pad", {"padding": ((1, 0), (0, 0), (0, 2))}),
                           ("transpose", {"permutation": (2, 0, 1)}))
    for dtype in ("int8", "uint8", "int16", "int32", "float32")
]  # fmt: skip


def inputs(graph):
    """Values of every size in every input's type."""
    rng = np.random.default_rng(3)
    drawn = []
    for tensor in (graph.tensors[i] for i in graph.inputs):
        if tensor.dtype == "float32":
            drawn.append(rng.normal(0, 30, tensor.shape).astype(np.float32))
            continue
        limits = np.iinfo(tensor.dtype)
        codes = rng.integers(limits.min, limits.max, tensor.shape, tensor.dtype, endpoint=True)
        drawn.append(codes >> rng.integers(0, limits.bits - 1, tensor.shape, tensor.dtype))
    return drawn


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
