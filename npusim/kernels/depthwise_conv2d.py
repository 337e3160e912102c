"""Depthwise convolution with multiplier M, NHWC x (1,KH,KW,C*M), int8 x int8 -> int8.

    acc[n,oh,ow,c*M + m] = bias[c*M + m] + sum over kh,kw of (x[.., c] - x_zero_point)
                           * w[0,kh,kw,c*M + m]

Sources: TFLite reference_integer_ops::DepthwiseConvPerChannel.
"""

import numpy as np

from ..jit import jit
from .requantize import requantize_rows


@jit
def depthwise_conv2d(x, weights, bias, g, r, y, acc):
    """Convolve each channel by its own kernels, with int32 accumulators that wrap.

    x         int8 (N*H*W*C,)
    weights   int8 (KH*KW*O,), O = C*M
    bias      int32 (O,)
    g         Conv2d
    r         Requantization
    y         int8 (N*OH*OW*O,), written
    acc       int32 (OW*O,), scratch
    """
    for n in range(g.n):
        for oh in range(g.oh):
            for ow in range(g.ow):
                base = ow * g.o
                for o in range(g.o):
                    acc[base + o] = bias[o]
                for kh in range(g.kh):
                    h = oh * g.stride_h - g.pad_top + kh * g.dilation_h
                    if h < 0 or h >= g.h:
                        continue
                    for kw in range(g.kw):
                        w = ow * g.stride_w - g.pad_left + kw * g.dilation_w
                        if w < 0 or w >= g.w:
                            continue
                        cell = ((n * g.h + h) * g.w + w) * g.c
                        tap = (kh * g.kw + kw) * g.o
                        accumulate(x, cell, weights, tap, g, acc, base)
            requantize_rows(acc, g.ow, g.o, r, y, (n * g.oh + oh) * g.ow * g.o)


@jit
def accumulate(x, cell, weights, tap, g, acc, base):
    """acc[base + c*M + m] += (x[cell + c] - x_zero_point) * weights[tap + c*M + m], modulo 2^32."""
    zero_point = np.int32(g.x_zero_point)
    first, row, target = np.uintp(cell), np.uintp(tap), np.uintp(base)
    multiplier = g.o // g.c
    if multiplier == 1:
        for c in range(np.uintp(g.c)):
            value = np.int32(np.int32(x[first + c]) - zero_point)
            product = np.int32(value * np.int32(weights[row + c]))
            acc[target + c] = np.int32(acc[target + c] + product)
        return
    for c in range(g.c):
        value = np.int32(np.int32(x[cell + c]) - zero_point)
        for o in range(c * multiplier, (c + 1) * multiplier):
            product = np.int32(value * np.int32(weights[tap + o]))
            acc[base + o] = np.int32(acc[base + o] + product)
