"""The tail of the operators: accumulators to codes.

    y[row, i] = clamp(requantize_<rule>(acc[row, i], multiplier[i]) + zero_point, act_min, act_max)

The rule is chosen once for many accumulators; each has a function of its own, and two loops: over
neighbouring channels, and over accumulators that share one multiplier.
"""

import numpy as np

from ..jit import jit, jit_inline
from .arith import (
    clamp,
    requantize_double_rounding,
    requantize_double_rounding_down,
    requantize_double_rounding_up,
    requantize_single_rounding,
)
from .float_arith import requantize_float32_even, requantize_float64_away
from .structs import (
    DOUBLE_ROUNDING,
    DOUBLE_ROUNDING_UP,
    FLOAT32_EVEN,
    FLOAT64_AWAY,
    SINGLE_ROUNDING,
)


@jit
def requantize_rows(acc, rows, n, r, y, start):
    """Requantise rows of accumulators, in each of which the i-th has the i-th multiplier.

    acc    int32 or int64, flat, the first rows*n are read
    r      Requantization, of n multipliers or more
    y      int8, uint8, int16 or int32, flat; y[start : start + rows*n] is written
    """
    whole = n - n % r.rounding.block
    for part in range(2):
        rule = r.rounding.rule if part == 0 else r.rounding.rest
        first, last = (0, whole) if part == 0 else (whole, n)
        for row in range(rows if first < last else 0):
            base = row * n
            if rule == DOUBLE_ROUNDING:
                row_double_rounding(acc, base, first, last, r, y, start)
            elif rule == FLOAT32_EVEN:
                row_float32_even(acc, base, first, last, r, y, start)
            elif rule == DOUBLE_ROUNDING_UP:
                row_double_rounding_up(acc, base, first, last, r, y, start)
            elif rule == SINGLE_ROUNDING:
                row_single_rounding(acc, base, first, last, r, y, start)
            elif rule == FLOAT64_AWAY:
                row_float64_away(acc, base, first, last, r, y, start)
            else:
                row_double_rounding_down(acc, base, first, last, r, y, start)


@jit_inline
def row_double_rounding(acc, base, first, last, r, y, start):
    """Elements first..last of the row that begins at `base`, by double_rounding."""
    source, target = np.uintp(base), np.uintp(start + base)
    for i in range(np.uintp(first), np.uintp(last)):
        scaled = requantize_double_rounding(acc[source + i], r.multiplier[i], r.shift[i])
        y[target + i] = code(scaled, r)


@jit_inline
def row_double_rounding_up(acc, base, first, last, r, y, start):
    """Elements first..last of the row that begins at `base`, by double_rounding_up."""
    source, target = np.uintp(base), np.uintp(start + base)
    for i in range(np.uintp(first), np.uintp(last)):
        scaled = requantize_double_rounding_up(acc[source + i], r.multiplier[i], r.shift[i])
        y[target + i] = code(scaled, r)


@jit_inline
def row_single_rounding(acc, base, first, last, r, y, start):
    """Elements first..last of the row that begins at `base`, by single_rounding."""
    source, target = np.uintp(base), np.uintp(start + base)
    for i in range(np.uintp(first), np.uintp(last)):
        scaled = requantize_single_rounding(acc[source + i], r.multiplier[i], r.shift[i])
        y[target + i] = code(scaled, r)


@jit_inline
def row_float32_even(acc, base, first, last, r, y, start):
    """Elements first..last of the row that begins at `base`, by float32_even."""
    source, target = np.uintp(base), np.uintp(start + base)
    for i in range(np.uintp(first), np.uintp(last)):
        y[target + i] = code(requantize_float32_even(acc[source + i], r.scale[i]), r)


@jit_inline
def row_float64_away(acc, base, first, last, r, y, start):
    """Elements first..last of the row that begins at `base`, by float64_away."""
    source, target = np.uintp(base), np.uintp(start + base)
    for i in range(np.uintp(first), np.uintp(last)):
        y[target + i] = code(requantize_float64_away(acc[source + i], r.scale[i]), r)


