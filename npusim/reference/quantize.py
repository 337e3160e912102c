"""Between real numbers and codes: real = scale * (code - zero_point).

Sources: TFLite reference_ops::AffineQuantize and Dequantize, and their forms for x86 in
optimized_ops; XNNPACK f32-qs8-vcvt; ONNX QuantizeLinear.
"""

from collections.abc import Callable, Mapping

import numpy as np

from ..kernels.structs import DEQUANTIZE, QUANTIZE, Dequantize, Quantize, Rounding
from .arithmetic import round_away

Row = Callable[[np.ndarray], np.ndarray]


def quantize(x: np.ndarray, p: Quantize, dtype: np.typing.DTypeLike) -> np.ndarray:
    """The codes of real numbers, saturated.

    x         float32, any shape, counted in row-major order where blocks have another rule
    returns   dtype (int8, uint8 or int16), the same shape; infinities saturate, NaN gives the
              lowest code
    """
    limits = np.iinfo(dtype)
    low, high = limits.min - p.zero_point, limits.max - p.zero_point

    def row(rule: int) -> Row:
        scaled, nearest = _QUANTIZE[QUANTIZE[rule]]

        def codes(values: np.ndarray) -> np.ndarray:
            quotient = scaled(values, np.float32(p.scale))
            inside = np.where(quotient > low, np.minimum(quotient, high), low)
            return nearest(inside).astype(np.int64) + p.zero_point

        return codes

    with np.errstate(over="ignore", invalid="ignore"):
        return _by_blocks(np.asarray(x, np.float32), p.rounding, row).astype(dtype)


def dequantize(x: np.ndarray, p: Dequantize) -> np.ndarray:
    """The real numbers that codes stand for, float32.

    x   int8, uint8 or int16, any shape, counted in row-major order where blocks have another rule
    """
    scale, zero_point = np.float32(p.scale), np.float32(p.zero_point)

    def row(rule: int) -> Row:
        if DEQUANTIZE[rule] == "product":
            return lambda codes: scale * (codes.astype(np.float32) - zero_point)
        return lambda codes: scale * codes.astype(np.float32) + -(scale * zero_point)

    with np.errstate(over="ignore", invalid="ignore"):
        return _by_blocks(x, p.rounding, row).astype(np.float32)


def _by_blocks(x: np.ndarray, rounding: Rounding, row: Callable[[int], Row]) -> np.ndarray:
    """x in row-major order: whole blocks by the rule, the elements behind them by the rest's."""
    flat = x.reshape(-1)
    whole = flat.size - flat.size % rounding.block
    parts = row(rounding.rule)(flat[:whole]), row(rounding.rest)(flat[whole:])
    return np.concatenate(parts).reshape(x.shape)


_QUANTIZE: Mapping[str, tuple[Callable[[np.ndarray, np.float32], np.ndarray], Row]] = {
    "divide_away": (lambda x, scale: x / scale, round_away),
    "divide_even": (lambda x, scale: x / scale, np.rint),
    "reciprocal_even": (lambda x, scale: x * (np.float32(1) / scale), np.rint),
    "double_away": (lambda x, scale: x.astype(np.float64) / np.float64(scale), round_away),
}
