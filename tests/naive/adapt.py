"""Slow twin of zo's channel statistics and their matching, in Python integers of any width."""

from __future__ import annotations

import math
from collections.abc import Sequence

ONE = 1 << 16
Moments = tuple[int, int]
Scales = tuple[int, int, int]


def nearest(numerator: int, denominator: int) -> int:
    """numerator / denominator to the nearest integer, ties toward +inf."""
    return (2 * numerator + denominator) // (2 * denominator)


def moments(differences: Sequence[int]) -> Moments:
    """Mean and deviation, times 2^16, of one channel's codes less the zero point."""
    n = len(differences)
    total = sum(differences)
    return nearest(total * ONE, n), deviation(n, total, sum(d * d for d in differences))


def deviation(n: int, total: int, squares: int) -> int:
    """The deviation, times 2^16, from the sums; the root is taken with 31 significant bits."""
    spread = n * squares - total**2
    if spread == 0:
        return 0
    doublings = (62 - spread.bit_length()) // 2
    return nearest(math.isqrt(spread * 4**doublings) * ONE, n * 2**doublings)


def match(scales: Scales, source: Moments, target: Moments) -> Scales:
    """(bias, multiplier, shift) of one channel, changed so that target becomes source."""
    bias, multiplier, shift = scales
    if source[1] < ONE // 2 or target[1] < ONE // 2 or multiplier == 0:
        return scales
    ratio = min(max(nearest(source[1] * ONE, target[1]), ONE // 4), 4 * ONE)
    wanted = nearest(source[0] * ONE, ratio) - target[0]
    power = 15 - shift
    change = nearest(wanted * 2 ** max(power, 0), multiplier * 2 ** max(-power, 0))
    new_multiplier, exponent = normalised(multiplier * ratio)
    new_shift = shift + exponent - 16
    if max(abs(change), abs(bias + change)) >= 2**30 or not -31 <= new_shift <= 31:
        return scales
    return bias + change, new_multiplier, new_shift


def normalised(value: int) -> tuple[int, int]:
    """(m, e), m in [2^30, 2^31), value ~ m * 2^e to nearest."""
    exponent = value.bit_length() - 31
    mantissa = nearest(value * 2 ** max(-exponent, 0), 2 ** max(exponent, 0))
    return (mantissa, exponent) if mantissa < 2**31 else (mantissa // 2, exponent + 1)
