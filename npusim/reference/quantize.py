"""Between real numbers and codes: real = scale * (code - zero_point)."""

import numpy as np


def quantize(
    x: np.ndarray, scale: float, zero_point: int, dtype: np.typing.DTypeLike
) -> np.ndarray:
    """round(x / scale) + zero_point, saturated.

    x         float32, any shape; the quotient is one float32 division, ties go away from zero
    returns   dtype (int8, uint8 or int16), the same shape; infinities saturate, NaN gives the
              lowest code
    source    TFLite AffineQuantize
    """
    limits = np.iinfo(dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        quotient = np.asarray(x, np.float32) / np.float32(scale)
    low, high = limits.min - zero_point, limits.max - zero_point
    inside = np.where(quotient > low, np.minimum(quotient, high), np.float32(low))
    whole = np.trunc(inside)
    away = np.abs(inside - whole) >= 0.5
    rounded = whole.astype(np.int64) + np.where(away, np.sign(inside).astype(np.int64), 0)
    return (rounded + zero_point).astype(dtype)


def dequantize(x: np.ndarray, scale: float, zero_point: int) -> np.ndarray:
    """scale * (x - zero_point), the product in float64, rounded once to float32.

    x         int8, uint8 or int16, any shape
    source    TFLite reference_ops::Dequantize
    """
    with np.errstate(over="ignore"):
        return (float(scale) * (x.astype(np.int64) - zero_point)).astype(np.float32)
