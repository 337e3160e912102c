"""The reference executor: known right values, accumulators, batches, and what it imports.

The values with an address are right answers to public reports of wrong ones; they were computed by
hand there and confirmed with LiteRT's reference kernels.
"""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from naive import operators as naive
from one_node import activation, constant, one_node, run_reference

from npusim import reference
from npusim.graph import Accumulator
from npusim.kernels.structs import (
    DIVIDE_AWAY,
    ERROR,
    SATURATE,
    TWICE,
    WRAP,
    Accumulation,
    Conv2d,
    FullyConnected,
    Quantize,
    Requantization,
    Rounding,
)

AWAY = Rounding(DIVIDE_AWAY, 1, DIVIDE_AWAY)
PLAIN = {"stride": (1, 1), "dilation": (1, 1), "padding": "valid", "activation": "none"}


def _conv2d(x, weights, y=None, x_zero_point=0, **attributes):
    """A convolution of one image of one channel whose scales are all 1."""
    x = np.array(x).reshape(1, *np.shape(x), 1)
    weights = np.array(weights).reshape(1, *np.shape(weights), 1)
    operands = [activation(x.shape, zero_point=x_zero_point), constant(weights)]
    graph = one_node("conv2d", operands, y or activation(()), **PLAIN | attributes)
    return run_reference(graph, x).ravel().tolist()


def test_conv2d_same_padding_puts_the_extra_cell_after():
    """github.com/onnx/tensorflow-onnx/issues/1028"""
    x = np.arange(-7, 9).reshape(4, 4)
    y = activation((), zero_point=-128)
    actual = _conv2d(x, np.ones((3, 3)), y, x_zero_point=-8, stride=(2, 2), padding="same")
    assert actual == [-74, -83, -56, -74]


def test_conv2d_pads_with_the_zero_point():
    """github.com/apache/tvm/pull/4816"""
    x, y = np.full((3, 3), -7), activation((), zero_point=11)
    assert _conv2d(x, np.ones((3, 3)), y, x_zero_point=-7, padding="same") == [11] * 9


def test_conv2d_dilates_rows_and_columns_apart():
    """github.com/alibaba/MNN/pull/154"""
    x, ones = np.arange(1, 16).reshape(3, 5), np.ones((2, 2))
    assert _conv2d(x, ones, dilation=(1, 2)) == [18, 22, 26, 38, 42, 46]
    assert _conv2d(x, ones, dilation=(2, 1)) == [26, 30, 34, 38]


def test_conv2d_strides_rows_and_columns_apart():
    """github.com/google-ai-edge/LiteRT/issues/9256"""
    x = (np.arange(63) % 7 + 1).reshape(7, 9)
    same = {"padding": "same"}
    expected = [10, 29, 10, 24, 36, 24, 22, 19, 22]
    assert _conv2d(x, np.ones((3, 3)), stride=(3, 4), **same) == expected
    assert _conv2d(x, np.ones((3, 3)), stride=(4, 3), **same) == [36, 35, 34, 38, 37, 36]


def test_conv2d_rounds_a_quarter_twice():
    """github.com/tensorflow/tensorflow/issues/25087"""
    x, y = [[1, 2, 5, 6, -1, -2, -5, -6]], activation((), scale=4.0)
    assert _conv2d(x, [[1]], y) == [1, 1, 2, 2, 0, -1, -1, -2]


def test_depthwise_output_channel_is_c_times_m_plus_m():
    """github.com/alibaba/MNN/issues/532"""
    weights = constant(np.reshape([1, 2, 3, 4], (1, 1, 1, 4)), np.ones(4), axis=3)
    operands = [activation((1, 1, 1, 2)), weights]
    graph = one_node("depthwise_conv2d", operands, activation(()), **PLAIN)
    assert run_reference(graph, [[[[10, 20]]]]).ravel().tolist() == [10, 20, 60, 80]


def test_fully_connected_scales_each_channel():
    """github.com/tensorflow/tflite-micro/pull/2602"""
    weights = constant([[5, 3], [5, 3]], [0.5, 0.25], axis=0)
    graph = one_node("fully_connected", [activation((1, 2)), weights], activation(()),
                     activation="none", keep_dims=False)  # fmt: skip
    assert run_reference(graph, [[10, -10]]).tolist() == [[10, 5]]


def test_average_pool_rounds_ties_away_from_zero():
    """github.com/ARM-software/CMSIS_5/issues/1012"""
    attributes = {"kernel": (1, 4), "stride": (1, 1), "padding": "valid", "activation": "none"}
    graph = one_node("average_pool2d", [activation((2, 1, 4, 1))], activation(()), **attributes)
    x = np.reshape([-3, -3, -2, -2, 3, 3, 2, 2], (2, 1, 4, 1))
    assert run_reference(graph, x).ravel().tolist() == [-3, 3]


