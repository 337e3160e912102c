"""The rounding rules of npusim in Python integers of unlimited width.

Each rule is one obvious expression; nothing here imports npusim.
Sources: gemmlowp fixedpoint/fixedpoint.h, TFLite kernels/internal/common.h, quantization_util.cc.
"""

from __future__ import annotations

import math

import numpy as np

INT32_MIN, INT32_MAX = -(2**31), 2**31 - 1
LIMITS = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "int32": (INT32_MIN, INT32_MAX),
}
ACTIVATION_BOUNDS = {
    "none": (None, None),
    "relu": (0.0, None),
    "relu_n1_to_1": (-1.0, 1.0),
    "relu6": (0.0, 6.0),
}


def wrap32(value: int) -> int:
    """The value's low 32 bits as two's complement."""
    return (value - INT32_MIN) % 2**32 + INT32_MIN


def clamp(value: int, low: int, high: int) -> int:
    """The nearest integer within low..high."""
    return min(max(value, low), high)


def divide_away(value: int, divisor: int) -> int:
    """value / divisor to nearest, ties away from zero."""
    magnitude = (2 * abs(value) + divisor) // (2 * divisor)
    return magnitude if value >= 0 else -magnitude


def round_away(value: float) -> int:
    """A real number to the nearest integer, ties away from zero."""
    magnitude = math.floor(abs(value) + 0.5)
    return magnitude if value >= 0 else -magnitude


def quantize_multiplier(real: float) -> tuple[int, int]:
    """(multiplier, shift) with real ~ multiplier * 2^(shift - 31); (0, 0) below 2^-32."""
    if real == 0:
        return 0, 0
    mantissa, shift = math.frexp(real)
    multiplier = round_away(mantissa * 2**31)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    return (multiplier, shift) if shift >= -31 else (0, 0)


def high_multiply(a: int, b: int) -> int:
    """a * b / 2^31 to nearest, ties toward +infinity, saturated: a product of Q0.31 numbers."""
    return min((a * b + 2**30) // 2**31, INT32_MAX)


def requantize_double_rounding(acc: int, multiplier: int, shift: int) -> int:
    """acc * multiplier * 2^(shift - 31), rounded after the product and after the right shift."""
    left, right = max(shift, 0), max(-shift, 0)
    return divide_away(high_multiply(wrap32(acc << left), multiplier), 2**right)


def activation_range(
    activation: str, affine: tuple[float, int], dtype: str = "int8"
) -> tuple[int, int]:
    """The codes between which a fused activation clamps."""
    scale, zero_point = affine
    low, high = LIMITS[dtype]
    bottom, top = ACTIVATION_BOUNDS[activation]
    if bottom is not None:
        low = max(low, zero_point + round_away(float(np.float32(bottom) / np.float32(scale))))
    if top is not None:
        high = min(high, zero_point + round_away(float(np.float32(top) / np.float32(scale))))
    return low, high
