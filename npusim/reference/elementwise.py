"""Elementwise operators: add, mul, and codes to codes (quantize, relu, relu6)."""

import numpy as np

from ..kernels.structs import Add, Mul, Requantization, Rescale
from .arithmetic import wrap
from .requantize import requantize


def add(a: np.ndarray, b: np.ndarray, p: Add, r: Requantization) -> np.ndarray:
    """a + b: both brought to a common scale, the sum to the output's.

    a, b      int8, shapes that broadcast
    returns   int8
    """
    shape = np.broadcast_shapes(a.shape, b.shape)
    wide_a = (a.astype(np.int64) - p.a_zero_point) << p.left_shift
    wide_b = (b.astype(np.int64) - p.b_zero_point) << p.left_shift
    left = requantize(np.broadcast_to(wide_a, shape).reshape(-1, p.row), p.a, np.int64)
    right = requantize(np.broadcast_to(wide_b, shape).reshape(-1, p.row), p.b, np.int64)
    return requantize(wrap(left + right, 32), r).reshape(shape)


def mul(a: np.ndarray, b: np.ndarray, p: Mul, r: Requantization) -> np.ndarray:
    """a * b, requantised once.

    a, b      int8, shapes that broadcast
    returns   int8
    """
    product = (a.astype(np.int64) - p.a_zero_point) * (b.astype(np.int64) - p.b_zero_point)
    return _flat(product, r, np.int8)


def rescale(x: np.ndarray, p: Rescale, r: Requantization, dtype: np.typing.DTypeLike) -> np.ndarray:
    """Codes of one quantisation -> codes of another.

    x         int8, uint8, int16 or int32, any shape; differences to the zero point wrap
    returns   dtype, the same shape
    """
    return _flat(wrap(x.astype(np.int64) - p.x_zero_point, 32), r, dtype)


def _flat(acc: np.ndarray, r: Requantization, dtype: np.typing.DTypeLike) -> np.ndarray:
    """Requantised as one row, whatever the shape."""
    return requantize(acc.reshape(-1), r, dtype).reshape(acc.shape)
