"""Softmax in fixed point: y = 256 * exp(x - max) / sum exp(x - max) - 128.

exp: a = -(n / 4) + r with r in [-1/4, 0); exp(r) is a Taylor polynomial about -1/8, and one factor
exp(-2^e) is multiplied in for every bit of n / 4. The reciprocal is three Newton steps for
1 / (1 + a), a in [0, 1), from 48/17 - 32/17 * (1 + a) / 2.
Qm.n means an int32 with n fraction bits. Sources: gemmlowp fixedpoint.h, TFLite softmax.h.
"""

from math import exp
from typing import NamedTuple

import numpy as np

from ..kernels.structs import Softmax
from .arithmetic import divide_by_pot, high_mul, requantize_double_rounding

ONE = (1 << 31) - 1  # the largest Q0.31
QUARTER = 1 << 24  # 1/4 in Q5.26
EXP_MINUS_EIGHTH = round(exp(-1 / 8) * 2**31)
THIRD = round(2**31 / 3)
EXP_MINUS_POWER = tuple(round(exp(-(2.0**e)) * 2**31) for e in range(-2, 5))
LOWEST_POWER_BIT = 24  # 2^-2 in Q5.26
NEWTON_START = round(48 / 17 * 2**29)
NEWTON_SLOPE = round(-32 / 17 * 2**29)
SUM_INTEGER_BITS = 12  # the sum of exponentials is Q12.19


def softmax(x: np.ndarray, p: Softmax) -> np.ndarray:
    """Softmax over the last dimension.

    x         int8 (..., D)
    returns   int8 (..., D), scale 1/256 and zero point -128; a difference to the row's largest
              code below `diff_min` gives -128
    """
    e = exponentials(x, p)
    code = shares(e.exponential).code
    return np.where(e.counts, code, -128).astype(np.int8)


class Exponentials(NamedTuple):
    """Of every code of a row.

    difference    to the row's largest code
    counts        bool, whether it is diff_min or more
    scaled        beta * s_x * difference in Q5.26
    exponential   exp(scaled) in Q0.31; 0 where it does not count
    """

    difference: np.ndarray
    counts: np.ndarray
    scaled: np.ndarray
    exponential: np.ndarray


class Shares(NamedTuple):
    """Of every code of a row, in its sum of exponentials.

    total        the sum in Q12.19, (..., 1), as the three below it
    headroom     bits by which the sum can be shifted left in 32
    reciprocal   of the sum so shifted, in Q0.31
    exponent     bits to divide by that leave codes
    high         reciprocal * exponential
    code         int64, before -128 stands where nothing counts
    """

    total: np.ndarray
    headroom: np.ndarray
    reciprocal: np.ndarray
    exponent: np.ndarray
    high: np.ndarray
    code: np.ndarray


def exponentials(x: np.ndarray, p: Softmax) -> Exponentials:
    """From codes int8 (..., D) to exponentials."""
    wide = x.astype(np.int64)
    difference = wide - wide.max(-1, keepdims=True)
    counts = difference >= p.diff_min
    scaled = requantize_double_rounding(difference, p.multiplier, p.shift)
    exponential = np.where(counts, exp_of_negative(np.where(counts, scaled, 0)), 0)
    return Exponentials(difference, counts, scaled, exponential)


def shares(exponential: np.ndarray) -> Shares:
    """From exponentials (..., D) to codes."""
    total = divide_by_pot(exponential, SUM_INTEGER_BITS).sum(-1, keepdims=True) & 0xFFFFFFFF
    headroom = 32 - _bit_length(total)
    reciprocal = reciprocal_of_one_plus((total << headroom) - (1 << 31))
    exponent = SUM_INTEGER_BITS - headroom + 31 - 8
    high = high_mul(reciprocal, exponential)
    code = np.minimum(divide_by_pot(high, exponent) - 128, 127)
    return Shares(total, headroom, reciprocal, exponent, high, code)


def exp_of_negative(a: np.ndarray) -> np.ndarray:
    """exp(a) in Q0.31 for a <= 0 in Q5.26."""
    rest = (a & (QUARTER - 1)) - QUARTER
    result = _exp_of_quarter(rest << 5)
    bits = rest - a
    for exponent, factor in enumerate(EXP_MINUS_POWER, LOWEST_POWER_BIT):
        result = np.where(bits & (1 << exponent), high_mul(result, factor), result)
    return np.where(a == 0, ONE, result)


def _exp_of_quarter(a: np.ndarray) -> np.ndarray:
    """exp(a) in Q0.31 for a in [-1/4, 0) in Q0.31, by the Taylor polynomial about -1/8."""
    x = a + (1 << 28)
    x2 = high_mul(x, x)
    x3 = high_mul(x2, x)
    x4_over_4 = divide_by_pot(high_mul(x2, x2), 2)
    tail = divide_by_pot(high_mul(x4_over_4 + x3, THIRD) + x2, 1)
    return EXP_MINUS_EIGHTH + high_mul(EXP_MINUS_EIGHTH, x + tail)


def reciprocal_of_one_plus(a: np.ndarray) -> np.ndarray:
    """1 / (1 + a) in Q0.31 for a in [0, 1) in Q0.31."""
    half_denominator = (a + (1 << 31)) >> 1
    x = NEWTON_START + high_mul(half_denominator, NEWTON_SLOPE)
    for _ in range(3):
        error = (1 << 29) - high_mul(half_denominator, x)
        x = x + _saturating_shift(high_mul(x, error), 2)
    return _saturating_shift(x, 1)


def _saturating_shift(values: np.ndarray, exponent: int) -> np.ndarray:
    """values * 2^exponent clamped to int32."""
    return np.clip(values << exponent, -(1 << 31), ONE)


def _bit_length(values: np.ndarray) -> np.ndarray:
    """Bits of values in 0..2^32-1; their float64 form is exact."""
    return np.frexp(values.astype(np.float64))[1].astype(np.int64)
