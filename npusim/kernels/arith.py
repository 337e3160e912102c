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
def rounding_divide_up_by_pot(value, exponent):
    """round(value / 2^exponent), ties toward +inf, exponent 0..62."""
    return (value + ((np.int64(1) << exponent) >> 1)) >> exponent


@jit
def requantize_double_rounding(acc, multiplier, shift):
    """Scale an int32 accumulator by multiplier * 2^(shift - 31), rounded twice.

    acc          int64 holding an int32; a left shift wraps to 32 bits, as in C on a CPU
    multiplier   int32 > 0, Q0.31
    shift        > 0 left, < 0 right, -31..31
    """
    left = max(shift, 0)
    right = max(-shift, 0)
    high = rounding_high_mul(wrap32(np.int64(acc) << left), multiplier)
    return rounding_divide_by_pot(high, right)


@jit
def requantize_double_rounding_up(acc, multiplier, shift):
    """As `requantize_double_rounding`, the second rounding's ties toward +inf like the first's."""
    left = max(shift, 0)
    right = max(-shift, 0)
    high = rounding_high_mul(wrap32(np.int64(acc) << left), multiplier)
    return rounding_divide_up_by_pot(high, right)


@jit
def requantize_double_rounding_down(acc, multiplier, shift):
    """As `requantize_double_rounding`, but what the right shift drops is not rounded at all.

    So LiteRT's ADD on x86 scales operands in rows along which one of them stands still.
    """
    left = max(shift, 0)
    right = max(-shift, 0)
    return rounding_high_mul(wrap32(np.int64(acc) << left), multiplier) >> right


@jit
def requantize_single_rounding(acc, multiplier, shift):
    """round(acc * multiplier * 2^(shift - 31)), ties toward +inf.

    acc          int64 of any size; results that do not fit int32 saturate when acc does not
    multiplier   int32 > 0, Q0.31
    shift        > 0 left, < 0 right, -31..31
    """
    total = np.int64(31) - shift
    acc, multiplier = np.int64(acc), np.int64(multiplier)
    if acc == np.int64(np.int32(acc)):
        return rounding_divide_up_by_pot(acc * multiplier, total)
    # acc = high * 2^32 + low: the product has up to 94 bits, of which 2^32 * upper + lower
    product = (acc & 0xFFFFFFFF) * multiplier
    upper = (acc >> 32) * multiplier + (product >> 32)
    if total > 32:
        return rounding_divide_up_by_pot(upper, total - 32)
    if upper >= (np.int64(1) << 31) - 1:
        return (np.int64(1) << 31) - 1
    upper = max(upper, -(np.int64(1) << 31))
    return rounding_divide_up_by_pot((upper << 32) + (product & 0xFFFFFFFF), total)


@jit
def requantize_int16_reduced(acc, multiplier, shift):
    """round(acc * q16 * 2^(shift - 15)), ties toward +inf, q16 the multiplier's upper 16 bits.

    acc          int64 below 2^47 in magnitude
    multiplier   int32 > 0, Q0.31, rounded to Q0.15 and at most 0x7fff
    shift        -31..14
    """
    reduced = min((np.int64(multiplier) + (1 << 15)) >> 16, np.int64(0x7FFF))
    return rounding_divide_up_by_pot(np.int64(acc) * reduced, np.int64(15) - shift)
