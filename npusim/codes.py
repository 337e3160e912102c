"""Real numbers to codes outside a graph, of a caller who may be wrong."""

import math

import numpy as np

from . import reference

TYPES = ("int8", "uint8", "int16")


def quantize(
    values: np.typing.ArrayLike, scale: float, zero_point: int, dtype: np.typing.DTypeLike
) -> np.ndarray:
    """round(values / scale) + zero_point, saturated; computed in float32, ties away from zero.

    values    real numbers, any shape; infinities saturate
    returns   dtype (int8, uint8 or int16), the same shape
    raises    ValueError for NaN and for a scale that is not finite and above 0; TypeError for
              another dtype
    """
    _check_type(dtype)
    _check_numbers(np.asarray(values), scale)
    return reference.quantize(np.asarray(values), scale, zero_point, dtype)


def _check_type(dtype: np.typing.DTypeLike) -> None:
    try:
        known = np.dtype(dtype).name in TYPES
    except TypeError:
        known = False
    if not known:
        raise TypeError(f"quantize: dtype must be one of {', '.join(TYPES)}, got {dtype!r}")


def _check_numbers(values: np.ndarray, scale: float) -> None:
    if not (math.isfinite(scale) and scale > 0):
        raise ValueError(f"quantize: scale must be finite and above 0, got {scale}")
    count = int(np.isnan(values).sum())
    if count:
        raise ValueError(f"quantize: real numbers must not be NaN, got {count} of {values.size}")
