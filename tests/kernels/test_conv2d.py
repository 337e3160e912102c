"""The convolution kernel: patches, dot products modulo 2^32, and sums against Python integers."""

import numpy as np
import pytest
from kernels import drawn, shaped
from kernels.exact import SHIFTS, assert_guarded, guarded, showing, shown
from naive import operators as naive
from naive.rounding import wrap32

from npusim.kernels import conv2d as kernels
from npusim.kernels.structs import Conv2d
from npusim.shapes import window

LAYERS = {
    "1x1": ((2, 3, 3, 5), (4, 1, 1, 5), (1, 1), (1, 1), "SAME"),
    "3x3": ((1, 5, 4, 3), (2, 3, 3, 3), (1, 1), (1, 1), "SAME"),
    "strided": ((1, 6, 5, 2), (3, 3, 2, 2), (2, 3), (1, 1), "SAME"),
    "stride longer than the kernel": ((1, 7, 7, 2), (2, 2, 1, 2), (3, 4), (1, 1), "VALID"),
    "dilated": ((1, 6, 8, 2), (2, 3, 2, 2), (1, 1), (2, 3), "SAME"),
    "grouped": ((1, 4, 4, 6), (9, 2, 2, 2), (1, 1), (1, 1), "SAME"),
    "kernel larger than the image": ((1, 2, 3, 2), (2, 5, 5, 2), (1, 1), (1, 1), "SAME"),
    "one channel": ((3, 4, 5, 1), (1, 4, 4, 1), (1, 1), (1, 1), "VALID"),
}


def geometry(x_shape, w_shape, stride, dilation, padding, zero_point=0):
    """Conv2d of x (N, H, W, C) and weights (O, KH, KW, I)."""
    (n, h, w, c), (o, kh, kw, i) = x_shape, w_shape
    oh, top = window(h, kh, stride[0], dilation[0], padding.lower())
    ow, left = window(w, kw, stride[1], dilation[1], padding.lower())
    return Conv2d(n, h, w, c, oh, ow, o, kh, kw, *stride, *dilation, top, left, c // i, zero_point)


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("zero_point", [-128, 3, 127])
def test_conv2d_matches_naive(name, zero_point):
    rng = np.random.default_rng(len(name))
    x_shape, w_shape, *walk = LAYERS[name]
    x, weights = drawn.codes(rng, x_shape), drawn.codes(rng, w_shape)
    bias = rng.choice(np.array([0, 1000, -(2**31), 2**31 - 1], np.int32), w_shape[0])
    acc = naive.conv2d_accumulators(x, weights, bias, zero_point, tuple(walk))
    g = geometry(x_shape, w_shape, *walk, zero_point)
    for shift in SHIFTS:
        actual = shaped.conv2d(x, weights, bias, g, showing(g.o, shift))
        assert np.array_equal(actual, shown(acc, shift)), shift


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 15, 16, 17, 31, 33, 64, 100])
@pytest.mark.parametrize("start", [0, 1, 5])
def test_dot_matches_python(n, start):
    """Lengths around those of vectors, and unaligned beginnings."""
    rng = np.random.default_rng(n)
    a = rng.integers(-255, 256, n + 3).astype(np.int16)
    b = drawn.codes(rng, (n + start + 3,))
    expected = sum(int(a[i]) * int(b[start + i]) for i in range(n))
    assert int(kernels.dot(a, b, start, n)) == expected


def test_dot_wraps_to_32_bits():
    n = 70_000
    a, b = np.full(n, 255, np.int16), np.full(n, -128, np.int8)
    assert -255 * 128 * n < -(2**31)
    assert int(kernels.dot(a, b, 0, n)) == wrap32(-255 * 128 * n)


def test_bias_wraps_with_the_products():
    g = geometry((1, 1, 1, 2), (1, 1, 1, 2), (1, 1), (1, 1), "SAME")
    x, weights = np.full((1, 1, 1, 2), 127, np.int8), np.full((1, 1, 1, 2), 127, np.int8)
    bias = np.array([2**31 - 1], np.int32)
    for shift in SHIFTS:
        actual = shaped.conv2d(x, weights, bias, g, showing(1, shift))
        assert np.array_equal(actual.ravel(), shown([2**31 - 1 + 2 * 127 * 127], shift))


def patch_at(x, g, oh, ow, group):
    """(KH, KW, I) under the kernel, by slicing a padded field."""
    field = np.pad(x.astype(np.int16) - g.x_zero_point, ((0, 0), (9, 9), (9, 9), (0, 0)))
    top, left = oh * g.stride_h - g.pad_top + 9, ow * g.stride_w - g.pad_left + 9
    i = g.c // g.groups
    rows = slice(top, top + g.kh * g.dilation_h, g.dilation_h)
    columns = slice(left, left + g.kw * g.dilation_w, g.dilation_w)
    return field[:, rows, columns, group * i : (group + 1) * i]


@pytest.mark.parametrize("name", LAYERS)
def test_patch_holds_what_lies_under_the_kernel(name):
    x_shape, w_shape, *walk = LAYERS[name]
    for zero_point in (-128, 127):
        g = geometry(x_shape, w_shape, *walk, zero_point)
        x = drawn.codes(np.random.default_rng(1), x_shape)
        for n, oh, ow, group in np.ndindex(g.n, g.oh, g.ow, g.groups):
            patch = np.full(np.prod(w_shape[1:]), 9999, np.int16)
            kernels.gather_patch(x.ravel(), n, oh, ow, group, g, patch)
            assert np.array_equal(patch, patch_at(x, g, oh, ow, group)[n].ravel())


def test_a_window_outside_the_image_gives_the_bias():
    """Padding as large as the kernel is legal in a convolution."""
    g = geometry((1, 2, 2, 1), (1, 2, 2, 1), (1, 1), (1, 1), "VALID")
    g = g._replace(pad_top=2, pad_left=2, oh=5, ow=5)
    x, ones = np.full((1, 2, 2, 1), 100, np.int8), np.ones((1, 2, 2, 1), np.int8)
    y = shaped.conv2d(x, ones, np.array([-7], np.int32), g, showing(1, 1))[0, :, :, 0]
    assert y[0].tolist() == y[:, 4].tolist() == [-7] * 5
    assert y[1].tolist() == [-7, 93, 127, 93, -7]


@pytest.mark.parametrize("name", LAYERS)
def test_conv2d_writes_its_output_and_nothing_else(name):
    x_shape, w_shape, *walk = LAYERS[name]
    g = geometry(x_shape, w_shape, *walk)
    rng = np.random.default_rng(2)
    x, weights = drawn.codes(rng, x_shape), drawn.codes(rng, w_shape)
    bias, r = np.zeros(g.o, np.int32), showing(g.o, -7)
    memory, y = guarded(g.n * g.oh * g.ow * g.o)
    patch, acc = np.empty(weights[0].size, np.int16), np.empty(g.ow * g.o, np.int32)
    kernels.conv2d(x.ravel(), weights.ravel(), bias, g, r, y, patch, acc)
    assert_guarded(memory)
    assert np.array_equal(y, shaped.conv2d(x, weights, bias, g, r).ravel())
