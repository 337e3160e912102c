"""Operators that XNNPACK computes in a way of its own."""

import numpy as np

from ..kernels.structs import AddXnnpack, MeanXnnpack, RescaleXnnpack
from .arithmetic import divide_up_by_pot, wrap

RESCALE_SHIFT = 8


def add_xnnpack(a: np.ndarray, b: np.ndarray, p: AddXnnpack) -> np.ndarray:
    """a + b: one sum of two products, rounded once, ties toward +inf.

    a, b      int8, shapes that broadcast
    returns   int8
    """
    left = (a.astype(np.int64) - p.a_zero_point) * p.a_multiplier
    right = (b.astype(np.int64) - p.b_zero_point) * p.b_multiplier
    scaled = divide_up_by_pot(left + right, p.shift)
    return np.clip(scaled + p.y_zero_point, p.act_min, p.act_max).astype(np.int8)


def mean_xnnpack(
    x: np.ndarray, axes: tuple[int, ...], p: MeanXnnpack, keep_dims: bool = False
) -> np.ndarray:
    """The mean over `axes` in float32, ties to even; the zero points are in p's offset.

    x         int8, any shape
    returns   int8, `axes` gone or of length 1
    """
    total = wrap(np.asarray(x.astype(np.int64).sum(axes, keepdims=keep_dims)), 32)
    real = total.astype(np.float32) * p.scale + p.offset
    return np.rint(np.clip(real, p.act_min, p.act_max)).astype(np.int8)


def rescale_xnnpack(
    x: np.ndarray, p: RescaleXnnpack, dtype: np.typing.DTypeLike = np.int8
) -> np.ndarray:
    """Codes of one quantisation -> codes of another, with a multiplier of 16 bits.

    x         int8, any shape
    returns   dtype, the same shape
    """
    product = (x.astype(np.int64) - p.x_zero_point) * p.multiplier
    scaled = divide_up_by_pot(product, RESCALE_SHIFT)
    return np.clip(scaled + p.y_zero_point, p.act_min, p.act_max).astype(dtype)