def test_average_pool_counts_only_cells_of_the_image():
    """github.com/pytorch/pytorch/pull/28260"""
    attributes = {"kernel": (2, 2), "stride": (1, 1), "padding": "same", "activation": "none"}
    affine = {"scale": 0.5, "zero_point": -5}
    x, y = activation((1, 3, 3, 1), **affine), activation((), **affine)
    graph = one_node("average_pool2d", [x], y, **attributes)
    codes = np.reshape([10, 20, 30, 40, 50, 60, 70, 80, 91], (1, 3, 3, 1))
    expected = [30, 40, 45, 60, 70, 76, 75, 86, 91]
    assert run_reference(graph, codes).ravel().tolist() == expected


def test_mean_over_channels():
    """github.com/tensorflow/tensorflow/issues/33588"""
    graph = one_node("mean", [activation((1, 1, 3, 3))], activation(()), axes=(3,), keep_dims=False)
    x = np.reshape([7, 7, 3, 0, 2, 3, 6, 3, 8], (1, 1, 3, 3))
    assert run_reference(graph, x).ravel().tolist() == [6, 2, 6]


def test_add_of_a_residual():
    """community.st.com, STM32N6 residual add"""
    a, b = activation((7,), 0.052, -128), activation((7,), 0.099, -3)
    graph = one_node("add", [a, b], activation((), 0.049, -128), activation="relu")
    first, second = [-128, -100, 0, 50, 127, 20, -128], [-128, 60, 0, -30, 127, 20, 127]
    assert run_reference(graph, first, second).tolist() == [-128, 29, 14, 6, 127, 76, 127]


def test_mul_at_its_extremes():
    a, b = activation((1,), 1 / 64, 127), activation((1,), 1 / 64, 127)
    graph = one_node("mul", [a, b], activation((), 1 / 16, -128), activation="none")
    assert run_reference(graph, [-128], [-128]).tolist() == [126]


@pytest.mark.parametrize(
    ("scale", "codes", "expected"),
    [
        (0.1, [10, 20, 30, 40], [-120, -106, -67, 37]),
        (1.0, [5, 5, 5], [-43, -43, -43]),
        (1.0, [3], [127]),
        (1.0, [127, -128], [127, -128]),
    ],
)
def test_softmax_edge_rows(scale, codes, expected):
    """github.com/tensorflow/tensorflow/pull/57161"""
    x, y = activation((1, len(codes)), scale), activation((), 1 / 256, -128)
    assert run_reference(one_node("softmax", [x], y, beta=1.0), [codes]).tolist() == [expected]


def test_relu6_saturates_where_six_is_not_representable():
    """github.com/tensorflow/tensorflow/pull/53859"""
    for scale, zero_point, expected in ((0.01, 0, 127), (0.1, -100, -40)):
        graph = one_node("relu6", [activation((1,), scale, zero_point)],
                         activation((), scale, zero_point))  # fmt: skip
        assert run_reference(graph, [127]).tolist() == [expected]


def test_quantize_takes_ties_away_from_zero_and_saturates():
    x = np.array([-0.5, 0.5, 1.5, 2.5, -1.5, -2.5, 1e30, np.inf, -np.inf, np.nan], np.float32)
    actual = reference.quantize(x, Quantize(np.float32(1), 0, AWAY), np.int8)
    assert actual.tolist() == [-1, 1, 2, 3, -2, -3, 127, 127, -128, -128]


def test_quantize_rounds_the_float32_below_one_half_down():
    x = np.nextafter(np.float32(0.5), np.float32(0))
    p = Quantize(np.float32(1), 7, AWAY)
    assert reference.quantize(np.array([x, -x]), p, np.int8).tolist() == [7, 7]


def _draw(seed, shape):
    return np.random.default_rng(seed).integers(-128, 128, shape).astype(np.int8)


def _identity(o):
    """Requantisation by 1/256."""
    ones = np.ones(o, np.int32)
    return Requantization((1 << 30) * ones, -7 * ones, ones / 256, 0, -128, 127, TWICE)


def _saturating(bits):
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    return lambda total, product: min(max(total + product, low), high)


GROUPED = Conv2d(2, 4, 3, 4, 4, 3, 6, 2, 3, 1, 1, 1, 1, 0, 1, 2, 5)
DEPTHWISE = Conv2d(2, 4, 3, 2, 4, 3, 6, 2, 3, 1, 1, 1, 1, 0, 1, 1, 5)
CASES = {
    "conv2d": ((2, 4, 3, 4), (6, 2, 3, 2), GROUPED),
    "depthwise_conv2d": ((2, 4, 3, 2), (1, 2, 3, 6), DEPTHWISE),
    "fully_connected": ((4, 30), (6, 30), FullyConnected(4, 30, 6, 5)),
}


def _operands(op):
    """x, weights, bias, geometry, and what the naive twin takes besides x, weights and bias."""
    x_shape, weights_shape, g = CASES[op]
    bias = np.random.default_rng(9).integers(-300, 300, 6).astype(np.int32)
    window = () if op == "fully_connected" else (((1, 1), (1, 1), "SAME"),)
    return (_draw(1, x_shape), _draw(2, weights_shape), bias), g, window


