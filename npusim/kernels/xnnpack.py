"""Operators that XNNPACK computes in a way of its own, int8 -> int8.

    add_xnnpack      y = zp_y + (m_a*(a - zp_a) + m_b*(b - zp_b) + 2^(shift-1)) >> shift
    mean_xnnpack     y = rint(float32(sum of x) * scale + offset)
    rescale_xnnpack  y = zp_y + ((x - zp_x) * m + 2^7) >> 8                (quantize of codes)

Each result is clamped. Sources: XNNPACK qs8-vadd, qs8-rdsum with its conversion, qs8-vcvt.
"""

import numpy as np

from ..jit import jit
from .arith import rounding_divide_up_by_pot
from .elementwise import differences
from .mean import sum_codes
from .offset import offset, rows_of

RESCALE_SHIFT = 8


@jit
def add_xnnpack(a, b, p, walk, y, scratch):
    """Add with broadcasting; p is an AddXnnpack, the rest as in `elementwise.add`, scratch 2*n.

    Multipliers are at most 2^21, so the sum stays in 32 bits.
    """
    n, piece = walk.shape[-1], len(scratch) // 2
    left, right = scratch[:piece], scratch[piece:]
    for row in range(rows_of(walk.shape)):
        a0 = offset(row, walk.shape, walk.a_strides)
        b0 = offset(row, walk.shape, walk.b_strides)
        for start in range(0, n, piece):
            m = min(piece, n - start)
            differences(a, a0 + start * walk.a_strides[-1], walk.a_strides[-1], m,
                        p.a_zero_point, left)  # fmt: skip
            differences(b, b0 + start * walk.b_strides[-1], walk.b_strides[-1], m,
                        p.b_zero_point, right)  # fmt: skip
            target = np.uintp(row * n + start)
            for i in range(np.uintp(m)):
                total = left[i] * p.a_multiplier + right[i] * p.b_multiplier
                scaled = rounding_divide_up_by_pot(total, p.shift) + p.y_zero_point
                y[target + i] = min(max(scaled, p.act_min), p.act_max)


@jit
def mean_xnnpack(x, shape, y_strides, p, y, sums):
    """Mean; p is a MeanXnnpack, the rest as in `mean.mean`. The zero points are in the offset."""
    sum_codes(x, shape, y_strides, sums)
    low, high = np.float32(p.act_min), np.float32(p.act_max)
    for o in range(np.uintp(y.size)):
        product = np.float32(sums[o]) * p.scale
        y[o] = np.int32(np.rint(min(max(product + p.offset, low), high)))


@jit
def rescale_xnnpack(x, p, y):
    """Codes of 8 bits -> codes of 8 bits; p is a RescaleXnnpack, x and y have one type."""
    for i in range(np.uintp(y.size)):
        product = (np.int64(x[i]) - p.x_zero_point) * p.multiplier
        scaled = rounding_divide_up_by_pot(product, RESCALE_SHIFT) + p.y_zero_point
        y[i] = min(max(scaled, p.act_min), p.act_max)
