"""Real numbers to codes outside a graph: those of a caller who may be wrong, and inputs."""

import math

import numpy as np

from .affine import scale32, zero_point
from .graph import Tensor
from .kernels.structs import QUANTIZE, Quantize, Rounding
from .profiles import Arithmetic, find_profile
from .reference.quantize import quantize as quantize_tensor
from .rules import rounding

TYPES = ("int8", "uint8", "int16")


def quantize(
    values: np.typing.ArrayLike,
    scale: float,
    zero_point: int,
    dtype: np.typing.DTypeLike,
    rule: str = "divide_away",
) -> np.ndarray:
    """round(values / scale) + zero_point, saturated; computed in float32.

    values    real numbers, any shape; infinities saturate
    rule      "divide_away" (ties away from zero: TFLite), "divide_even" (to even: ONNX),
              "reciprocal_even" (times 1 / scale, to even: XNNPACK), "double_away" (in float64)
    returns   dtype (int8, uint8 or int16), the same shape
    raises    ValueError for NaN, for a scale that is not finite and above 0 and for a rule that
              does not exist; TypeError for another dtype
    """
    _check_type(dtype)
    _check_numbers(np.asarray(values), scale)
    if rule not in QUANTIZE:
        raise ValueError(f"quantize: rule must be one of {', '.join(QUANTIZE)}, got {rule!r}")
    number = QUANTIZE.index(rule)
    p = Quantize(np.float32(scale), zero_point, Rounding(number, 1, number))
    return quantize_tensor(np.asarray(values), p, dtype)


def input_codes(values: np.ndarray, tensor: Tensor, profile: str) -> np.ndarray:
    """The codes of real numbers for a graph's input, by the profile's QUANTIZE.

    values   float, (images, ..); where places decide about the rule, each image counts by itself
    """
    a: Arithmetic = find_profile(profile).operators["quantize"]
    p = Quantize(scale32(tensor), zero_point(tensor), rounding(a, QUANTIZE))
    if a.block == 1 or values.ndim == 0:
        return quantize_tensor(values, p, tensor.dtype)
    codes = (quantize_tensor(image, p, tensor.dtype) for image in values)
    return np.stack(list(codes)) if len(values) else values.astype(tensor.dtype)


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
