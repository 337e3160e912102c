"""Convolution, NHWC x OHWI, int8 x int8 -> int8.

    acc[n,oh,ow,o] = bias[o] + sum over kh,kw,i of (x[n, oh*stride_h - pad_top + kh*dilation_h,
                     ow*stride_w - pad_left + kw*dilation_w, i] - x_zero_point) * w[o,kh,kw,i]

Cells outside the input are worth the zero point, so they add nothing.
Sources: TFLite reference_integer_ops::ConvPerChannel.
"""

import numpy as np

from ..jit import jit
from .requantize import requantize_rows


@jit
def conv2d(x, weights, bias, g, r, y, patch, acc):
    """Convolve int8 with int32 accumulators that wrap.

    x         int8 (N*H*W*C,)
    weights   int8 (O*KH*KW*I,), I = C / groups
    bias      int32 (O,)
    g         Conv2d
    r         Requantization
    y         int8 (N*OH*OW*O,), written
    patch     int16 (KH*KW*I,), scratch: x - x_zero_point under the kernel, |value| <= 255
    acc       int32 (OW*O,), scratch
    """
    channels = g.c // g.groups
    outputs = g.o // g.groups
    depth = g.kh * g.kw * channels
    for n in range(g.n):
        for oh in range(g.oh):
            for ow in range(g.ow):
                for group in range(g.groups):
                    gather_patch(x, n, oh, ow, group, g, patch)
                    for o in range(group * outputs, (group + 1) * outputs):
                        total = bias[o] + dot(patch, weights, o * depth, depth)
                        acc[ow * g.o + o] = np.int32(total)
            requantize_rows(acc, g.ow, g.o, r, y, (n * g.oh + oh) * g.ow * g.o)


@jit
def gather_patch(x, n, oh, ow, group, g, patch):
    """patch[kh,kw,i] = x - x_zero_point under the kernel at (oh, ow), 0 outside the input."""
    channels = np.uintp(g.c // g.groups)
    zero_point = np.int16(g.x_zero_point)
    for kh in range(g.kh):
        h = oh * g.stride_h - g.pad_top + kh * g.dilation_h
        for kw in range(g.kw):
            w = ow * g.stride_w - g.pad_left + kw * g.dilation_w
            cell = np.uintp(kh * g.kw + kw) * channels
            if 0 <= h < g.h and 0 <= w < g.w:
                source = np.uintp(((n * g.h + h) * g.w + w) * g.c) + np.uintp(group) * channels
                for i in range(channels):
                    patch[cell + i] = np.int16(np.int16(x[source + i]) - zero_point)
            else:
                for i in range(channels):
                    patch[cell + i] = np.int16(0)


@jit
def dot(a, b, start, n):
    """sum of a[i]*b[start + i] over i < n, int16 x int8, modulo 2^32.

    Each step is written in int32: numba would widen products and sums to int64, at half the speed.
    Unsigned indices spare the test for negative ones, which keeps LLVM from vectorising.
    """
    total = np.int32(0)
    first = np.uintp(start)
    for i in range(np.uintp(n)):
        total = np.int32(total + np.int32(np.int32(a[i]) * np.int32(b[first + i])))
    return total
