"""Parameters of every operator, from shapes and scales."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft
from hypothesis import given
from hypothesis import strategies as st
from naive import rounding
from one_node import activation, constant, one_node, pointwise

from npusim import parameters, requantization
from npusim.affine import scale, zero_point
from npusim.graph import Quantization
from npusim.kernels.structs import (
    DIVIDE_AWAY,
    PRODUCT,
    TWICE,
    Conv2d,
    Dequantize,
    FullyConnected,
    Pool2d,
    Quantize,
    Rescale,
    Rounding,
)
from npusim.multiplier import quantize_multiplier

SCALES = st.floats(2.0**-20, 4.0, width=32)


@pytest.mark.parametrize(
    ("activation_name", "scale", "zero_point", "expected"),
    [
        ("none", 0.1, 3, (-128, 127)),
        ("relu", 0.1, 3, (3, 127)),
        ("relu", 0.1, -128, (-128, 127)),
        ("relu6", 0.05, -100, (-100, 20)),
        ("relu6", 0.001, 0, (0, 127)),
        ("relu6", 4.0, 0, (0, 2)),  # 1.5 goes away from zero
        ("relu_n1_to_1", 0.4, 0, (-3, 3)),  # 2.5 and -2.5 as well
        ("relu_n1_to_1", 0.3, 10, (7, 13)),
        ("relu_n1_to_1", 0.001, 0, (-128, 127)),
    ],
)
def test_activation_range_has_known_values(activation_name, scale, zero_point, expected):
    tensor = activation((1,), scale, zero_point)
    assert requantization.activation_range(tensor, activation_name) == expected


@given(SCALES, st.integers(-128, 127), st.sampled_from(list(rounding.ACTIVATION_BOUNDS)))
def test_activation_range_matches_naive(scale, zero_point, name):
    expected = rounding.activation_range(name, (scale, zero_point))
    assert requantization.activation_range(activation((1,), scale, zero_point), name) == expected


@given(SCALES, SCALES, SCALES)
def test_requantization_multiplies_scales_in_double(x_scale, w_scale, y_scale):
    graph = pointwise(x_scale, [[1]], activation((), y_scale), [w_scale])
    r = requantization.weighted(graph, graph.nodes[0])
    expected = rounding.quantize_multiplier(x_scale * w_scale / y_scale)
    assert (r.multiplier[0], r.shift[0]) == expected


def test_requantization_is_per_channel():
    graph = pointwise(0.5, [[1], [1], [1]], activation((), 0.25, -7), [0.5, 0.25, 2.0**-40])
    r = requantization.weighted(graph, graph.nodes[0])
    assert r.multiplier.tolist() == [2**30, 2**30, 0]
    assert r.shift.tolist() == [1, 0, 0]
    assert (r.zero_point, r.act_min, r.act_max) == (-7, -128, 127)
    assert (r.multiplier.dtype, r.shift.dtype) == (np.int32, np.int32)


def test_requantization_repeats_one_scale_for_every_channel():
    operands = [activation((1, 2)), constant([[1, 2], [3, 4], [5, 6]], 0.5)]
    graph = one_node("fully_connected", operands, activation(()), activation="none",
                     keep_dims=False)  # fmt: skip
    r = requantization.weighted(graph, graph.nodes[0])
    assert (r.multiplier.tolist(), r.shift.tolist()) == ([2**30] * 3, [0] * 3)


def test_requantization_takes_what_is_given():
    graph = pointwise(0.5, [[1], [1]], activation((), 0.25), [0.5, 0.5])
    given_pair = {
        "multiplier": np.array([7, 2**30], np.int32),
        "shift": np.array([-3, 4], np.int32),
    }
    node = replace(graph.nodes[0], given=given_pair)
    r = requantization.weighted(graph, node)
    assert (r.multiplier.tolist(), r.shift.tolist()) == ([7, 2**30], [-3, 4])


def test_absent_bias_is_zeros():
    for bias in (True, False):
        draft = Draft()
        graph = draft.graph(draft.conv2d(draft.input((1, 3, 3, 2)), 5, bias=bias))
        values = parameters.bias(graph, graph.nodes[0])
        assert (values.dtype, values.shape) == (np.int32, (5,))
        assert values.any() == bias


def test_conv2d_geometry():
    draft = Draft()
    x = draft.input((2, 9, 7, 6), zero_point=11)
    graph = draft.graph(
        draft.conv2d(x, 4, (3, 2), groups=2, stride=(2, 1), dilation=(1, 3), padding=(1, 0, 2, 3))
    )
    expected = Conv2d(n=2, h=9, w=7, c=6, oh=4, ow=9, o=4, kh=3, kw=2, stride_h=2, stride_w=1,
                      dilation_h=1, dilation_w=3, pad_top=1, pad_left=2, groups=2,
                      x_zero_point=11)  # fmt: skip
    assert parameters.bind(graph, graph.nodes[0])[0] == expected


def test_depthwise_geometry_has_one_group():
    draft = Draft()
    graph = draft.graph(draft.depthwise_conv2d(draft.input((1, 5, 5, 3)), multiplier=2))
    g, r = parameters.bind(graph, graph.nodes[0])
    assert (g.c, g.o, g.groups) == (3, 6, 1)
    assert r.multiplier.shape == (6,)


@pytest.mark.parametrize("keep_dims", [False, True])
def test_fully_connected_geometry_counts_rows(keep_dims):
    draft = Draft()
    x = draft.input((2, 3, 5), zero_point=-9)
    graph = draft.graph(draft.fully_connected(x, 4, keep_dims=keep_dims))
    assert parameters.bind(graph, graph.nodes[0])[0] == FullyConnected(6, 5, 4, -9)


def test_pool_geometry():
    draft = Draft()
    x = draft.input((1, 6, 5, 3), scale=0.05, zero_point=-20)
    y = draft.node("max_pool2d", [x], kernel=(2, 3), stride=(2, 1), padding="same",
                   activation="relu6")  # fmt: skip
    graph = draft.graph(y)
    expected = Pool2d(n=1, h=6, w=5, c=3, oh=3, ow=5, kh=2, kw=3, stride_h=2, stride_w=1,
                      pad_top=0, pad_left=1, act_min=-20, act_max=100)  # fmt: skip
    assert parameters.bind(graph, graph.nodes[0]) == (expected,)


def single(r):
    """The only multiplier and shift of a requantisation."""
    return r.multiplier.item(), r.shift.item()


def binary(op, a_scale, b_scale, y_scale):
    operands = [activation((2,), a_scale, 1), activation((2,), b_scale, -2)]
    graph = one_node(op, operands, activation((), y_scale, 3), activation="relu")
    return parameters.bind(graph, graph.nodes[0])


@given(SCALES, SCALES, SCALES)
def test_add_scales_by_twice_the_larger_scale(a_scale, b_scale, y_scale):
    p, r = binary("add", a_scale, b_scale, y_scale)
    twice = 2 * max(a_scale, b_scale)
    assert single(p.a) == quantize_multiplier(a_scale / twice)
    assert single(p.b) == quantize_multiplier(b_scale / twice)
    assert single(r) == quantize_multiplier(twice / (2**20 * y_scale))
    assert (p.left_shift, p.a_zero_point, p.b_zero_point) == (20, 1, -2)
    assert p.a[3:] == p.b[3:] == (0, -(2**31), 2**31 - 1, TWICE)
    assert r[3:] == (3, 3, 127, TWICE)


@given(SCALES, SCALES, SCALES)
def test_mul_scales_by_the_product(a_scale, b_scale, y_scale):
    p, r = binary("mul", a_scale, b_scale, y_scale)
    assert single(r) == quantize_multiplier(a_scale * b_scale / y_scale)
    assert p == (1, -2)
    assert r[3:] == (3, 3, 127, TWICE)


@pytest.mark.parametrize(
    ("shape", "axes", "count", "fold"),
    [((2, 7, 7, 3), (1, 2), 49, 5), ((2, 8, 8, 3), (1, 2), 64, 6), ((2, 3), (1,), 3, 1),
     ((1, 1, 1, 4), (1, 2), 1, 0)],
)  # fmt: skip
def test_mean_folds_the_count_into_the_multiplier_truncated(shape, axes, count, fold):
    operands = [activation(shape, 0.3, 5)]
    graph = one_node("mean", operands, activation((), 0.7, -4), axes=axes, keep_dims=True)
    p, r = parameters.bind(graph, graph.nodes[0])
    real = float(np.float32(0.3)) / float(np.float32(0.7))
    multiplier, shift = quantize_multiplier(real)
    assert single(r) == ((multiplier << fold) // count, shift - fold)
    assert r.scale == real / count
    assert p == (count, 5)
    assert r[3:] == (-4, -128, 127, TWICE)


def test_mean_does_not_fold_beyond_the_smallest_shift():
    """M = 2^-29 has shift -28: of floor(log2 64) = 6 bits only 3 are left."""
    operands = [activation((64, 1), 2.0**-29)]
    graph = one_node("mean", operands, activation(()), axes=(0,), keep_dims=True)
    assert single(parameters.bind(graph, graph.nodes[0])[1]) == ((2**30 << 3) // 64, -31)


def test_softmax_counts_rows_and_bounds_differences():
    """beta * scale = 1/16: 2^26 / 16 = 2^22, and exp(-31) is the last that counts."""
    operands = [activation((2, 3, 5), 0.0625)]
    graph = one_node("softmax", operands, activation((), 1 / 256, -128), beta=1.0)
    (p,) = parameters.bind(graph, graph.nodes[0])
    assert (p.rows, p.depth, p.multiplier, p.shift) == (6, 5, 2**30, 23)
    assert p.diff_min == -(31 << 26 >> 23) == -248


def test_softmax_scale_saturates_below_two_to_the_31():
    operands = [activation((1, 4), 1000.0)]
    graph = one_node("softmax", operands, activation((), 1 / 256, -128), beta=1.0)
    (p,) = parameters.bind(graph, graph.nodes[0])
    assert (p.multiplier, p.shift) == quantize_multiplier(2.0**31 - 1)


@pytest.mark.parametrize(("op", "low"), [("relu", 7), ("relu6", 7), ("quantize", -128)])
def test_rescale_of_codes(op, low):
    graph = one_node(op, [activation((2,), 0.5, 3)], activation((), 0.25, 7))
    high = 7 + 24 if op == "relu6" else 127
    p, r = parameters.bind(graph, graph.nodes[0])
    assert p == Rescale(3)
    assert single(r) == quantize_multiplier(2.0)
    assert r[2:] == (2.0, 7, low, high, TWICE)


def test_operators_that_only_move_data_have_no_parameters():
    for op, attributes in (("pad", {"padding": ((0, 1),)}), ("reshape", {"shape": (3, 1)}),
                           ("transpose", {"permutation": (0,)})):  # fmt: skip
        graph = one_node(op, [activation((3,))], activation(()), **attributes)
        assert parameters.bind(graph, graph.nodes[0]) == ()


def test_quantize_of_reals_and_dequantize_take_scale_and_zero_point():
    draft = Draft()
    affine = {"scale": 0.5, "zero_point": 9}
    codes = draft.node("quantize", [draft.input((2, 2), "float32")], affine=affine)
    graph = draft.graph(draft.node("dequantize", [codes], dtype="float32"))
    to_codes, to_reals = (parameters.bind(graph, node) for node in graph.nodes)
    assert to_codes == (Quantize(np.float32(0.5), 9, Rounding(DIVIDE_AWAY, 1, DIVIDE_AWAY)),)
    assert to_reals == (Dequantize(np.float32(0.5), 9, Rounding(PRODUCT, 1, PRODUCT)),)


def test_scale_and_zero_point_are_python_numbers():
    tensor = replace(activation((1,)), quantization=Quantization(np.float32(0.1), 12))
    assert type(scale(tensor)) is float
    assert scale(tensor) == float(np.float32(0.1)) != 0.1
    assert (type(zero_point(tensor)), zero_point(tensor)) == (int, 12)
