"""Scales and codes: what they are, and that no channel can be lost or overflow."""

from fractions import Fraction

import numpy as np
import pytest

import npusim
from npusim import calibrate, floats
from npusim.calibrate.scales import (
    activation_quantization,
    bias_codes,
    channel_scales,
    raised,
    simulated,
    weight_codes,
)
from npusim.codes import quantize


@pytest.mark.parametrize(
    ("low", "high", "scale", "zero_point"),
    [
        (0.0, 2.55, 0.01, -128),
        (-1.0, 1.55, 0.01, -28),
        (-2.55, -1.0, 0.01, 127),  # widened to hold 0
        (1.0, 2.55, 0.01, -128),
        (0.0, 0.0, 1 / 255, -128),
    ],
)
def test_activation_quantization_spans_the_range(low, high, scale, zero_point):
    q = activation_quantization(low, high)
    assert q.scale[0] == np.float32(scale)
    assert q.zero_point[0] == zero_point


def test_activation_quantization_holds_zero_exactly():
    rng = np.random.default_rng(1)
    for low, high in rng.normal(0, 10, (200, 2)):
        q = activation_quantization(low, high)
        assert -128 <= q.zero_point[0] <= 127
        assert simulated(np.zeros(1, np.float32), q)[0] == 0


def test_simulated_rounds_as_onnx_quantises():
    rng = np.random.default_rng(2)
    x = rng.normal(0, 3, 4000).astype(np.float32)
    q = activation_quantization(-2.0, 5.0)
    codes = quantize(x, q.scale[0], int(q.zero_point[0]), "int8", "divide_even")
    expected = (codes.astype(np.float32) - np.float32(q.zero_point[0])) * q.scale[0]
    np.testing.assert_array_equal(simulated(x, q), expected)


def test_channel_scales_are_those_of_the_largest_weight():
    w = np.array([[1.27, -0.5], [0.1, -2.54]], np.float32)
    np.testing.assert_array_equal(channel_scales(w, 0), np.float32([1.27, 2.54]) / np.float32(127))
    assert channel_scales(w, 0, 8).tolist() == pytest.approx([1.27 * 8 / 126, 2.54 * 8 / 126])
    assert weight_codes(w, 0, channel_scales(w, 0)).tolist() == [[127, -50], [5, -127]]


def test_channels_of_zeros_have_finite_positive_scales():
    w = np.zeros((3, 4), np.float32)
    assert (channel_scales(w, 0) == np.float32(1 / 127)).all()
    w[1, 2] = 0.5
    assert (channel_scales(w, 0) == np.float32(0.5 / 127)).all()


def test_tiny_weights_do_not_clip_their_bias():
    """Field case 48: s_w = 7.843e-10 would ask for a bias of 127,500,000,000."""
    scale, s_x = np.float32([7.843e-10] * 3), np.float32(0.5)
    bias = np.array([5.0, -4.5, 0.0])
    safe = raised(scale, bias, s_x, np.float32(0.05), 4)
    codes = bias_codes(bias, s_x, safe)
    assert np.abs(codes[:2].astype(np.int64)).min() > 2**30
    for code, s, b in zip(codes.tolist(), safe.tolist(), bias.tolist(), strict=True):
        exact = Fraction(0.5) * Fraction(s)
        assert abs(code) <= 2**31 - 1 - 4 * 128 * 255  # room for every product
        assert abs(code * exact - Fraction(b)) <= exact / 2
    assert safe[2] == scale[2]


def test_scales_that_serve_are_left_alone():
    scale = np.float32([0.01, 0.02])
    actual = raised(scale, np.array([3.0, -3.0]), np.float32(0.1), np.float32(0.1), 1000)
    np.testing.assert_array_equal(actual, scale)


@pytest.mark.parametrize("correct", [False, True])
def test_network_with_tiny_weights_computes_its_biases(correct):
    weight = np.full((3, 1, 1, 2), 1e-7, np.float32) * [[[[1]]], [[[-1]]], [[[0]]]]
    draft = floats.Draft("tiny", (1, 2, 2, 2))
    attributes = {"stride": (1, 1), "dilation": (1, 1), "padding": "same", "activation": "none"}
    constants = {"weight": weight.astype(np.float32), "bias": np.float32([5.0, -4.5, 1.0])}
    graph = draft.graph(draft.add("conv2d", "conv", (0,), constants, attributes))
    images = np.random.default_rng(3).random((8, 2, 2, 2), np.float32)
    options = calibrate.Options(observer="minmax", correct_biases=correct)
    int8 = calibrate.quantize_graph(graph, images, options)
    y, q = npusim.Session(int8, threads=1).run(images), int8.tensor("conv/conv2d").quantization
    real = (y.astype(float) - q.zero_point[0]) * q.scale[0]
    assert np.abs(real - [5.0, -4.5, 1.0]).max() <= q.scale[0]
    assert not npusim.check_headroom(int8).nodes[0].saturated_biases
    assert not npusim.check_headroom(int8).nodes[0].without_multiplier
