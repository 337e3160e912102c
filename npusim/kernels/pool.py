"""Pools over windows, int8 -> int8; only the cells inside the input count.

    average   y = clamp(round(sum of x / number of cells)), ties away from zero
    max       y = clamp(max of x)

Sources: TFLite reference_integer_ops::AveragePool and MaxPool.
"""

import numpy as np

from ..jit import jit


@jit
def average_pool2d(x, g, y, sums):
    """Average pool; the codes themselves are averaged, so the zero point does not enter.

    x      int8 (N*H*W*C,)
    g      Pool2d; every window holds at least one cell
    y      int8 (N*OH*OW*C,), written
    sums   int32 (C,), scratch; exact up to 2^23 cells
    """
    channels = np.uintp(g.c)
    for position in range(g.n * g.oh * g.ow):
        n, oh, ow = position // (g.oh * g.ow), position // g.ow % g.oh, position % g.ow
        top, left = oh * g.stride_h - g.pad_top, ow * g.stride_w - g.pad_left
        rows = range(max(top, 0), min(top + g.kh, g.h))
        columns = range(max(left, 0), min(left + g.kw, g.w))
        for i in range(channels):
            sums[i] = 0
        for h in rows:
            for w in columns:
                cell = np.uintp((n * g.h + h) * g.w + w) * channels
                for i in range(channels):
                    sums[i] = np.int32(sums[i] + np.int32(x[cell + i]))
        count = np.int32(len(rows) * len(columns))
        target = np.uintp(position) * channels
        for i in range(channels):
            mean = rounded_quotient(sums[i], count)
            y[target + i] = min(max(mean, np.int32(g.act_min)), np.int32(g.act_max))


@jit
def max_pool2d(x, g, y):
    """Max pool; x, g and y as in `average_pool2d`, an empty window gives act_min."""
    channels = np.uintp(g.c)
    low, high = np.int8(g.act_min), np.int8(g.act_max)
    for position in range(g.n * g.oh * g.ow):
        n, oh, ow = position // (g.oh * g.ow), position // g.ow % g.oh, position % g.ow
        top, left = oh * g.stride_h - g.pad_top, ow * g.stride_w - g.pad_left
        target = np.uintp(position) * channels
        for i in range(channels):
            y[target + i] = low
        for h in range(max(top, 0), min(top + g.kh, g.h)):
            for w in range(max(left, 0), min(left + g.kw, g.w)):
                cell = np.uintp((n * g.h + h) * g.w + w) * channels
                for i in range(channels):
                    y[target + i] = max(y[target + i], x[cell + i])
        for i in range(channels):
            y[target + i] = min(y[target + i], high)


@jit
def rounded_quotient(total, count):
    """total / count to nearest, ties away from zero, int32.

    Magnitudes are divided: C and Python round negative quotients differently.
    """
    magnitude = np.int32((abs(np.int32(total)) + (count >> 1)) // count)
    return np.int32(-magnitude) if total < 0 else magnitude
