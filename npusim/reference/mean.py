"""Mean over any axes: y = sum (x - x_zero_point) requantised; 1/count is in the multiplier."""

import numpy as np

from ..kernels.structs import Mean, Requantization
from .arithmetic import wrap
from .requantize import requantize


def mean(
    x: np.ndarray, axes: tuple[int, ...], p: Mean, r: Requantization, keep_dims: bool = False
) -> np.ndarray:
    """The mean over `axes`.

    x         int8, any shape
    returns   int8, `axes` gone or of length 1
    """
    difference = x.astype(np.int64) - p.x_zero_point
    total = wrap(np.asarray(difference.sum(axes, keepdims=keep_dims)), 32)
    channels = len(r.multiplier)
    rows = total.reshape(-1, total.size if channels == 1 else channels)
    return requantize(rows, r).reshape(total.shape)
