"""Elementwise operators: add, mul, and codes to codes (quantize, relu, relu6)."""

import numpy as np

from ..kernels.structs import Add, Mul, Rescale
from .arithmetic import requantize_double_rounding


def add(a: np.ndarray, b: np.ndarray, p: Add) -> np.ndarray:
    """a + b: both brought to a common scale, the sum to the output's.

    a, b      int8, shapes that broadcast
    returns   int8
    """
    wide_a = (a.astype(np.int64) - p.a_zero_point) << p.left_shift
    wide_b = (b.astype(np.int64) - p.b_zero_point) << p.left_shift
    total = requantize_double_rounding(wide_a, p.a_multiplier, p.a_shift)
    total = total + requantize_double_rounding(wide_b, p.b_multiplier, p.b_shift)
    scaled = requantize_double_rounding(total, p.y_multiplier, p.y_shift)
    return np.clip(scaled + p.y_zero_point, p.act_min, p.act_max).astype(np.int8)


def mul(a: np.ndarray, b: np.ndarray, p: Mul) -> np.ndarray:
    """a * b, requantised once.

    a, b      int8, shapes that broadcast
    returns   int8
    """
    product = (a.astype(np.int64) - p.a_zero_point) * (b.astype(np.int64) - p.b_zero_point)
    scaled = requantize_double_rounding(product, p.multiplier, p.shift)
    return np.clip(scaled + p.y_zero_point, p.act_min, p.act_max).astype(np.int8)


def rescale(x: np.ndarray, p: Rescale, dtype: np.typing.DTypeLike) -> np.ndarray:
    """Codes of one quantisation -> codes of another, clamped to [act_min, act_max].

    x         int8, uint8, int16 or int32, any shape
    returns   dtype, the same shape
    """
    difference = x.astype(np.int64) - p.x_zero_point
    scaled = requantize_double_rounding(difference, p.multiplier, p.shift)
    return np.clip(scaled + p.y_zero_point, p.act_min, p.act_max).astype(dtype)
