"""Weighted operators with an accumulator whose width and order matter.

Saturation is not associative: after every multiply-accumulate, in the order kernel row, kernel
column, input channel, starting from the bias, the sum is clamped to the accumulator's range.
Under WRAP the exact sum is wrapped once at the end, which is the same as wrapping it at every step;
under ERROR the first sum that leaves the range is reported. One product has at most 16 bits and an
int8 layer fewer than 2^40 of them, so int64 holds every exact sum.
The plan uses these nests only where the static bound does not prove them without effect. All
outputs of a position advance together: the order within each output is kept.
"""

import numpy as np

from ..jit import jit
from .requantize import requantize_rows
from .structs import ERROR, WRAP


@jit
def conv2d_ordered(x, weights, bias, g, r, a, y, acc, first, fault):
    """conv2d with an ordered accumulator.

    x, weights, bias, g, r, y   as `conv2d`
    a       Accumulation
    acc     int64 (O,), scratch
    first   int64 (O,), scratch: the first sum of an output that left the range, 0 if none did
    fault   int64 (2,), written under ERROR: flat output index and sum of the first overflow
    """
    channels, outputs = g.c // g.groups, g.o // g.groups
    depth = g.kh * g.kw * channels
    for position in range(g.n * g.oh * g.ow):
        n, oh, ow = position // (g.oh * g.ow), position // g.ow % g.oh, position % g.ow
        begin(bias, g.o, a, acc, first)
        for kh in range(g.kh):
            h = oh * g.stride_h - g.pad_top + kh * g.dilation_h
            for kw in range(g.kw):
                w = ow * g.stride_w - g.pad_left + kw * g.dilation_w
                if h < 0 or h >= g.h or w < 0 or w >= g.w:
                    continue
                cell, tap = ((n * g.h + h) * g.w + w) * g.c, (kh * g.kw + kw) * channels
                for c in range(g.c):
                    value = np.int64(x[cell + c]) - g.x_zero_point
                    o = c // channels * outputs
                    start = o * depth + tap + c % channels
                    add_products(value, weights, start, depth, o, outputs, a, acc, first)
        finish(position * g.o, g.o, a, acc, first, fault)
        requantize_rows(acc, 1, g.o, r, y, position * g.o)


@jit
def depthwise_conv2d_ordered(x, weights, bias, g, r, a, y, acc, first, fault):
    """depthwise_conv2d with an ordered accumulator; arguments as `conv2d_ordered`."""
    multiplier = g.o // g.c
    for position in range(g.n * g.oh * g.ow):
        n, oh, ow = position // (g.oh * g.ow), position // g.ow % g.oh, position % g.ow
        begin(bias, g.o, a, acc, first)
        for kh in range(g.kh):
            h = oh * g.stride_h - g.pad_top + kh * g.dilation_h
            for kw in range(g.kw):
                w = ow * g.stride_w - g.pad_left + kw * g.dilation_w
                if h < 0 or h >= g.h or w < 0 or w >= g.w:
                    continue
                cell, tap = ((n * g.h + h) * g.w + w) * g.c, (kh * g.kw + kw) * g.o
                for c in range(g.c):
                    value = np.int64(x[cell + c]) - g.x_zero_point
                    o = c * multiplier
                    add_products(value, weights, tap + o, 1, o, multiplier, a, acc, first)
        finish(position * g.o, g.o, a, acc, first, fault)
        requantize_rows(acc, 1, g.o, r, y, position * g.o)


@jit
def fully_connected_ordered(x, weights, bias, g, r, a, y, acc, first, fault):
    """fully_connected with an ordered accumulator; arguments as `conv2d_ordered`."""
    for n in range(g.n):
        begin(bias, g.o, a, acc, first)
        for i in range(g.i):
            value = np.int64(x[n * g.i + i]) - g.x_zero_point
            add_products(value, weights, i, g.i, 0, g.o, a, acc, first)
        finish(n * g.o, g.o, a, acc, first, fault)
        requantize_rows(acc, 1, g.o, r, y, n * g.o)


@jit
def limits(a):
    """Lowest and highest sum that is kept: the accumulator's range, int64's under WRAP."""
    return span(64 if a.overflow == WRAP else a.bits)


@jit
def span(bits):
    """Lowest and highest number that `bits` bits hold, 2..64."""
    high = np.int64(np.uint64(0xFFFFFFFFFFFFFFFF) >> np.uint64(65 - bits))
    return -high - 1, high


@jit
def begin(bias, outputs, a, acc, first):
    """acc = bias, clamped as any sum is."""
    low, high = limits(a)
    for o in range(np.uintp(outputs)):
        exact = np.int64(bias[o])
        acc[o] = min(max(exact, low), high)
        first[o] = exact if exact != acc[o] else 0


@jit
def add_products(value, weights, start, step, channel, outputs, a, acc, first):
    """acc[channel + j] += value * weights[start + j*step], clamped, for j < outputs."""
    low, high = limits(a)
    o, tap, stride = np.uintp(channel), np.uintp(start), np.uintp(step)
    for j in range(np.uintp(outputs)):
        exact = acc[o + j] + value * np.int64(weights[tap + j * stride])
        kept = min(max(exact, low), high)
        unseen = kept != exact and first[o + j] == 0
        first[o + j] = exact if unseen else first[o + j]
        acc[o + j] = kept


@jit
def finish(index, outputs, a, acc, first, fault):
    """Wrap the exact sums under WRAP; report the first overflow under ERROR."""
    if a.overflow == WRAP:
        spare = 64 - a.bits
        for o in range(np.uintp(outputs)):
            acc[o] = (acc[o] << spare) >> spare
    elif a.overflow == ERROR and fault[0] < 0:
        for o in range(outputs):
            if first[o] != 0:
                fault[0] = index + o
                fault[1] = first[o]
                return
