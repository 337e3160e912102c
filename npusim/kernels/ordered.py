"""Weighted operators with an accumulator whose order matters.

Saturation is not associative: after every multiply-accumulate, in the order kernel row, kernel
column, input channel, starting from the bias, the sum is brought into the accumulator's range.
These nests serve every width from 8 to 64 bits; the plan uses them only where the static bound
does not prove that the order is without effect.
"""

import numpy as np

from ..jit import jit
from .requantize import requantize_row
from .structs import ERROR, SATURATE


@jit
def conv2d_ordered(x, weights, bias, g, r, a, y, acc, fault):
    """conv2d with an ordered accumulator.

    x, weights, bias, g, r, y   as `conv2d`
    a       Accumulation
    acc     int64 (O,), scratch
    fault   int64 (2,): flat output index and sum of the first overflow under ERROR; -1 if none
    """
    channels = g.c // g.groups
    outputs = g.o // g.groups
    for position in range(g.n * g.oh * g.ow):
        n, oh, ow = position // (g.oh * g.ow), position // g.ow % g.oh, position % g.ow
        for o in range(g.o):
            group = o // outputs
            total = accept(np.int64(bias[o]), a, position * g.o + o, fault)
            for kh in range(g.kh):
                h = oh * g.stride_h - g.pad_top + kh * g.dilation_h
                for kw in range(g.kw):
                    w = ow * g.stride_w - g.pad_left + kw * g.dilation_w
                    if h < 0 or h >= g.h or w < 0 or w >= g.w:
                        continue
                    cell = ((n * g.h + h) * g.w + w) * g.c + group * channels
                    tap = ((o * g.kh + kh) * g.kw + kw) * channels
                    for i in range(channels):
                        value = np.int64(x[cell + i]) - g.x_zero_point
                        total = accept(
                            total + value * np.int64(weights[tap + i]),
                            a, position * g.o + o, fault,
                        )  # fmt: skip
            acc[o] = total
        requantize_row(acc, g.o, 0, r, y, position * g.o)


@jit
def depthwise_conv2d_ordered(x, weights, bias, g, r, a, y, acc, fault):
    """depthwise_conv2d with an ordered accumulator; arguments as `conv2d_ordered`."""
    multiplier = g.o // g.c
    for position in range(g.n * g.oh * g.ow):
        n, oh, ow = position // (g.oh * g.ow), position // g.ow % g.oh, position % g.ow
        for o in range(g.o):
            total = accept(np.int64(bias[o]), a, position * g.o + o, fault)
            for kh in range(g.kh):
                h = oh * g.stride_h - g.pad_top + kh * g.dilation_h
                for kw in range(g.kw):
                    w = ow * g.stride_w - g.pad_left + kw * g.dilation_w
                    if h < 0 or h >= g.h or w < 0 or w >= g.w:
                        continue
                    cell = ((n * g.h + h) * g.w + w) * g.c + o // multiplier
                    value = np.int64(x[cell]) - g.x_zero_point
                    weight = np.int64(weights[(kh * g.kw + kw) * g.o + o])
                    total = accept(total + value * weight, a, position * g.o + o, fault)
            acc[o] = total
        requantize_row(acc, g.o, 0, r, y, position * g.o)


@jit
def fully_connected_ordered(x, weights, bias, g, r, a, y, acc, fault):
    """fully_connected with an ordered accumulator; arguments as `conv2d_ordered`."""
    for n in range(g.n):
        for o in range(g.o):
            total = accept(np.int64(bias[o]), a, n * g.o + o, fault)
            for i in range(g.i):
                value = np.int64(x[n * g.i + i]) - g.x_zero_point
                weight = np.int64(weights[o * g.i + i])
                total = accept(total + value * weight, a, n * g.o + o, fault)
            acc[o] = total
        requantize_row(acc, g.o, 0, r, y, n * g.o)


@jit
def accept(total, a, index, fault):
    """Bring a sum into the accumulator's range: wrap, clamp, or note the first overflow.

    One product has at most 16 bits, so the int64 sum before this step is exact for widths up to 63;
    at 64 bits no int8 layer reaches the limit.
    """
    spare = 64 - a.bits
    wrapped = (total << spare) >> spare
    if wrapped == total:
        return total
    if a.overflow == SATURATE:
        limit = np.int64(1) << (a.bits - 1)
        return limit - 1 if total > 0 else -limit
    if a.overflow == ERROR and fault[0] < 0:
        fault[0] = index
        fault[1] = total
    return wrapped
