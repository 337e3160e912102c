"""Arithmetic of the reference: every rounding once, on int64 arrays.

Sources: gemmlowp fixedpoint.h (SaturatingRoundingDoublingHighMul, RoundingDivideByPOT), TFLite
MultiplyByQuantizedMultiplier and its double- and single-rounding builds, XNNPACK qs8 in fp32.
"""

import numpy as np

Integers = np.ndarray | int
INT32_END = 2**31


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


def divide_up_by_pot(values: np.ndarray, exponent: Integers) -> np.ndarray:
    """round(values / 2^exponent), ties toward +inf, exponent 0..62."""
    return (values + ((np.int64(1) << np.asarray(exponent, np.int64)) >> 1)) >> exponent


def requantize_double_rounding(
    acc: np.ndarray, multiplier: Integers, shift: Integers
) -> np.ndarray:
    """acc * multiplier * 2^(shift - 31), rounded twice.

    acc          int64; its left shift wraps to 32 bits, as in C on a CPU
    multiplier   Q0.31, broadcasts against acc, as shift does
    shift        > 0 left, < 0 right, -31..31
    returns      int64, the first rounding with ties toward +inf, the second away from zero
    """
    shift = np.asarray(shift, np.int64)
    return divide_by_pot(_doubled_high_mul(acc, multiplier, shift), np.maximum(-shift, 0))


def requantize_double_rounding_up(
    acc: np.ndarray, multiplier: Integers, shift: Integers
) -> np.ndarray:
    """As `requantize_double_rounding`, both roundings with ties toward +inf."""
    shift = np.asarray(shift, np.int64)
    return divide_up_by_pot(_doubled_high_mul(acc, multiplier, shift), np.maximum(-shift, 0))


def requantize_double_rounding_down(
    acc: np.ndarray, multiplier: Integers, shift: Integers
) -> np.ndarray:
    """As `requantize_double_rounding`, but what the right shift drops is not rounded."""
    shift = np.asarray(shift, np.int64)
    return _doubled_high_mul(acc, multiplier, shift) >> np.maximum(-shift, 0)


def _doubled_high_mul(acc: np.ndarray, multiplier: Integers, shift: np.ndarray) -> np.ndarray:
    return high_mul(wrap(np.asarray(acc, np.int64) << np.maximum(shift, 0), 32), multiplier)


def requantize_single_rounding(
    acc: np.ndarray, multiplier: Integers, shift: Integers
) -> np.ndarray:
    """acc * multiplier * 2^(shift - 31), rounded once, ties toward +inf.

    acc          int64; where it does not fit int32, results saturate to int32
    multiplier   Q0.31, broadcasts against acc, as shift does
    shift        > 0 left, < 0 right, -31..31
    """
    acc, multiplier = np.asarray(acc, np.int64), np.asarray(multiplier, np.int64)
    total = 31 - np.asarray(shift, np.int64)
    narrow = divide_up_by_pot(wrap(acc, 32) * multiplier, total)
    if acc.size == 0 or max(-int(acc.min()), int(acc.max()) + 1) <= INT32_END:
        return narrow
    # the product in two parts, 2^32 * upper + lower: it has up to 94 bits
    product = (acc & 0xFFFFFFFF) * multiplier
    upper, lower = (acc >> 32) * multiplier + (product >> 32), product & 0xFFFFFFFF
    inside = np.clip(upper, -INT32_END, INT32_END - 2)
    little = divide_up_by_pot((inside << 32) + lower, np.minimum(total, 32))
    little = np.where(inside < upper, INT32_END - 1, little)
    far = divide_up_by_pot(upper, np.maximum(total - 32, 0))
    wide = np.where(total > 32, far, little)
    return np.where(wrap(acc, 32) == acc, narrow, wide)


def requantize_float32_even(acc: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """round(float32(acc) * float32(scale)), ties to even; saturated to int32.

    scale   the real multiplier, broadcasts against acc
    """
    with np.errstate(over="ignore"):
        product = np.asarray(acc).astype(np.float32) * np.asarray(scale).astype(np.float32)
    return np.rint(np.clip(product, -INT32_END, INT32_END)).astype(np.int64)


def requantize_float64_away(acc: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """round(double(acc) * scale), ties away from zero; saturated to int32.

    scale   float64, the real multiplier, broadcasts against acc
    """
    product = np.clip(np.asarray(acc).astype(np.float64) * scale, -INT32_END, INT32_END)
    return round_away(product)


def round_away(values: np.ndarray) -> np.ndarray:
    """The nearest integers as int64, ties away from zero; values below 2^52 in magnitude."""
    whole = np.trunc(values)
    away = np.abs(values - whole) >= 0.5
    return whole.astype(np.int64) + np.where(away, np.sign(values).astype(np.int64), 0)


def requantize_int16_reduced(acc: np.ndarray, multiplier: Integers, shift: Integers) -> np.ndarray:
    """acc * q16 * 2^(shift - 15), rounded once, ties toward +inf, q16 the multiplier in Q0.15.

    acc          int64 below 2^47 in magnitude
    multiplier   Q0.31, rounded to 16 bits and at most 0x7fff
    shift        -31..14
    """
    reduced = np.minimum((np.asarray(multiplier, np.int64) + (1 << 15)) >> 16, 0x7FFF)
    return divide_up_by_pot(np.asarray(acc, np.int64) * reduced, 15 - np.asarray(shift, np.int64))
