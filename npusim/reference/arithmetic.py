"""Integer arithmetic of the reference: every rounding once, on int64 arrays.

Sources: gemmlowp fixedpoint.h (SaturatingRoundingDoublingHighMul, RoundingDivideByPOT), TFLite
Micro MultiplyByQuantizedMultiplier.
"""

from collections.abc import Callable

import numpy as np

from ..kernels.structs import DOUBLE_ROUNDING, Requantization

Integers = np.ndarray | int


def wrap(values: np.ndarray, bits: int) -> np.ndarray:
    """The low `bits` bits of int64 values read as two's complement, bits 1..64."""
    if bits == 64:
        return values
    half = np.int64(1) << (bits - 1)
    low_bits = values & (2 * half - 1) if bits < 63 else values & ((half - 1) | half)
    return (low_bits ^ half) - half


def high_mul(a: Integers, b: Integers) -> np.ndarray:
    """round(a * b / 2^31) of int32 values, ties toward +inf; -2^31 * -2^31 gives 2^31 - 1."""
    a, b = np.asarray(a, np.int64), np.asarray(b, np.int64)
    rounded = (a * b + (1 << 30)) >> 31
    return np.minimum(rounded, (1 << 31) - 1)


def divide_by_pot(values: np.ndarray, exponent: Integers) -> np.ndarray:
    """round(values / 2^exponent), ties away from zero, exponent 0..62."""
    half = (np.int64(1) << np.asarray(exponent, np.int64)) >> 1
    magnitude = (np.abs(values) + half) >> exponent
    return np.where(values < 0, -magnitude, magnitude)


def requantize_double_rounding(
    acc: np.ndarray, multiplier: Integers, shift: Integers
) -> np.ndarray:
    """acc * multiplier * 2^(shift - 31), rounded twice.

    acc          int64; its left shift wraps to 32 bits, as in C on a CPU
    multiplier   Q0.31, broadcasts against acc, as shift does
    shift        > 0 left, < 0 right, -31..30
    returns      int64, the first rounding with ties toward +inf, the second away from zero
    """
    shift = np.asarray(shift, np.int64)
    shifted = wrap(np.asarray(acc, np.int64) << np.maximum(shift, 0), 32)
    return divide_by_pot(high_mul(shifted, multiplier), np.maximum(-shift, 0))


RULES: dict[int, Callable[[np.ndarray, Integers, Integers], np.ndarray]] = {
    DOUBLE_ROUNDING: requantize_double_rounding,
}


def requantize(acc: np.ndarray, r: Requantization) -> np.ndarray:
    """Accumulators (..., O) -> int8 codes (..., O): scale by r's rule, zero point, clamp."""
    scaled = RULES[r.rule](acc, r.multiplier, r.shift)
    return np.clip(scaled + r.zero_point, r.act_min, r.act_max).astype(np.int8)
