"""Elementwise operators on codes: add and mul with broadcasting, and rescale.

    add      y = zero_point + R_y(R_a((a - zp_a) << 20) + R_b((b - zp_b) << 20)),  R: requantise
    mul      y = zero_point + R((a - zp_a) * (b - zp_b))
    rescale  y = zero_point + R(x - zp_x)                    (quantize of codes, relu, relu6)

The operands of add and mul are walked together, row by row; along a row each moves by 0 or 1.
Sources: TFLite reference_integer_ops::Add and Mul, reference_ops::Requantize.
"""

import numpy as np

from ..jit import jit
from .arith import int8_code, requantize_double_rounding
from .offset import offset, rows_of


@jit
def add(a, b, p, shape, a_strides, b_strides, y):
    """Add with broadcasting.

    a, b        int8, flat
    p           Add
    shape       int64 (R,), walk over y, merged: no dimension of length 1 unless it is the only one
    a_strides   int64 (R,), in elements; the last is 0 or 1, and 1 for at least one operand
    b_strides   int64 (R,)
    y           int8 (prod(shape),), written
    """
    n = np.uintp(shape[-1])
    for row in range(rows_of(shape)):
        start = np.uintp(row) * n
        a0, b0 = np.uintp(offset(row, shape, a_strides)), np.uintp(offset(row, shape, b_strides))
        if a_strides[-1] == b_strides[-1]:
            for i in range(n):
                y[start + i] = sum_code(a[a0 + i], b[b0 + i], p)
        elif a_strides[-1] == 1:
            for i in range(n):
                y[start + i] = sum_code(a[a0 + i], b[b0], p)
        else:
            for i in range(n):
                y[start + i] = sum_code(a[a0], b[b0 + i], p)


@jit
def mul(a, b, p, shape, a_strides, b_strides, y):
    """Multiply with broadcasting; p is a Mul, the other arguments are those of `add`."""
    n = np.uintp(shape[-1])
    for row in range(rows_of(shape)):
        start = np.uintp(row) * n
        a0, b0 = np.uintp(offset(row, shape, a_strides)), np.uintp(offset(row, shape, b_strides))
        if a_strides[-1] == b_strides[-1]:
            for i in range(n):
                y[start + i] = product_code(a[a0 + i], b[b0 + i], p)
        elif a_strides[-1] == 1:
            for i in range(n):
                y[start + i] = product_code(a[a0 + i], b[b0], p)
        else:
            for i in range(n):
                y[start + i] = product_code(a[a0], b[b0 + i], p)


@jit
def rescale(x, p, y):
    """Codes of one quantisation -> codes of another, clamped.

    x   int8, uint8, int16 or int32, flat
    p   Rescale
    y   int8, uint8, int16 or int32, as long as x, written
    """
    for i in range(np.uintp(y.size)):
        acc = np.int64(x[i]) - p.x_zero_point
        y[i] = int8_code(acc, p.multiplier, p.shift, p.y_zero_point, p.act_min, p.act_max)


@jit
def sum_code(a, b, p):
    """One element of add."""
    wide_a = (np.int64(a) - p.a_zero_point) << p.left_shift
    wide_b = (np.int64(b) - p.b_zero_point) << p.left_shift
    total = requantize_double_rounding(wide_a, p.a_multiplier, p.a_shift)
    total += requantize_double_rounding(wide_b, p.b_multiplier, p.b_shift)
    return int8_code(total, p.y_multiplier, p.y_shift, p.y_zero_point, p.act_min, p.act_max)


@jit
def product_code(a, b, p):
    """One element of mul."""
    acc = (np.int64(a) - p.a_zero_point) * (np.int64(b) - p.b_zero_point)
    return int8_code(acc, p.multiplier, p.shift, p.y_zero_point, p.act_min, p.act_max)
