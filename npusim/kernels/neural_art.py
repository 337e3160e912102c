"""Weighted operators as ST's Neural-ART computes them (STM32N6): exact sums, then three stages.

    acc = sum of (x - x_zero_point) * w                          exact, the bias is part of bc_c
    r0  = sat16(round0(acc / 2^s0))
    r1  = sat16(round1(r0 * a_c[o] / 2^s1))
    y   = sat8 (round2((r1 * a2 + bc_c[o]) / 2^s2))              then the clamp of the activation

A sum may be made in pieces, one pass of the unit each. What passes from one to the next is either
reduced already, t = sat16(round0((acc + (t << s0)) / 2^s0)), or the raw sum in 24 bits.
Sources: ST's public register headers (ATON CONVACC and ARITH units), coefficients of compiled
networks, outputs of a board; see docs/neural-art.md for what is known and what is not.
"""

import numpy as np

from ..jit import jit
from .arith import clamp
from .conv2d import dot, gather_patch
from .ties import rounded_shift

INT16_MAX = (1 << 15) - 1
INT24_MAX = (1 << 23) - 1
SAFE_PRODUCTS = 1 << 16
"""Products below 2^15 each of which so many fit an int32."""


@jit
def conv2d(x, weights, g, r, y, patch):
    """Grouped convolution.

    x         int8 (N*H*W*C,)
    weights   int8 (O*KH*KW*I,), I = C / groups
    g         Conv2d
    r         NeuralArt
    y         int8 (N*OH*OW*O,), written
    patch     int16 (KH*KW*I,), scratch: x - x_zero_point under the kernel, |value| <= 255
    """
    outputs = g.o // g.groups
    depth = g.kh * g.kw * (g.c // g.groups)
    for n in range(g.n):
        for oh in range(g.oh):
            for ow in range(g.ow):
                position = ((n * g.oh + oh) * g.ow + ow) * g.o
                for group in range(g.groups):
                    gather_patch(x, n, oh, ow, group, g, patch)
                    for o in range(group * outputs, (group + 1) * outputs):
                        r0 = reduced_sum(patch, weights, o * depth, r)
                        y[position + o] = code(r0, o, r)


@jit
def depthwise_conv2d(x, weights, g, r, y, acc, partial):
    """Depthwise convolution with multiplier M.

    x              int8 (N*H*W*C,)
    weights        int8 (KH*KW*O,), O = C*M
    g, r, y        as `conv2d`
    acc, partial   int64 (O,), scratch
    """
    for position in range(g.n * g.oh * g.ow):
        n, oh, ow = position // (g.oh * g.ow), position // g.ow % g.oh, position % g.ow
        for o in range(g.o):
            acc[o] = 0
            partial[o] = 0
        for s in range(r.runs.shape[0]):
            for tap in range(r.runs[s, 0], r.runs[s, 0] + r.runs[s, 1]):
                h = oh * g.stride_h - g.pad_top + tap // g.kw * g.dilation_h
                w = ow * g.stride_w - g.pad_left + tap % g.kw * g.dilation_w
                if 0 <= h < g.h and 0 <= w < g.w:
                    cell = ((n * g.h + h) * g.w + w) * g.c
                    add_products(x, cell, weights, tap * g.o, g, acc)
            if r.runs[s, 2]:
                for o in range(g.o):
                    partial[o] = folded(acc[o], partial[o], r)
                    acc[o] = 0
        for o in range(g.o):
            y[position * g.o + o] = code(reduced(partial[o], r), o, r)


@jit
def fully_connected(x, weights, g, r, y, patch):
    """Matrix product.

    x         int8 (N*I,)
    weights   int8 (O*I,)
    g         FullyConnected
    r         NeuralArt
    y         int8 (N*O,), written
    patch     int16 (I,), scratch
    """
    zero_point = np.int16(g.x_zero_point)
    for n in range(g.n):
        for i in range(g.i):
            patch[i] = np.int16(np.int16(x[n * g.i + i]) - zero_point)
        for o in range(g.o):
            r0 = reduced_sum(patch, weights, o * g.i, r)
            y[n * g.o + o] = code(r0, o, r)


@jit
def add_products(x, cell, weights, tap, g, acc):
    """acc[c*M + m] += (x[cell + c] - x_zero_point) * weights[tap + c*M + m]"""
    multiplier = g.o // g.c
    for o in range(np.uintp(g.o)):
        value = np.int64(x[np.uintp(cell) + o // np.uintp(multiplier)]) - g.x_zero_point
        acc[o] += value * np.int64(weights[np.uintp(tap) + o])


@jit
def reduced_sum(patch, weights, row, r):
    """r0 of one output whose weights begin at `row`."""
    acc, partial = np.int64(0), np.int64(0)
    for s in range(r.runs.shape[0]):
        start, length = r.runs[s, 0], r.runs[s, 1]
        for done in range(0, length, SAFE_PRODUCTS):
            count = min(length - done, SAFE_PRODUCTS)
            first = start + done
            acc += np.int64(dot(patch[first : first + count], weights, row + first, count))
        if r.runs[s, 2]:
            partial = folded(acc, partial, r)
            acc = np.int64(0)
    return reduced(partial, r)


@jit
def folded(acc, partial, r):
    """What passes on after a piece with the sum `acc`."""
    if r.partial_bits == 24:
        return clamp(partial + acc, np.int64(-INT24_MAX - 1), np.int64(INT24_MAX))
    return sat16(rounded_shift(acc + (partial << r.s0), r.s0, r.round0))


@jit
def reduced(partial, r):
    """r0 from what passed on after the last piece."""
    if r.partial_bits == 24:
        return sat16(rounded_shift(partial, r.s0, r.round0))
    return partial


@jit
def code(r0, o, r):
    """Second and third stage of output channel o, and the clamp."""
    r1 = sat16(rounded_shift(r0 * np.int64(r.a_c[o]), r.s1, r.round1))
    r2 = rounded_shift(r1 * r.a2 + np.int64(r.bc_c[o]), r.s2, r.round2)
    return clamp(r2, np.int64(r.act_min), np.int64(r.act_max))


@jit
def sat16(value):
    """The nearest int16."""
    return clamp(value, np.int64(-INT16_MAX - 1), np.int64(INT16_MAX))