@pytest.mark.parametrize("op", CASES)
@pytest.mark.parametrize("bits", [8, 12, 16, 18, 32, 64])
def test_saturating_accumulator_matches_naive(op, bits):
    (x, weights, bias), g, window = _operands(op)
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    accumulators = getattr(naive, f"{op}_accumulators")
    start = np.clip(bias, low, high)
    acc = accumulators(x, weights, start, 5, *window, _saturating(bits)).astype(np.int64)
    r = _identity(6)
    expected = reference.requantize.requantize(acc, r)
    actual = getattr(reference, op)(x, weights, bias, g, r, Accumulation(bits, SATURATE))
    assert np.array_equal(actual.reshape(expected.shape), expected)


@pytest.mark.parametrize("op", CASES)
@pytest.mark.parametrize("bits", [8, 12, 16, 18, 32, 64])
def test_wrapping_accumulator_matches_naive(op, bits):
    (x, weights, bias), g, window = _operands(op)
    exact = getattr(naive, f"{op}_accumulators")(x, weights, bias, 5, *window)
    half = 2 ** (bits - 1)
    acc = ((exact + half) % (2 * half) - half).astype(np.int64)
    r = _identity(6)
    expected = reference.requantize.requantize(acc, r)
    actual = getattr(reference, op)(x, weights, bias, g, r, Accumulation(bits, WRAP))
    assert np.array_equal(actual.reshape(expected.shape), expected)


def test_saturation_depends_on_the_order():
    """100 + 100 - 100 is 27 in 8 bits that saturate, 100 where the negative product comes first."""
    r = Requantization(np.array([1 << 30]), np.array([1]), np.ones(1), 0, -128, 127, TWICE)
    g, a, bias = FullyConnected(2, 3, 1, 0), Accumulation(8, SATURATE), np.array([0])
    x, ones = np.array([[100, 100, -100], [-100, 100, 100]]), np.ones((1, 3), np.int8)
    assert reference.fully_connected(x, ones, bias, g, r, a).ravel().tolist() == [27, 100]


def test_bias_saturates_before_the_first_product():
    r = Requantization(np.array([1 << 30]), np.array([1]), np.ones(1), 0, -128, 127, TWICE)
    g, a = FullyConnected(1, 1, 1, 0), Accumulation(8, SATURATE)
    actual = reference.fully_connected(np.array([[-7]]), np.array([[1]]), np.array([1000]), g, r, a)
    assert actual.tolist() == [[120]]


def test_error_names_node_coordinate_and_first_sum_out_of_range():
    weights = constant([[1, 1, 1], [127, 127, 1]])
    graph = one_node("fully_connected", [activation((2, 3)), weights], activation(()),
                     activation="none", keep_dims=False)  # fmt: skip
    graph = replace(graph, accumulator=Accumulator(15, "error"))
    with pytest.raises(ArithmeticError) as caught:
        run_reference(graph, [[1, 1, 1], [127, 127, 127]])
    assert str(caught.value) == (
        "fully_connected_0/fully_connected: accumulator: must stay in 15 bits, got 32258 at output "
        "(1, 1); use a wider accumulator"
    )


def test_error_counts_the_bias():
    r, g = _identity(1), FullyConnected(1, 1, 1, 0)
    operands = (np.array([[0]]), np.array([[0]]), np.array([128]))
    with pytest.raises(ArithmeticError, match="got 128 at output"):
        reference.fully_connected(*operands, g, r, Accumulation(8, ERROR))


def _image_operators():
    """Operators on (1, 3, 4, 2), among them some that touch axis 0."""
    shape = (1, 3, 4, 2)
    x, y = activation(shape, 0.1, 3), activation((), 0.2, -4)
    moved = constant(_draw(3, shape), 0.3)
    mean = {"keep_dims": False}
    return {
        "add to a constant": one_node("add", [x, moved], y, activation="none"),
        "add to itself broadcast": one_node("add", [x, activation((2,))], y, activation="none"),
        "mean of axis 0": one_node("mean", [x], y, axes=(0,), keep_dims=True),
        "mean of everything": one_node("mean", [x], y, axes=(0, 1, 2, 3), **mean),
        "transpose of axis 0": one_node("transpose", [x], x, permutation=(3, 0, 1, 2)),
        "pad of axis 0": one_node("pad", [x], x, padding=((1, 0), (0, 1), (0, 0), (0, 0))),
        "reshape": one_node("reshape", [x], x, shape=(3, 8)),
        "softmax": one_node("softmax", [x], activation((), 1 / 256, -128), beta=1.0),
    }


@pytest.mark.parametrize("name", _image_operators())
@pytest.mark.parametrize("count", [1, 5])
def test_stacked_images_match_each_image_alone(name, count):
    graph = _image_operators()[name]
    stacked = [_draw(7 + i, (count * s[0], *s[1:])) for i, s in _input_shapes(graph)]
    parts = zip(*(np.split(x, count) for x in stacked), strict=True)
    expected = np.concatenate([run_reference(graph, *part) for part in parts])
    assert np.array_equal(run_reference(graph, *stacked), expected)


def _input_shapes(graph):
    return [(i, graph.tensors[i].shape) for i in graph.inputs]


def test_reference_imports_no_numba():
    script = "import sys, npusim.reference; print('numba' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
