"""Softmax of int8 codes in fixed point, in Python integers.

    y_i = exp(x_i - max) / sum_j exp(x_j - max)

exp works on Q5.26 numbers, the sum in Q12.19, the reciprocal is three Newton steps in Q2.29.
Source: gemmlowp fixedpoint/fixedpoint.h (exp_on_negative_values, one_over_one_plus_x), TFLite
reference/softmax.h. Constants are computed here, not taken from there.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .rounding import INT32_MAX, INT32_MIN, clamp, divide_away, high_multiply, quantize_multiplier

DIFFERENCE_INTEGER_BITS = 5
DIFFERENCE_FRACTION_BITS = 31 - DIFFERENCE_INTEGER_BITS
SUM_INTEGER_BITS = 12
NEWTON_STEPS = 3
ONE = INT32_MAX  # 1 in Q0.31, as near as it gets
ONE_Q2 = 1 << 29


def softmax(x: Any, scale: float, beta: float) -> np.ndarray:
    """Rows of int8 codes of one scale to int8 codes of scale 1/256 and zero point -128."""
    real = min(beta * scale * 2**DIFFERENCE_FRACTION_BITS, 2**31 - 1)
    multiplier, shift = quantize_multiplier(real)
    largest = (2**DIFFERENCE_INTEGER_BITS - 1) * 2**DIFFERENCE_FRACTION_BITS // 2**shift
    rows = np.reshape(x, (-1, np.shape(x)[-1])).tolist()
    y = [_row(row, multiplier, shift, -largest) for row in rows]
    return np.array(y, np.int64).reshape(np.shape(x))


def exp_of_negative(a: int) -> int:
    """exp of a Q5.26 number <= 0, in Q0.31.

    a = -(multiple of 1/4) + r with r in [-1/4, 0): a polynomial for exp(r), then one product for
    each bit of the multiple.
    """
    if a == 0:
        return ONE
    quarter = 1 << (DIFFERENCE_FRACTION_BITS - 2)
    rest = a % quarter - quarter
    result = _exp_of_quarter(rest << DIFFERENCE_INTEGER_BITS)
    multiple = (rest - a) // quarter
    for bit in range(DIFFERENCE_INTEGER_BITS + 2):
        if multiple >> bit & 1:
            result = high_multiply(result, _q31(math.exp(-(2.0 ** (bit - 2)))))
    return result


def reciprocal_of_one_plus(a: int) -> int:
    """1 / (1 + a) for a in [0, 1), both in Q0.31: Newton's iteration from 48/17 - 32/17 d."""
    half_denominator = divide_away(a + ONE, 2)
    x = round(48 / 17 * ONE_Q2) + high_multiply(half_denominator, -round(32 / 17 * ONE_Q2))
    for _ in range(NEWTON_STEPS):
        error = ONE_Q2 - high_multiply(half_denominator, x)
        x += _saturate(high_multiply(x, error) << 2)
    return _saturate(x << 1)


def _row(row: list[int], multiplier: int, shift: int, smallest: int) -> list[int]:
    differences = [code - max(row) for code in row]
    exps = [
        exp_of_negative(high_multiply(d << shift, multiplier)) if d >= smallest else None
        for d in differences
    ]
    total = sum(divide_away(e, 2**SUM_INTEGER_BITS) for e in exps if e is not None)
    headroom = 32 - total.bit_length()
    scale = reciprocal_of_one_plus((total << headroom) - 2**31)
    right = SUM_INTEGER_BITS - headroom + 31 - 8
    return [
        -128
        if e is None
        else clamp(divide_away(high_multiply(scale, e), 2**right) - 128, -128, 127)
        for e in exps
    ]


def _exp_of_quarter(a: int) -> int:
    """exp(a) for a in [-1/4, 0) in Q0.31: a Taylor polynomial of degree 4 around -1/8."""
    x = a + 2**28
    x2 = high_multiply(x, x)
    x3 = high_multiply(x2, x)
    x4 = high_multiply(x2, x2)
    high_terms = high_multiply(divide_away(x4, 4) + x3, _q31(1 / 3)) + x2
    series = x + divide_away(high_terms, 2)
    at_centre = _q31(math.exp(-1 / 8))
    return at_centre + high_multiply(at_centre, series)


def _q31(value: float) -> int:
    return round(value * 2**31)


def _saturate(value: int) -> int:
    return clamp(value, INT32_MIN, INT32_MAX)
