"""Reports by people who do this job, with what double rounding gives; in both executors.

The small inputs and their right values are from the threads at the addresses. Those about rounding
are in `test_field_cases_rounding`, under every rule and profile.
"""

import numpy as np
import pytest
from naive import rounding
from one_node import activation, constant, one_node, pointwise

from npusim import Session

pytestmark = pytest.mark.usefixtures("isa")
PLAIN = {"stride": (1, 1), "dilation": (1, 1), "padding": "valid", "activation": "none"}


def run(graph, *inputs):
    """The codes of the only output, flat."""
    names = [graph.tensors[i].name for i in graph.inputs]
    arrays = [np.asarray(x, np.int8) for x in inputs]
    return Session(graph, threads=1).run(dict(zip(names, arrays, strict=True))).ravel().tolist()


def scaled(acc, multiplier, shift):
    """Codes that a 1x1 convolution with this multiplier makes of accumulators."""
    acc = np.asarray(acc, np.int32)
    graph = pointwise(1.0, np.zeros((acc.size, 1)), activation(()), np.ones(acc.size), bias=acc)
    session = Session(graph, threads=1)
    session.requantization["conv2d_0"].multiplier[:] = multiplier
    session.requantization["conv2d_0"].shift[:] = shift
    return session.run(np.zeros((1, 1, 1, 1), np.int8)).ravel().tolist()


def test_products_of_large_numbers():
    """github.com/ARM-software/CMSIS_5/issues/1361, by way of differences of rails."""
    largest = 2**31 - 1
    acc = [largest, -(2**31), -(2**31), largest]
    multiplier = [largest, largest, 2**30, 2**30]
    expected = [rounding.high_multiply(a, b) for a, b in zip(acc, multiplier, strict=True)]
    assert expected == [2147483646, -2147483647, -(2**30), 2**30]
    assert scaled(acc, multiplier, -31) == [1, -1, -1, 1]
    assert scaled(acc, multiplier, -24) == [127, -128, -64, 64]


def test_negative_sums_round_half_up_then_away():
    """github.com/ARM-software/CMSIS_5/issues/1047: no unsigned rounding constant."""
    assert scaled([-5], 2**30, 0) == [-2]
    assert scaled([-5], 2**30, 1) == [-5]
    assert scaled([-10], 2**30, -1) == [-3]


def test_relu6_of_codes_that_cannot_show_six():
    """github.com/tensorflow/tensorflow/pull/53859"""
    for scale, zero_point, expected in ((0.01, 0, 127), (0.1, -100, -40)):
        y = activation((), scale, zero_point)
        graph = pointwise(1.0, [[1]], y, [1.0], fused="relu6")
        assert run(graph, [[[[100]]]]) == [expected]


def test_relu_of_a_negative_number_is_the_code_of_zero():
    graph = pointwise(1.0, [[1]], activation((), 0.1, -100), [1.0], fused="relu")
    assert run(graph, [[[[-100]]]]) == [-100]


def image(x, weights, y=None, x_zero_point=0, **attributes):
    """A convolution of an image (H, W) with a kernel (KH, KW), all scales 1."""
    x, weights = np.array(x, np.int8)[None, ..., None], np.array(weights, np.int8)
    operands = [activation(x.shape, zero_point=x_zero_point), constant(weights[None, ..., None])]
    return run(one_node("conv2d", operands, y or activation(()), **PLAIN | attributes), x)


def test_same_padding_puts_the_extra_cell_after():
    """github.com/onnx/tensorflow-onnx/issues/1028"""
    x, y = np.arange(-7, 9).reshape(4, 4), activation((), zero_point=-128)
    expected = [-74, -83, -56, -74]
    assert image(x, np.ones((3, 3)), y, -8, stride=(2, 2), padding="same") == expected


