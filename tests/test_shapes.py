"""Shapes: windows against counting, broadcasting against NumPy, every operator by example."""

import re

import numpy as np
import pytest
from graphs import Draft
from hypothesis import given
from hypothesis import strategies as st

from npusim.graph import Graph, ModelError, Node, Tensor
from npusim.operators import RULES
from npusim.shapes import OUTPUT_SHAPE, broadcast, output_shape, window, window_2d

SIZES = st.integers(1, 40)
SMALL = st.integers(1, 6)
PADDING = st.tuples(st.integers(0, 5), st.integers(0, 5))
SHAPES = st.lists(st.integers(1, 3), max_size=4).map(tuple)
IMAGE = (1, 9, 7, 4)
PLAIN = {"stride": (1, 1), "dilation": (1, 1), "padding": "valid"}


def positions(size, reach, stride):
    """Where a kernel can stand."""
    return range(0, size - reach + 1, stride)


@given(SIZES, SMALL, SMALL, SMALL, PADDING)
def test_window_counts_positions_in_the_padded_input(size, kernel, stride, dilation, padding):
    reach = (kernel - 1) * dilation + 1
    expected = len(positions(size + sum(padding), reach, stride))
    out, before = window(size, kernel, stride, dilation, padding)
    assert (max(out, 0), before) == (expected, padding[0])


@given(SIZES, SMALL, SMALL, SMALL)
def test_valid_is_no_padding(size, kernel, stride, dilation):
    expected = window(size, kernel, stride, dilation, (0, 0))
    assert window(size, kernel, stride, dilation, "valid") == expected


