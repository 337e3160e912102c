"""Right shifts that round to nearest, with each rule for ties, as Neural-ART's units may be set.

    v / 2^n:  floor, plus one where the remainder is above the threshold

Each threshold is half of 2^n, or one less where a tie goes up; n = 0 leaves v as it is.
"""

import numpy as np

from ..jit import jit
from .structs import AWAY, EVEN, UP


@jit
def shift_away(value, n):
    """Ties away from zero."""
    mask = (np.int64(1) << n) - 1
    threshold = (mask >> 1) + np.int64(value < 0)
    return (value >> n) + np.int64((value & mask) > threshold)


@jit
def shift_even(value, n):
    """Ties to the even number."""
    mask = (np.int64(1) << n) - 1
    floor = value >> n
    threshold = (mask >> 1) + np.int64(floor & 1 == 0)
    return floor + np.int64((value & mask) > threshold)


@jit
def shift_up(value, n):
    """Ties toward +inf."""
    mask = (np.int64(1) << n) - 1
    return (value >> n) + np.int64((value & mask) > mask >> 1)


@jit
def rounded_shift(value, n, ties):
    """value / 2^n by one of structs.TIES; int64, n in 0..62."""
    if ties == AWAY:
        return shift_away(value, n)
    if ties == EVEN:
        return shift_even(value, n)
    if ties == UP:
        return shift_up(value, n)
    return value >> n
