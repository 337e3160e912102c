"""The tail of the operators: accumulators to codes, by the rule of a `Requantization`."""

from collections.abc import Callable

import numpy as np

from ..kernels.structs import REQUANTIZE, Requantization
from . import arithmetic


def requantize(
    acc: np.ndarray, r: Requantization, dtype: np.typing.DTypeLike = np.int8
) -> np.ndarray:
    """Scale by r's rules along the last axis, add the zero point, clamp.

    acc       int64 (..., O); r has O multipliers, or one for all
    returns   dtype (..., O)
    """
    n = acc.shape[-1]
    whole = n - n % r.rounding.block
    scaled = np.empty(acc.shape, np.int64)
    for rule, part in ((r.rounding.rule, slice(0, whole)), (r.rounding.rest, slice(whole, n))):
        arrays = (a if len(a) == 1 else a[part] for a in r[:3])
        scaled[..., part] = _RULES[REQUANTIZE[rule]](acc[..., part], *arrays)
    return np.clip(scaled + r.zero_point, r.act_min, r.act_max).astype(dtype)


def _integer(
    rule: Callable[..., np.ndarray],
) -> Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    return lambda acc, multiplier, shift, scale: rule(acc, multiplier, shift)


def _real(
    rule: Callable[..., np.ndarray],
) -> Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    return lambda acc, multiplier, shift, scale: rule(acc, scale)


_RULES = {
    "double_rounding": _integer(arithmetic.requantize_double_rounding),
    "double_rounding_up": _integer(arithmetic.requantize_double_rounding_up),
    "double_rounding_down": _integer(arithmetic.requantize_double_rounding_down),
    "single_rounding": _integer(arithmetic.requantize_single_rounding),
    "float32_even": _real(arithmetic.requantize_float32_even),
    "float64_away": _real(arithmetic.requantize_float64_away),
}