@given(SIZES, SMALL, SMALL, SMALL)
def test_same_is_the_least_padding_that_reaches_every_stride(size, kernel, stride, dilation):
    """Output cells are ceil(size / stride); of an odd number of cells the extra one is after."""
    reach = (kernel - 1) * dilation + 1
    out, before = window(size, kernel, stride, dilation, "same")
    assert out == -(-size // stride)
    needed = max((out - 1) * stride + reach - size, 0)
    assert before == needed // 2
    assert window(size, kernel, stride, dilation, (before, needed - before)) == (out, before)
    assert needed == 0 or len(positions(size + needed - 1, reach, stride)) < out


@given(SIZES, SMALL, SMALL)
def test_same_padding_is_smaller_than_an_undilated_kernel(size, kernel, stride):
    """So every window of a pool meets the input."""
    _, before = window(size, kernel, stride, 1, "same")
    assert before < kernel


@pytest.mark.parametrize(
    ("size", "kernel", "stride", "dilation", "expected"),
    [
        (4, 3, 2, 1, (2, 0)),  # the only padded cell is after
        (5, 3, 2, 1, (3, 1)),
        (7, 3, 3, 1, (3, 1)),
        (9, 3, 4, 1, (3, 1)),
        (6, 1, 4, 1, (2, 0)),  # a stride longer than the kernel skips cells
        (5, 3, 1, 2, (5, 2)),  # the kernel's length is the dilated one
        (3, 2, 1, 3, (3, 1)),
    ],
)
def test_same_has_known_values(size, kernel, stride, dilation, expected):
    assert window(size, kernel, stride, dilation, "same") == expected


def test_window_2d_keeps_rows_and_columns_apart():
    attributes = {"stride": (2, 3), "dilation": (1, 2), "padding": (1, 2, 3, 4)}
    expected = (window(9, 3, 2, 1, (1, 2)), window(7, 2, 3, 2, (3, 4)))
    assert window_2d(attributes, 9, 7, (3, 2)) == expected
    assert window_2d({"stride": (1, 1), "padding": "same"}, 9, 7, (3, 3)) == ((9, 1), (7, 1))


@given(SHAPES, SHAPES)
def test_broadcast_matches_numpy(a, b):
    try:
        expected = np.broadcast_shapes(a, b)
    except ValueError:
        with pytest.raises(ValueError, match=re.escape(f"shapes must broadcast, got {a} and {b}")):
            broadcast(a, b)
        return
    assert broadcast(a, b) == expected


EXAMPLES = {
    "conv2d": ((IMAGE, (6, 3, 2, 4)), PLAIN, (1, 7, 6, 6)),
    "depthwise_conv2d": ((IMAGE, (1, 3, 2, 8)), PLAIN, (1, 7, 6, 8)),
    "fully_connected": ((IMAGE, (5, 28)), {"keep_dims": False}, (9, 5)),
    "add": ((IMAGE, (7, 1)), {}, IMAGE),
    "mul": (((), (2, 3)), {}, (2, 3)),
    "average_pool2d": ((IMAGE,), {"kernel": (2, 2), "stride": (2, 2), "padding": "valid"},
                       (1, 4, 3, 4)),
    "max_pool2d": ((IMAGE,), {"kernel": (2, 2), "stride": (2, 2), "padding": "same"}, (1, 5, 4, 4)),
    "mean": ((IMAGE,), {"axes": (1, 2), "keep_dims": False}, (1, 4)),
    "pad": ((IMAGE,), {"padding": ((0, 0), (1, 2), (0, 3), (0, 0))}, (1, 12, 10, 4)),
    "reshape": ((IMAGE,), {"shape": (2, -1, 3)}, (2, 42, 3)),
    "transpose": ((IMAGE,), {"permutation": (3, 0, 2, 1)}, (4, 1, 7, 9)),
    "softmax": (((2, 5),), {}, (2, 5)),
    "quantize": ((IMAGE,), {}, IMAGE),
    "dequantize": (((),), {}, ()),
    "relu": ((IMAGE,), {}, IMAGE),
    "relu6": ((IMAGE,), {}, IMAGE),
}  # fmt: skip


def derived(op, shapes, attributes):
    tensors = tuple(Tensor(f"t{i}", s, "int8", "input") for i, s in enumerate(shapes))
    node = Node(op, f"{op}_0", tuple(range(len(shapes))), (len(shapes),), attributes)
    return output_shape(Graph("g", tensors, (node,), (), ()), node)


@pytest.mark.parametrize("op", EXAMPLES)
def test_output_shape_of_every_operator(op):
    shapes, attributes, expected = EXAMPLES[op]
    assert derived(op, shapes, attributes) == expected


def test_every_operator_has_an_output_shape():
    assert set(OUTPUT_SHAPE) == set(RULES) == set(EXAMPLES)


def test_fully_connected_keeps_dimensions_when_told():
    assert derived("fully_connected", ((2, 3, 4), (5, 4)), {"keep_dims": True}) == (2, 3, 5)


def test_mean_keeps_dimensions_when_told():
    attributes = {"axes": (0, 2), "keep_dims": True}
    assert derived("mean", ((2, 3, 4),), attributes) == (1, 3, 1)
    assert derived("mean", ((2, 3),), {"axes": (0, 1), "keep_dims": False}) == ()


@pytest.mark.parametrize(
    ("op", "shapes", "attributes", "message"),
    [
        ("reshape", ((2, 3),), {"shape": (4,)}, "shape must hold 6 elements, got (4,)"),
        ("reshape", ((2, 3),), {"shape": (4, -1)}, "shape must hold 6 elements, got (4, -1)"),
        ("add", ((2, 3), (2, 4)), {}, "shapes must broadcast, got (2, 3) and (2, 4)"),
        ("conv2d", ((1, 2, 2, 1), (1, 3, 3, 1)), PLAIN,
         "the kernel must fit into the padded input, got input (1, 2, 2, 1) and output "
         "(1, 0, 0, 1)"),
    ],
)  # fmt: skip
def test_output_shape_rejects_what_does_not_fit(op, shapes, attributes, message):
    with pytest.raises(ModelError, match=re.escape(f"{op}_0/{op}: {message}")):
        derived(op, shapes, attributes)


def test_output_shape_takes_other_input_shapes():
    draft = Draft()
    graph = draft.graph(draft.conv2d(draft.input((1, 8, 8, 3)), 5, stride=(2, 2)))
    node = graph.nodes[0]
    assert output_shape(graph, node) == (1, 4, 4, 5)
    assert output_shape(graph, node, {0: (2, 5, 9, 3)}) == (2, 3, 5, 5)
