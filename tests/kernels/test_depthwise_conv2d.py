"""The depthwise kernel: sums against Python integers, channel multipliers, and where it writes."""

import numpy as np
import pytest
from kernels import drawn, shaped
from kernels.exact import SHIFTS, assert_guarded, guarded, showing, shown
from naive import operators as naive
from naive.rounding import wrap32

from npusim.kernels import depthwise_conv2d as kernels
from npusim.kernels.structs import Conv2d
from npusim.shapes import window

LAYERS = {
    "3x3": ((1, 5, 4, 3), (3, 3), 1, (1, 1), (1, 1), "SAME"),
    "strided": ((2, 6, 5, 2), (3, 2), 1, (2, 3), (1, 1), "SAME"),
    "stride longer than the kernel": ((1, 7, 7, 2), (2, 1), 1, (3, 4), (1, 1), "VALID"),
    "dilated": ((1, 6, 8, 3), (3, 2), 1, (1, 1), (2, 3), "SAME"),
    "multiplied": ((1, 4, 4, 3), (2, 2), 4, (1, 1), (1, 1), "SAME"),
    "one channel multiplied": ((1, 4, 4, 1), (3, 3), 8, (2, 2), (1, 1), "SAME"),
    "kernel larger than the image": ((1, 2, 3, 2), (5, 5), 1, (1, 1), (1, 1), "SAME"),
    "33 channels": ((1, 3, 3, 33), (2, 3), 1, (1, 1), (1, 1), "VALID"),
}


def geometry(x_shape, kernel, multiplier, stride, dilation, padding, zero_point=0):
    """Conv2d of x (N, H, W, C) and `multiplier` kernels per channel."""
    n, h, w, c = x_shape
    oh, top = window(h, kernel[0], stride[0], dilation[0], padding.lower())
    ow, left = window(w, kernel[1], stride[1], dilation[1], padding.lower())
    return Conv2d(n, h, w, c, oh, ow, c * multiplier, *kernel, *stride, *dilation, top, left, 1,
                  zero_point)  # fmt: skip


def operands(g, seed):
    rng = np.random.default_rng(seed)
    x = drawn.codes(rng, (g.n, g.h, g.w, g.c))
    weights = drawn.codes(rng, (1, g.kh, g.kw, g.o))
    return x, weights, rng.choice(np.array([0, 1000, -(2**31), 2**31 - 1], np.int32), g.o)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("zero_point", [-128, 3, 127])
def test_depthwise_conv2d_matches_naive(name, zero_point):
    *_, stride, dilation, padding = LAYERS[name]
    g = geometry(*LAYERS[name], zero_point)
    x, weights, bias = operands(g, len(name))
    walk = (stride, dilation, padding)
    acc = naive.depthwise_conv2d_accumulators(x, weights, bias, zero_point, walk)
    for shift in SHIFTS:
        actual = shaped.depthwise_conv2d(x, weights, bias, g, showing(g.o, shift))
        assert np.array_equal(actual, shown(acc, shift)), shift


def test_output_channel_is_c_times_m_plus_m():
    g = geometry((1, 1, 1, 2), (1, 1), 3, (1, 1), (1, 1), "SAME")
    x, weights = np.array([[[[10, -1]]]], np.int8), np.array([[[[1, 2, 3, 4, 5, 6]]]], np.int8)
    y = shaped.depthwise_conv2d(x, weights, np.zeros(6, np.int32), g, showing(6, 1))
    assert y.ravel().tolist() == [10, 20, 30, -4, -5, -6]


@pytest.mark.parametrize("multiplier", [1, 2, 5])
@pytest.mark.parametrize("channels", [1, 2, 16, 17])
def test_accumulate_adds_one_tap_modulo_two_to_the_32(channels, multiplier):
    rng = np.random.default_rng(channels)
    g = geometry((1, 1, 1, channels), (1, 1), multiplier, (1, 1), (1, 1), "SAME", 127)
    x, weights = drawn.codes(rng, (channels + 4,)), drawn.codes(rng, (g.o + 7,))
    acc = rng.choice(np.array([-(2**31), -5, 2**31 - 1], np.int32), g.o)
    room = np.full(g.o + 6, 9, np.int32)
    room[4 : 4 + g.o] = acc
    expected = [wrap32(int(acc[o]) + (int(x[4 + o // multiplier]) - 127) * int(weights[7 + o]))
                for o in range(g.o)]  # fmt: skip
    kernels.accumulate(x, 4, weights, 7, g, room, 4)
    assert room.tolist() == [9] * 4 + expected + [9] * 2


def test_a_window_outside_the_image_gives_the_bias():
    g = geometry((1, 2, 2, 1), (2, 2), 1, (1, 1), (1, 1), "VALID")
    g = g._replace(pad_top=2, pad_left=2, oh=5, ow=5)
    x, ones = np.full((1, 2, 2, 1), 100, np.int8), np.ones((1, 2, 2, 1), np.int8)
    y = shaped.depthwise_conv2d(x, ones, np.array([-7], np.int32), g, showing(1, 1))[0, :, :, 0]
    assert y[0].tolist() == y[:, 4].tolist() == [-7] * 5
    assert y[1].tolist() == [-7, 93, 127, 93, -7]


@pytest.mark.parametrize("name", LAYERS)
def test_depthwise_conv2d_writes_its_output_and_nothing_else(name):
    g = geometry(*LAYERS[name])
    x, weights, bias = operands(g, 2)
    r = showing(g.o, -7)
    memory, y = guarded(g.n * g.oh * g.ow * g.o)
    acc = np.empty(g.ow * g.o, np.int32)
    kernels.depthwise_conv2d(x.ravel(), weights.ravel(), bias, g, r, y, acc)
    assert_guarded(memory)
    assert np.array_equal(y, shaped.depthwise_conv2d(x, weights, bias, g, r).ravel())
