"""The rounding rules of npusim in Python integers of unlimited width.

Each rule is one obvious expression; nothing here imports npusim.
Sources: gemmlowp fixedpoint/fixedpoint.h, TFLite kernels/internal/common.h, quantization_util.cc.
"""

from __future__ import annotations

import math
from fractions import Fraction

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


def requantize_double_rounding_up(acc: int, multiplier: int, shift: int) -> int:
    """acc * multiplier * 2^(shift - 31), rounded twice, both times with ties toward +infinity."""
    left, right = max(shift, 0), max(-shift, 0)
    return round_up(Fraction(high_multiply(wrap32(acc << left), multiplier), 2**right))


def requantize_double_rounding_down(acc: int, multiplier: int, shift: int) -> int:
    """acc * multiplier * 2^(shift - 31), rounded after the product, cut after the right shift."""
    left, right = max(shift, 0), max(-shift, 0)
    return high_multiply(wrap32(acc << left), multiplier) // 2**right


def requantize_single_rounding(acc: int, multiplier: int, shift: int) -> int:
    """acc * multiplier * 2^(shift - 31), rounded once, ties toward +infinity."""
    return round_up(acc * multiplier * Fraction(2) ** (shift - 31))


def requantize_float32_even(acc: int, scale: float) -> int:
    """acc * scale in float32, rounded to the nearest integer, ties to even; within int32."""
    product = to_float32(to_float32(acc) * to_float32(scale))
    return clamp(round(product), INT32_MIN, -INT32_MIN)


def requantize_float64_away(acc: int, scale: float) -> int:
    """acc * scale in double, rounded to the nearest integer, ties away from zero; within int32."""
    product = Fraction(float(acc) * scale)
    return clamp(divide_away(product.numerator, product.denominator), INT32_MIN, -INT32_MIN)


def requantize_int16_reduced(acc: int, multiplier: int, shift: int) -> int:
    """acc * q16 * 2^(shift - 15), rounded once, ties toward +infinity; q16 has 16 bits."""
    reduced = min((multiplier + 2**15) >> 16, 0x7FFF)
    return round_up(acc * reduced * Fraction(2) ** (shift - 15))


def round_up(value: Fraction) -> int:
    """A fraction to the nearest integer, ties toward +infinity."""
    return math.floor(value + Fraction(1, 2))


def to_float32(value: Fraction | int | float) -> Fraction:
    """The number of 24 bits nearest to a value, ties to even; no smaller than float32's step."""
    exact = Fraction(value)
    exponent = exact.numerator.bit_length() - exact.denominator.bit_length()  # of 2^e, or one more
    if abs(exact) < Fraction(2) ** exponent:
        exponent -= 1
    step = Fraction(2) ** max(exponent - 23, -149)
    return round(exact / step) * step


def activation_range(
    activation: str, affine: tuple[float, int], dtype: str = "int8", even: bool = False
) -> tuple[int, int]:
    """The codes between which a fused activation clamps; `even`: as XNNPACK rounds them."""
    low, high = LIMITS[dtype]
    bottom, top = ACTIVATION_BOUNDS[activation]
    code = code_even if even else code_away
    if bottom is not None:
        low = max(low, code(bottom, affine))
    if top is not None:
        high = min(high, code(top, affine))
    return low, high


def code_away(value: float, affine: tuple[float, int]) -> int:
    """value / scale to nearest, ties away from zero, then the zero point."""
    scale, zero_point = affine
    return zero_point + round_away(float(np.float32(value) / np.float32(scale)))


def code_even(value: float, affine: tuple[float, int]) -> int:
    """value / scale + zero point, each rounded to float32, to nearest, ties to even."""
    scale, zero_point = affine
    return round(float(np.float32(value) / np.float32(scale) + np.float32(zero_point)))
