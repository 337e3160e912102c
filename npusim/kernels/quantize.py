"""Between real numbers and codes: real = scale * (code - zero_point).

Sources: TFLite AffineQuantize and reference_ops::Dequantize.
"""

import numpy as np

from ..jit import jit


@jit
def quantize(x, scale, zero_point, y):
    """y = round(x / scale) + zero_point, saturated; ties away from zero.

    x       float32, flat; NaN gives the lowest code
    scale   float32 > 0; the quotient is one float32 division
    y       int8, uint8 or int16, as long as x, written
    """
    limits = np.iinfo(y.dtype)
    low, high = np.float32(limits.min - zero_point), np.float32(limits.max - zero_point)
    half = np.float32(0.5)
    for i in range(np.uintp(y.size)):
        quotient = x[i] / scale
        # |low| and |high| are below 2^17: what follows is exact in float32
        inside = min(quotient, high) if quotient > low else low
        whole = np.int32(inside)
        rest = inside - np.float32(whole)
        rounded = whole + np.int32(rest >= half) - np.int32(rest <= -half)
        y[i] = rounded + zero_point


@jit
def dequantize(x, scale, zero_point, y):
    """y = scale * (x - zero_point), one product in float64, rounded once.

    x       int8, uint8 or int16, flat
    scale   float32 > 0
    y       float32, as long as x, written
    """
    wide = np.float64(scale)
    for i in range(np.uintp(y.size)):
        y[i] = np.float32(wide * np.float64(np.int64(x[i]) - zero_point))
