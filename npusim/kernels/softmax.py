"""Softmax in fixed point, int8 -> int8: y = 256 * exp(x - max) / sum of exp(x - max) - 128.

exp: a = -(n / 4) + r with r in [-1/4, 0); exp(r) is a Taylor polynomial about -1/8, and one factor
exp(-2^e) is multiplied in for every bit of n / 4. The reciprocal is three Newton steps for
1 / (1 + a), a in [0, 1), from 48/17 - 32/17 * (1 + a) / 2.
Qm.n means an int32 with n fraction bits. Sources: gemmlowp fixedpoint.h, TFLite softmax.h.
"""

import numpy as np

from ..jit import jit
from .arith import (
    clamp,
    requantize_double_rounding,
    rounding_divide_by_pot,
    rounding_high_mul,
)

ONE = (1 << 31) - 1  # the largest Q0.31
QUARTER = 1 << 24  # 1/4 in Q5.26
EXP_MINUS_EIGHTH = 1895147668  # round(exp(-1/8) * 2^31)
THIRD = 715827883  # round(2^31 / 3)
EXP_MINUS_POWER = (  # round(exp(-2^e) * 2^31) for e = -2..4
    1672461947,
    1302514674,
    790015084,
    290630308,
    39332535,
    720401,
    242,
)
LOWEST_POWER_BIT = 24  # 2^-2 in Q5.26
NEWTON_START = 1515870810  # round(48/17 * 2^29)
NEWTON_SLOPE = -1010580540  # round(-32/17 * 2^29)
SUM_INTEGER_BITS = 12  # the sum of exponentials is Q12.19


@jit
def softmax(x, p, y, exponentials):
    """Softmax of each row; a difference to the row's largest code below diff_min counts as zero.

    x              int8 (rows*depth,)
    p              Softmax
    y              int8 (rows*depth,), scale 1/256 and zero point -128, written
    exponentials   int32 (depth,), scratch, Q0.31
    """
    depth = np.uintp(p.depth)
    for row in range(p.rows):
        start = np.uintp(row) * depth
        largest = np.int8(-128)
        for i in range(depth):
            largest = max(largest, x[start + i])
        total = np.int64(0)
        for i in range(depth):
            difference = np.int64(x[start + i]) - np.int64(largest)
            value = np.int64(0)
            if difference >= p.diff_min:
                a = requantize_double_rounding(difference, p.multiplier, p.shift)
                value = exp_of_negative(a)
            exponentials[i] = value
            total += rounding_divide_by_pot(value, SUM_INTEGER_BITS)
        total &= 0xFFFFFFFF
        headroom = leading_zeros32(total)
        reciprocal = reciprocal_of_one_plus((total << headroom) - (np.int64(1) << 31))
        exponent = SUM_INTEGER_BITS - headroom + 31 - 8
        for i in range(depth):
            scaled = rounding_high_mul(reciprocal, exponentials[i])
            y[start + i] = min(rounding_divide_by_pot(scaled, exponent) - 128, 127)


@jit
def exp_of_negative(a):
    """exp(a) in Q0.31 for a <= 0 in Q5.26."""
    if a == 0:
        return np.int64(ONE)
    rest = (a & (QUARTER - 1)) - QUARTER
    result = exp_of_quarter(rest << 5)
    bits = (rest - a) >> LOWEST_POWER_BIT
    for factor in EXP_MINUS_POWER:
        if bits & 1:
            result = rounding_high_mul(result, factor)
        bits >>= 1
    return result


@jit
def exp_of_quarter(a):
    """exp(a) in Q0.31 for a in [-1/4, 0) in Q0.31, by the Taylor polynomial about -1/8."""
    x = a + (1 << 28)
    x2 = rounding_high_mul(x, x)
    x3 = rounding_high_mul(x2, x)
    x4_over_4 = rounding_divide_by_pot(rounding_high_mul(x2, x2), 2)
    tail = rounding_divide_by_pot(rounding_high_mul(x4_over_4 + x3, THIRD) + x2, 1)
    return EXP_MINUS_EIGHTH + rounding_high_mul(EXP_MINUS_EIGHTH, x + tail)


@jit
def reciprocal_of_one_plus(a):
    """1 / (1 + a) in Q0.31 for a in [0, 1) in Q0.31."""
    half_denominator = (a + (np.int64(1) << 31)) >> 1
    x = NEWTON_START + rounding_high_mul(half_denominator, NEWTON_SLOPE)
    for _ in range(3):
        error = (1 << 29) - rounding_high_mul(half_denominator, x)
        x += saturating_shift(rounding_high_mul(x, error), 2)
    return saturating_shift(x, 1)


@jit
def saturating_shift(value, exponent):
    """value * 2^exponent clamped to int32."""
    return clamp(value << exponent, -(np.int64(1) << 31), np.int64(ONE))


@jit
def leading_zeros32(value):
    """Zero bits above the highest one bit of a value in 0..2^32-1."""
    zeros = 32
    while value > 0:
        value >>= 1
        zeros -= 1
    return zeros
