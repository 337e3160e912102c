"""Elementwise operators on codes: add and mul with broadcasting, and rescale.

    add      y = R(R_a((a - zp_a) << 20) + R_b((b - zp_b) << 20))       R: requantise, see there
    mul      y = R((a - zp_a) * (b - zp_b))
    rescale  y = R(x - zp_x)                                 (quantize of codes, relu, relu6)

The operands of add and mul are walked together, row by row, in pieces that the scratch holds;
along a row each moves by 0 or 1.
Sources: TFLite reference_integer_ops::Add and Mul, reference_ops::Requantize.
"""

import numpy as np

from ..jit import jit, jit_inline
from .offset import offset, rows_of
from .requantize import requantize_tensor


@jit
def add(a, b, p, r, walk, y, scratch):
    """Add with broadcasting.

    a, b      int8, flat
    p         Add
    r         Requantization of the sum
    walk      Pairs
    y         int8, as long as the walk, written
    scratch   int32 (3*n,), n the length of a piece
    """
    n, piece = walk.shape[-1], len(scratch) // 3
    wide, left, right = scratch[:piece], scratch[piece : 2 * piece], scratch[2 * piece :]
    for row in range(rows_of(walk.shape)):
        a0 = offset(row, walk.shape, walk.a_strides)
        b0 = offset(row, walk.shape, walk.b_strides)
        for start in range(0, n, piece):
            m = min(piece, n - start)
            differences(a, a0 + start * walk.a_strides[-1], walk.a_strides[-1], m,
                        p.a_zero_point, wide)  # fmt: skip
            shift_left(wide, m, p.left_shift)
            requantize_tensor(wide, m, p.a, left, 0)
            differences(b, b0 + start * walk.b_strides[-1], walk.b_strides[-1], m,
                        p.b_zero_point, wide)  # fmt: skip
            shift_left(wide, m, p.left_shift)
            requantize_tensor(wide, m, p.b, right, 0)
            for i in range(np.uintp(m)):
                left[i] = np.int32(left[i] + right[i])
            requantize_tensor(left, m, r, y, row * n + start)


@jit
def mul(a, b, p, r, walk, y, scratch):
    """Multiply with broadcasting.

    a, b, r, walk, y   as in `add`
    p                  Mul
    scratch            int32 (2*n,), n the length of a piece
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
            for i in range(np.uintp(m)):
                left[i] = np.int32(left[i] * right[i])
            requantize_tensor(left, m, r, y, row * n + start)


@jit
def rescale(x, p, r, y, scratch):
    """Codes of one quantisation -> codes of another, clamped.

    x         int8, uint8, int16 or int32, flat
    p         Rescale
    r         Requantization
    y         int8, uint8, int16 or int32, as long as x, written
    scratch   int32 (n,), n the length of a piece; differences to the zero point wrap
    """
    for start in range(0, len(x), len(scratch)):
        m = min(len(scratch), len(x) - start)
        differences(x, start, 1, m, p.x_zero_point, scratch)
        requantize_tensor(scratch, m, r, y, start)


@jit_inline
def differences(x, start, stride, n, zero_point, out):
    """out[i] = x[start + i * stride] - zero_point for i < n, stride 0 or 1, modulo 2^32."""
    first, zero = np.uintp(start), np.int32(zero_point)
    if stride == 0:
        value = np.int32(np.int32(x[first]) - zero)
        for i in range(np.uintp(n)):
            out[i] = value
        return
    for i in range(np.uintp(n)):
        out[i] = np.int32(np.int32(x[first + i]) - zero)


@jit_inline
def shift_left(values, n, exponent):
    """values[:n] *= 2^exponent, in place, int32."""
    for i in range(np.uintp(n)):
        values[i] = np.int32(values[i] << exponent)