@jit_inline
def row_double_rounding_down(acc, base, first, last, r, y, start):
    """Elements first..last of the row that begins at `base`, by double_rounding_down."""
    source, target = np.uintp(base), np.uintp(start + base)
    for i in range(np.uintp(first), np.uintp(last)):
        scaled = requantize_double_rounding_down(acc[source + i], r.multiplier[i], r.shift[i])
        y[target + i] = code(scaled, r)


@jit
def requantize_tensor(acc, n, r, y, start):
    """Requantise accumulators that share the one multiplier of r.

    acc   int32, flat, the first n are read
    y     int8, uint8, int16 or int32, flat; y[start : start + n] is written
    """
    whole = n - n % r.rounding.block
    for part in range(2):
        rule = r.rounding.rule if part == 0 else r.rounding.rest
        first, last = (0, whole) if part == 0 else (whole, n)
        if first == last:
            continue
        if rule == DOUBLE_ROUNDING:
            tensor_double_rounding(acc, first, last, r, y, start)
        elif rule == FLOAT32_EVEN:
            tensor_float32_even(acc, first, last, r, y, start)
        elif rule == DOUBLE_ROUNDING_UP:
            tensor_double_rounding_up(acc, first, last, r, y, start)
        elif rule == SINGLE_ROUNDING:
            tensor_single_rounding(acc, first, last, r, y, start)
        elif rule == FLOAT64_AWAY:
            tensor_float64_away(acc, first, last, r, y, start)
        else:
            tensor_double_rounding_down(acc, first, last, r, y, start)


@jit_inline
def tensor_double_rounding(acc, first, last, r, y, start):
    """Elements first..last by double_rounding."""
    multiplier, shift, target = r.multiplier[0], r.shift[0], np.uintp(start)
    for i in range(np.uintp(first), np.uintp(last)):
        y[target + i] = code(requantize_double_rounding(acc[i], multiplier, shift), r)


@jit_inline
def tensor_double_rounding_up(acc, first, last, r, y, start):
    """Elements first..last by double_rounding_up."""
    multiplier, shift, target = r.multiplier[0], r.shift[0], np.uintp(start)
    for i in range(np.uintp(first), np.uintp(last)):
        y[target + i] = code(requantize_double_rounding_up(acc[i], multiplier, shift), r)


@jit_inline
def tensor_single_rounding(acc, first, last, r, y, start):
    """Elements first..last by single_rounding."""
    multiplier, shift, target = r.multiplier[0], r.shift[0], np.uintp(start)
    for i in range(np.uintp(first), np.uintp(last)):
        y[target + i] = code(requantize_single_rounding(acc[i], multiplier, shift), r)


@jit_inline
def tensor_float32_even(acc, first, last, r, y, start):
    """Elements first..last by float32_even."""
    scale, target = r.scale[0], np.uintp(start)
    for i in range(np.uintp(first), np.uintp(last)):
        y[target + i] = code(requantize_float32_even(acc[i], scale), r)


@jit_inline
def tensor_float64_away(acc, first, last, r, y, start):
    """Elements first..last by float64_away."""
    scale, target = r.scale[0], np.uintp(start)
    for i in range(np.uintp(first), np.uintp(last)):
        y[target + i] = code(requantize_float64_away(acc[i], scale), r)


@jit_inline
def tensor_double_rounding_down(acc, first, last, r, y, start):
    """Elements first..last by double_rounding_down."""
    multiplier, shift, target = r.multiplier[0], r.shift[0], np.uintp(start)
    for i in range(np.uintp(first), np.uintp(last)):
        y[target + i] = code(requantize_double_rounding_down(acc[i], multiplier, shift), r)


@jit_inline
def code(scaled, r):
    """The last steps of every operator: zero point, clamp."""
    return clamp(scaled + r.zero_point, np.int64(r.act_min), np.int64(r.act_max))
