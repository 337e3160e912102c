"""Binding: a node's row of the table holds its operands' places and its structs' numbers."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft
from one_node import activation, constant, one_node

from npusim import parameters
from npusim.arena import Buffer, aligned
from npusim.binding import Constants, scratch_bytes
from npusim.constants import with_biases
from npusim.graph import Accumulator, Tensor
from npusim.kernels import table
from npusim.kernels.structs import PIECE, SATURATE, Requantization
from npusim.operators import RULES
from npusim.plan import build_plan
from npusim.requantization import weighted

IMAGE = activation((2, 5, 6, 4), 0.1, 3)
CONVOLUTION = {"stride": (1, 2), "dilation": (1, 1), "padding": "same", "activation": "relu"}
POOL = {"kernel": (2, 3), "stride": (1, 2), "padding": "same", "activation": "relu6"}
OTHER = activation((), 0.2, -4)


def weights(shape, axis):
    codes = np.random.default_rng(1).integers(-127, 128, shape)
    return constant(codes, np.full(shape[axis], 0.01), axis=axis)


GRAPHS = {
    "conv2d": one_node("conv2d", [IMAGE, weights((6, 3, 3, 2), 0)], OTHER, **CONVOLUTION),
    "depthwise_conv2d": one_node(
        "depthwise_conv2d", [IMAGE, weights((1, 3, 3, 8), 3)], OTHER, **CONVOLUTION
    ),
    "fully_connected": one_node("fully_connected", [activation((3, 7)), weights((5, 7), 0)], OTHER,
                                activation="none", keep_dims=False),
    "add": one_node("add", [IMAGE, activation((6, 1), 0.3, 5)], OTHER, activation="relu"),
    "mul": one_node("mul", [IMAGE, activation((5, 1, 4), 0.3, 5)], OTHER, activation="none"),
    "average_pool2d": one_node("average_pool2d", [IMAGE], IMAGE, **POOL),
    "max_pool2d": one_node("max_pool2d", [IMAGE], IMAGE, **POOL),
    "mean": one_node("mean", [IMAGE], OTHER, axes=(1, 2), keep_dims=False),
    "pad": one_node("pad", [IMAGE], IMAGE, padding=((0, 0), (1, 2), (0, 1), (0, 0))),
    "reshape": one_node("reshape", [IMAGE], IMAGE, shape=(2, -1)),
    "transpose": one_node("transpose", [IMAGE], IMAGE, permutation=(0, 3, 1, 2)),
    "softmax": one_node("softmax", [IMAGE], activation((), 1 / 256, -128), beta=1.0),
    "quantize": one_node("quantize", [IMAGE], OTHER),
    "relu": one_node("relu", [IMAGE], OTHER),
    "relu6": one_node("relu6", [IMAGE], IMAGE),
}  # fmt: skip
GRAPHS = {name: with_biases(graph) for name, graph in GRAPHS.items()}
KERNELS = {"reshape": "move"} | dict.fromkeys(("quantize", "relu", "relu6"), "rescale_int8_int8")


def column(slot):
    return table.OPERANDS + slot * table.OPERAND_COLUMNS


def operand(plan, slot, row=0):
    """The place in a slot of a row."""
    return Buffer(*plan.table[row, column(slot) : column(slot) + 3].tolist())


def vector(plan, slot):
    """The int64 numbers a slot of the first row points to."""
    place = operand(plan, slot)
    assert place.space == table.CONSTANTS
    return plan.constants[place.offset : place.offset + place.nbytes].view(np.int64).tolist()


@pytest.mark.parametrize("op", GRAPHS)
def test_row_names_the_kernel_and_the_places_of_input_and_output(op):
    graph = GRAPHS[op]
    plan = build_plan(graph)
    assert plan.kernel(0) == KERNELS.get(op, op)
    node = graph.nodes[0]
    assert operand(plan, table.X) == plan.buffers[node.inputs[0]]
    assert operand(plan, table.Y) == plan.buffers[node.outputs[0]]


@pytest.mark.parametrize("op", GRAPHS)
def test_row_holds_the_numbers_of_the_structs(op):
    graph = GRAPHS[op]
    numbers = []
    for struct in parameters.bind(graph, graph.nodes[0]):
        own = [field for field in struct if not isinstance(field, Requantization)]
        tails = [r for r in (struct, *struct) if isinstance(r, Requantization)]
        numbers += own if struct not in tails else []
        numbers += [v for r in tails for v in (r.zero_point, r.act_min, r.act_max, *r.rounding)]
    row = build_plan(graph).table[0, table.PARAMETERS :].tolist()
    assert row[: len(numbers)] == numbers


def test_every_operator_is_bound():
    assert set(GRAPHS) | {"dequantize"} == set(RULES)


@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d", "fully_connected"])
def test_weighted_row_holds_weights_bias_scales_and_accumulator(op):
    graph = replace(GRAPHS[op], accumulator=Accumulator(21, "saturate"))
    plan = build_plan(graph)
    node = graph.nodes[0]
    r = weighted(graph, node)
    assert operand(plan, table.WEIGHTS) == plan.buffers[node.inputs[1]]
    assert operand(plan, table.BIAS) == plan.buffers[node.inputs[2]]
    places = tuple(operand(plan, k) for k in (table.MULTIPLIER, table.SHIFT, table.SCALE))
    assert places == plan.scales[0]
    for place, expected in zip(places, r[:3], strict=True):
        values = plan.constants[place.offset : place.offset + place.nbytes].view(expected.dtype)
        assert np.array_equal(values, expected)
    row = plan.table[0, table.PARAMETERS :].tolist()
    width = len(parameters.bind(graph, node)[0]) + table.TAIL
    assert row[width : width + 2] == [21, SATURATE]


@pytest.mark.parametrize(("op", "patch", "sums"), [
    ("conv2d", 2 * 3 * 3 * 2, 2 * 8 * 6), ("depthwise_conv2d", 0, 2 * 8 * 8),
    ("fully_connected", 2 * 7, 2 * 8 * 5),
])  # fmt: skip
def test_weighted_scratch_holds_a_patch_and_the_sums(op, patch, sums):
    graph = GRAPHS[op]
    plan = build_plan(graph)
    places = operand(plan, table.SCRATCH), operand(plan, table.SUMS)
    assert [place.nbytes for place in places] == [aligned(patch), aligned(sums)]
    assert places[0].offset + places[0].nbytes == places[1].offset
    assert scratch_bytes(graph, graph.nodes[0]) == aligned(patch) + aligned(sums)


@pytest.mark.parametrize(("op", "nbytes"), [
    ("average_pool2d", 4 * 4), ("mean", 4 * 2 * 4), ("softmax", 4 * 4), ("max_pool2d", 0),
    ("add", 12 * PIECE), ("mul", 8 * PIECE), ("quantize", 4 * PIECE), ("relu", 4 * PIECE),
    ("pad", 0), ("reshape", 0), ("transpose", 0),
])  # fmt: skip
def test_other_scratch_holds_one_int32_per_sum(op, nbytes):
    graph = GRAPHS[op]
    assert scratch_bytes(graph, graph.nodes[0]) == nbytes


def test_binary_row_holds_a_walk_over_both_operands():
    plan = build_plan(GRAPHS["add"])
    assert vector(plan, table.V0) == [10, 6, 4]
    assert vector(plan, table.V1) == [24, 4, 1]
    assert vector(plan, table.V2) == [0, 1, 0]


def test_mean_row_holds_a_walk_that_stands_on_reduced_axes():
    plan = build_plan(GRAPHS["mean"])
    assert vector(plan, table.V0) == [2, 30, 4]
    assert vector(plan, table.V1) == [4, 0, 1]


def test_pad_row_holds_where_the_input_begins_and_the_zero_point():
    plan = build_plan(GRAPHS["pad"])
    assert plan.table[0, table.PARAMETERS : table.PARAMETERS + 3].tolist() == [7 * 4, 3, 1]
    assert vector(plan, table.V0) == [2, 5, 24]
    assert vector(plan, table.V1) == [8 * 7 * 4, 7 * 4, 1]


def test_transpose_row_holds_a_walk_over_the_output():
    plan = build_plan(GRAPHS["transpose"])
    assert vector(plan, table.V0) == [2, 4, 30]
    assert vector(plan, table.V1) == [120, 1, 4]
    assert plan.table[0, table.PARAMETERS] == 1


@pytest.mark.parametrize("dtype", table.CODE_TYPES)
def test_quantize_and_dequantize_rows_hold_scale_and_zero_point(dtype):
    draft = Draft()
    affine = {"scale": 0.3, "zero_point": 11}
    codes = draft.node("quantize", [draft.input((2, 3), "float32")], dtype=dtype, affine=affine)
    plan = build_plan(draft.graph(draft.node("dequantize", [codes], dtype="float32")))
    for row, name in enumerate((f"quantize_{dtype}", f"dequantize_{dtype}")):
        assert plan.kernel(row) == name
        place = operand(plan, table.V0, row)
        scale = plan.constants[place.offset : place.offset + 4].view(np.float32)
        assert scale[0] == np.float32(0.3)
        assert plan.table[row, table.PARAMETERS] == 11


@pytest.mark.parametrize(("x_type", "y_type"), table.RESCALES)
def test_rescale_row_names_both_types(x_type, y_type):
    x = Tensor("", (2, 3), x_type, "input", IMAGE.quantization)
    y = Tensor("", (2, 3), y_type, "activation", IMAGE.quantization)
    assert build_plan(one_node("quantize", [x], y)).kernel(0) == f"rescale_{x_type}_{y_type}"


def test_constants_lie_on_cache_lines():
    constants = Constants()
    arrays = [np.arange(5, dtype=np.int8), np.arange(40, dtype=np.int32), np.zeros(0, np.int8),
              np.array(7, np.int64), np.arange(12).reshape(3, 4)[:, ::2]]  # fmt: skip
    places = [constants.add(array) for array in arrays]
    block = constants.block()
    assert all(place.offset % 64 == 0 and place.space == table.CONSTANTS for place in places)
    assert block.nbytes % 64 == 0
    for place, array in zip(places, arrays, strict=True):
        assert block[place.offset : place.offset + place.nbytes].tobytes() == array.tobytes()


def test_constants_are_copies():
    constants = Constants()
    values = np.arange(4, dtype=np.int8)
    place = constants.add(values)
    block = constants.block()
    values[:] = 9
    assert block[place.offset : place.offset + 4].tolist() == [0, 1, 2, 3]
