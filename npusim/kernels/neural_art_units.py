"""ADD and global average as Neural-ART's ARITH and POOL units compute them.

    add    y = sat8(round1((round0(a_coefficient * a / 2^a_shift) + round0(b .. b_shift)
                           + (c << c_shift)) / 2^shift))
    mean   p = sat16(round0(sum * mulval / 2^pool_shift)), eight fraction bits
           y = sat8(round2((round1(p * a / 2^8) + c) / 2^shift))

Both take the codes as they are: zero points are part of c.
Sources: as `neural_art`.
"""

import numpy as np

from ..jit import jit
from .arith import clamp
from .neural_art import sat16
from .offset import offset, rows_of
from .ties import rounded_shift

FRACTION = 8


@jit
def add(a, b, p, shape, a_strides, b_strides, y):
    """Add with broadcasting; p is a NeuralArtAdd, the other arguments are those of the plain add.

    a, b        int8, flat
    shape       int64 (R,), walk over y
    a_strides   int64 (R,), in elements; the last is 0 or 1
    b_strides   int64 (R,)
    y           int8 (prod(shape),), written
    """
    n = np.uintp(shape[-1])
    a_step, b_step = np.uintp(a_strides[-1]), np.uintp(b_strides[-1])
    for row in range(rows_of(shape)):
        start = np.uintp(row) * n
        a0, b0 = np.uintp(offset(row, shape, a_strides)), np.uintp(offset(row, shape, b_strides))
        for i in range(n):
            y[start + i] = sum_code(a[a0 + i * a_step], b[b0 + i * b_step], p)


@jit
def sum_code(a, b, p):
    """One element of add."""
    total = rounded_shift(np.int64(a) * p.a, p.a_shift, p.round0)
    total += rounded_shift(np.int64(b) * p.b, p.b_shift, p.round0)
    total += np.int64(p.c) << p.c_shift
    result = rounded_shift(total, p.shift, p.round1)
    return clamp(result, np.int64(p.act_min), np.int64(p.act_max))


@jit
def mean(x, p, y, sums):
    """Average of every channel's map.

    x      int8 (N*cells*C,)
    p      NeuralArtMean
    y      int8 (N*C,), written
    sums   int32 (N*C,), scratch; a map has fewer than 2^24 cells
    """
    for n in range(y.size // p.channels):
        first = n * p.channels
        for c in range(p.channels):
            sums[first + c] = 0
        for cell in range(p.cells):
            source = np.uintp((n * p.cells + cell) * p.channels)
            for c in range(np.uintp(p.channels)):
                place = np.uintp(first) + c
                sums[place] = np.int32(sums[place] + np.int32(x[source + c]))
        for c in range(p.channels):
            y[first + c] = mean_code(np.int64(sums[first + c]), p)


@jit
def mean_code(total, p):
    """The code of one channel from the sum of its codes."""
    average = sat16(rounded_shift(total * p.mulval, p.pool_shift, p.round0))
    scaled = rounded_shift(average * p.a, FRACTION, p.round1)
    result = rounded_shift(scaled + p.c, p.shift, p.round2)
    return clamp(result, np.int64(-128), np.int64(127))
