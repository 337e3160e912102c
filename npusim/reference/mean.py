"""Mean over any axes: y = sum (x - x_zero_point) requantised; 1/count is in the multiplier."""

import numpy as np

from ..kernels.structs import Mean
from .arithmetic import requantize_double_rounding, wrap


def mean(x: np.ndarray, axes: tuple[int, ...], p: Mean, keep_dims: bool = False) -> np.ndarray:
    """The mean over `axes`.

    x         int8, any shape
    returns   int8, `axes` gone or of length 1
    """
    difference = x.astype(np.int64) - p.x_zero_point
    total = difference.sum(axes, keepdims=keep_dims)
    scaled = requantize_double_rounding(wrap(total, 32), p.multiplier, p.shift)
    return np.clip(scaled + p.y_zero_point, p.act_min, p.act_max).astype(np.int8)
