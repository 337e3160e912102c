"""Integer arithmetic every kernel is made of; each rounding stands here once.

Every rounding is an addition and an arithmetic shift, so that Python, numba and C agree
(C's division truncates, Python's floors).
Sources: gemmlowp fixedpoint.h (SaturatingRoundingDoublingHighMul, RoundingDivideByPOT), TFLite
Micro MultiplyByQuantizedMultiplier.
"""

import numpy as np

from ..jit import jit


@jit
def clamp(value, low, high):
    """min(max(value, low), high) in int64."""
    return min(max(value, low), high)


@jit
def wrap32(value):
    """The low 32 bits of an int64 read as two's complement."""
    return np.int64(np.int32(value & 0xFFFFFFFF))


@jit
def rounding_high_mul(a, b):
    """round(a*b / 2^31), ties toward +inf, for int32 values; exact for b > 0 (see ARITHMETIC)."""
    return (np.int64(a) * np.int64(b) + (np.int64(1) << 30)) >> 31


@jit
def saturating_high_mul(a, b):
    """As `rounding_high_mul`, and -2^31 * -2^31 gives 2^31 - 1."""
    if a == b and a == -(np.int64(1) << 31):
        return (np.int64(1) << 31) - 1
    return rounding_high_mul(a, b)


@jit
def rounding_divide_by_pot(value, exponent):
    """round(value / 2^exponent), ties away from zero, exponent 0..31."""
    mask = (np.int64(1) << exponent) - 1
    remainder = value & mask
    threshold = (mask >> 1) + np.int64(value < 0)
    return (value >> exponent) + np.int64(remainder > threshold)


@jit
def requantize_double_rounding(acc, multiplier, shift):
    """Scale an int32 accumulator by multiplier * 2^(shift - 31), rounded twice.

    acc          int64 holding an int32; a left shift wraps to 32 bits, as in C on a CPU
    multiplier   int32 > 0, Q0.31
    shift        > 0 left, < 0 right, -31..30
    """
    left = max(shift, 0)
    right = max(-shift, 0)
    high = rounding_high_mul(wrap32(np.int64(acc) << left), multiplier)
    return rounding_divide_by_pot(high, right)


@jit
def int8_code(acc, multiplier, shift, zero_point, act_min, act_max):
    """The tail of every operator: requantise, zero point, clamp."""
    scaled = requantize_double_rounding(acc, multiplier, shift)
    return clamp(scaled + zero_point, np.int64(act_min), np.int64(act_max))
