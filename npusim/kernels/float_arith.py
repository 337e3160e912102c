"""Requantisation in floating point; each rounding stands here once.

Both rules round once. A result beyond int32 saturates: what C makes of it is not defined.
Sources: XNNPACK qs8 requantisation in fp32; TFLite reference_integer_ops::FullyConnected.
"""

import numpy as np

from ..jit import jit

INT32_END = np.float32(2**31)


@jit
def requantize_float32_even(acc, scale):
    """round(float32(acc) * float32(scale)), ties to even; the product is rounded to float32."""
    product = np.float32(acc) * np.float32(scale)
    return np.int64(np.rint(min(max(product, -INT32_END), INT32_END)))


@jit
def requantize_float64_away(acc, scale):
    """round(double(acc) * scale), ties away from zero; the product is rounded to double."""
    product = np.float64(acc) * scale
    inside = min(max(product, -np.float64(INT32_END)), np.float64(INT32_END))
    whole = np.int64(inside)
    rest = inside - np.float64(whole)
    return whole + np.int64(rest >= 0.5) - np.int64(rest <= -0.5)
