"""Rounding shift and saturation of one int64; see `zo.fixed_point`."""

import numpy as np

from npusim.jit import jit

INT32_MIN = np.int64(-(2**31))
INT32_MAX = np.int64(2**31 - 1)


@jit
def rounding_shift(t):
    """(left, half, right) such that rs(x, t) = ((x << left) + half) >> right for t below 63."""
    if t <= 0:
        return -t, np.int64(0), np.int64(0)
    return np.int64(0), np.int64(1) << (t - 1), t


@jit
def rs(x, t):
    """x / 2^t rounded to the nearest integer, ties toward +inf; 0 from t = 63 on."""
    if t >= 63:
        return np.int64(0)
    left, half, right = rounding_shift(t)
    return ((np.int64(x) << left) + half) >> right


@jit
def sat32(x):
    """x clamped to int32."""
    return min(max(x, INT32_MIN), INT32_MAX)


@jit
def floor_log2(v):
    """The position of the highest set bit, v > 0."""
    exponent = np.int64(0)
    step = np.int64(32)
    while step > 0:
        if v >= (np.int64(1) << step):
            v >>= step
            exponent += step
        step >>= 1
    return exponent
