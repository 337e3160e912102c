"""How far the sums of weighted operators go, and how often they leave an accumulator.

The nest is that of `ordered`, once for all operators: the products of an output in the order kernel
row, kernel column, input channel, behind its bias. A depthwise convolution has a group for each
input channel; a fully connected layer is a convolution by a kernel of one cell. Weights are packed
(KH, KW, C, O / groups), so that all outputs of an input channel lie together.
"""

import numpy as np

from ..jit import jit, jit_inline
from .ordered import span
from .structs import SATURATE, WRAP


@jit
def tally(x, packed, bias, g, a, counting, t):
    """Add the sums of every output to what its channel has had.

    x          int8 (N*H*W*C,)
    packed     int32 or int64 (KH*KW*C*O/groups,), of the type of t.exact
    bias       int32 (O,)
    g          Conv2d
    a          Accumulation
    counting   whether any sum may leave the accumulator; if not, only extremes are found
    t          Tallies, changed in place
    """
    channels, outputs = g.c // g.groups, g.o // g.groups
    for position in range(g.n * g.oh * g.ow):
        n, oh, ow = position // (g.oh * g.ow), position // g.ow % g.oh, position % g.ow
        t.exact[:] = 0
        t.kept[:] = 0
        t.left[:] = 0
        if counting:
            count_products(1, bias, 0, 0, g.o, a, t)
        else:
            add_products(1, bias, 0, 0, g.o, t)
        for kh in range(g.kh):
            h = oh * g.stride_h - g.pad_top + kh * g.dilation_h
            for kw in range(g.kw):
                w = ow * g.stride_w - g.pad_left + kw * g.dilation_w
                if h < 0 or h >= g.h or w < 0 or w >= g.w:
                    continue
                cell, tap = ((n * g.h + h) * g.w + w) * g.c, (kh * g.kw + kw) * g.c
                for c in range(g.c):
                    value = np.int64(x[cell + c]) - g.x_zero_point
                    start, o = (tap + c) * outputs, c // channels * outputs
                    if counting:
                        count_products(value, packed, start, o, outputs, a, t)
                    else:
                        add_products(value, packed, start, o, outputs, t)
        if counting:
            for o in range(g.o):
                t.overflows[o] += t.left[o]
                t.outputs[o] += np.int64(t.left[o] > 0)
                t.changed[o] += np.int64(t.kept[o] != t.exact[o])


@jit_inline
def add_products(value, factors, start, channel, outputs, t):
    """exact[channel + j] += value * factors[start + j] for j < outputs, and the extremes.

    The sum is read again from where it was stored: narrowed to 32 bits, where that is the type.
    """
    o, first = np.uintp(channel), np.uintp(start)
    for j in range(np.uintp(outputs)):
        t.exact[o + j] += value * factors[first + j]
        total = t.exact[o + j]
        t.low[o + j] = min(t.low[o + j], total)
        t.high[o + j] = max(t.high[o + j], total)


@jit_inline
def count_products(value, factors, start, channel, outputs, a, t):
    """As `add_products`, in int64, and the same products in the accumulator.

    Under ERROR the accumulator holds what it should not, so that every node is judged by itself.
    """
    low, high = span(a.bits)
    spare = np.int64(64) - a.bits
    o, first = np.uintp(channel), np.uintp(start)
    for j in range(np.uintp(outputs)):
        product = value * np.int64(factors[first + j])
        exact, kept = t.exact[o + j] + product, t.kept[o + j]
        total = kept + product
        t.exact[o + j] = exact
        t.low[o + j] = min(t.low[o + j], exact)
        t.high[o + j] = max(t.high[o + j], exact)
        fitted, fits = low <= kept <= high, low <= total <= high
        t.left[o + j] += np.int64(fitted and not fits)
        if a.overflow == WRAP:
            total = (total << spare) >> spare
        elif a.overflow == SATURATE:
            total = min(max(total, low), high)
        t.kept[o + j] = total