def test_max_pool_same_padding_puts_the_extra_cell_after():
    """github.com/onnx/onnx/issues/388"""
    attributes = {"kernel": (3, 3), "stride": (2, 2), "activation": "none"}
    x = np.arange(16).reshape(1, 4, 4, 1)
    for padding, expected in (("same", [10, 11, 14, 15]), ((1, 1, 1, 1), [5, 7, 13, 15])):
        graph = one_node("max_pool2d", [activation(x.shape)], activation(()), padding=padding,
                         **attributes)  # fmt: skip
        assert run(graph, x) == expected


def test_padding_is_worth_the_zero_point():
    """github.com/apache/tvm/pull/4816"""
    x, y = np.full((3, 3), -7), activation((), zero_point=11)
    assert image(x, np.ones((3, 3)), y, -7, padding="same") == [11] * 9


def test_pad_fills_with_the_zero_point():
    """github.com/google/XNNPACK/pull/8647"""
    x = activation((2,), zero_point=-9)
    assert run(one_node("pad", [x], x, padding=((1, 1),)), [3, 4]) == [-9, 3, 4, -9]


def test_rows_and_columns_are_dilated_apart():
    """github.com/alibaba/MNN/pull/154"""
    x = np.arange(1, 16).reshape(3, 5)
    assert image(x, np.ones((2, 2)), dilation=(1, 2)) == [18, 22, 26, 38, 42, 46]
    assert image(x, np.ones((2, 2)), dilation=(2, 1)) == [26, 30, 34, 38]


def test_rows_and_columns_are_strided_apart():
    """github.com/google-ai-edge/LiteRT/issues/9256"""
    x, ones = (np.arange(63) % 7 + 1).reshape(7, 9), np.ones((3, 3))
    expected = [10, 29, 10, 24, 36, 24, 22, 19, 22]
    assert image(x, ones, stride=(3, 4), padding="same") == expected
    assert image(x, ones, stride=(4, 3), padding="same") == [36, 35, 34, 38, 37, 36]
    x = (np.arange(36) % 7 + 1).reshape(6, 6)
    assert image(x, [[1]], stride=(3, 4), padding="same") == [1, 5, 5, 2]


def test_depthwise_output_channel_is_c_times_m_plus_m():
    """github.com/alibaba/MNN/issues/532"""
    weights = constant(np.reshape([1, 2, 3, 4], (1, 1, 1, 4)), np.ones(4), axis=3)
    operands = [activation((1, 1, 1, 2)), weights]
    graph = one_node("depthwise_conv2d", operands, activation(()), **PLAIN)
    assert run(graph, [[[[10, 20]]]]) == [10, 20, 60, 80]


def test_depthwise_scales_lie_on_the_last_axis():
    """github.com/SonySemiconductorSolutions/mct-model-optimization/issues/809"""
    weights = constant(np.reshape([10, 10], (1, 1, 1, 2)), [1.0, 0.5], axis=3)
    operands = [activation((1, 1, 1, 2)), weights]
    graph = one_node("depthwise_conv2d", operands, activation(()), **PLAIN)
    assert run(graph, [[[[3, 3]]]]) == [30, 15]


def test_fully_connected_scales_each_channel():
    """github.com/tensorflow/tflite-micro/pull/2602"""
    operands = [activation((1, 2)), constant([[5, 3], [5, 3]], [0.5, 0.25], axis=0)]
    graph = one_node("fully_connected", operands, activation(()), activation="none",
                     keep_dims=False)  # fmt: skip
    assert run(graph, [[10, -10]]) == [10, 5]


def test_any_batch_runs():
    """github.com/google-ai-edge/LiteRT/issues/162"""
    graph = pointwise(1.0, [[3]], activation(()), [1.0])
    assert run(graph, np.reshape([1, 2], (2, 1, 1, 1))) == [3, 6]
    operands = [activation((1, 2)), constant([[1, 1]], 1.0)]
    graph = one_node("fully_connected", operands, activation(()), activation="none",
                     keep_dims=False)  # fmt: skip
    assert run(graph, [[1, 2], [3, 4]]) == [3, 7]
    assert Session(graph).run(np.zeros((0, 2), np.int8)).shape == (0, 1)
