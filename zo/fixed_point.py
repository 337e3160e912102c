"""Integers that stand for real numbers: one rounding, one saturation, one kind of ratio.

    rs(x, t) = (x + 2^(t-1)) >> t,   ties toward +inf

Every rounding of a training step is `rs`. A real constant (a learning rate, a gradient scale)
enters a step as `Ratio`: a 16-bit multiplier and a right shift.
"""

from collections.abc import Iterable
from fractions import Fraction
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

INT32_MIN = -(2**31)
INT32_MAX = 2**31 - 1
RATIO_BITS = 16

Integer = TypeVar("Integer", int, NDArray[np.int64])


class Ratio(NamedTuple):
    """`multiplier * 2^-right_shift`, one per channel.

    multiplier    int64 (C,), 0 <= multiplier <= 2^16
    right_shift   int64 (C,); a negative one shifts left, one of 63 or more makes every product 0
    """

    multiplier: NDArray[np.int64]
    right_shift: NDArray[np.int64]


def rs(x: Integer, t: int) -> Integer:
    """x / 2^t rounded to the nearest integer, ties toward +inf.

    x   int, or int64 array with |x| < 2^62; the caller has proved that a left shift stays in int64
    t   right shift; negative shifts left, 63 or more gives 0
    """
    if t >= 63:
        return x * 0
    if t <= 0:
        return x << -t
    return (x + (1 << (t - 1))) >> t


def rs_channels(x: NDArray[np.int64], t: NDArray[np.int64]) -> NDArray[np.int64]:
    """`rs` with a shift per channel: x int64 (outer, C, inner), t int64 (C,); a new array."""
    right = np.clip(t, 0, 62)[:, None]
    left = np.maximum(-t, 0)[:, None]
    half = np.where(right > 0, np.int64(1) << np.maximum(right - 1, 0), 0)
    return np.where((t >= 63)[:, None], 0, ((x << left) + half) >> right)


def sat32(x: NDArray[np.int64]) -> NDArray[np.int32]:
    """x clamped to int32."""
    return np.clip(x, INT32_MIN, INT32_MAX).astype(np.int32)


def floor_log2(v: NDArray[np.int64]) -> NDArray[np.int64]:
    """The position of the highest set bit, v > 0."""
    rest = v.copy()
    exponent = np.zeros_like(v)
    for step in (32, 16, 8, 4, 2, 1):
        high = rest >= (np.int64(1) << step)
        exponent += np.where(high, step, 0)
        rest = np.where(high, rest >> step, rest)
    return exponent


def round_half_up(x: Fraction) -> int:
    """x rounded to the nearest integer, ties toward +inf, exactly."""
    return (2 * x.numerator + x.denominator) // (2 * x.denominator)


def ratio(x: Fraction) -> tuple[int, int]:
    """The pair (m, s) with m * 2^-s nearest to x and 2^15 <= m < 2^16.

    If m rounds to 2^16 it is halved and s lowered by 1.
    raises   ValueError unless x > 0
    """
    if x <= 0:
        raise ValueError(f"ratio: must be above 0, got {x}")
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    if x < Fraction(2) ** exponent:
        exponent -= 1
    shift = RATIO_BITS - 1 - exponent
    multiplier = round_half_up(x * Fraction(2) ** shift)
    if multiplier == 1 << RATIO_BITS:
        return multiplier >> 1, shift - 1
    return multiplier, shift


def ratios(values: Iterable[Fraction]) -> Ratio:
    """`ratio` of each value, one per channel."""
    table = np.array([ratio(x) for x in values], np.int64).reshape(-1, 2)
    return Ratio(table[:, 0].copy(), table[:, 1].copy())
