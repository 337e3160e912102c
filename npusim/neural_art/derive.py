"""The rules by which ST's compiler turns scales into Neural-ART's coefficients.

    f      14 - ceil(log2(255 * s_y)), the fraction bits of r1
    s0     ceil(log2(bound / 32767)): a guess, the compiler's own is 2 less to 1 more
    A_c    round(s_x * s_w[c] * 2^(f + s0 + s1)), s1 the largest shift with max A_c < 2^15
    A2     round(2^(s2 - f) / s_y), s2 = 20
    BC_c   floor(V / 2^m), V = rint((B / s_y + zp_y) * 2^(s2 + m)), B the bias in float32 and m the
           most fraction bits that leave every channel's V in 32 bits

Global average: `pool_shift`, `mean_shift`, `mean_offset`. ADD: k_i = `largest_shift(s_i / s_y)`,
shift = min k_i, A and B by `coefficient`, C by `add_zero` and `offset_shift`.
Scales are float32 values, products and quotients doubles. Measured on two networks by compiler
1.1.0: 78 layers, 12 adds, a mean and 20 pools, without one difference but a channel whose A_c of 5
was emitted as 0. Compiler 1.1.3 on three layers of weights with one scale: `whole_factor`.
"""

import math
from typing import NamedTuple

import numpy as np

INT16_END = 1 << 15
INT32_MIN, INT32_MAX = -(1 << 31), (1 << 31) - 1
LARGEST_SHIFT = 31
S2 = 20
MEAN_FRACTION = 8


class Scales(NamedTuple):
    """What a weighted node's coefficients follow from.

    s_x, s_y    scales of input and output
    s_w         of the weights, real (O,)
    zp_x, zp_y  zero points
    bias        int32 (O,)
    """

    s_x: float
    s_w: np.ndarray
    s_y: float
    zp_x: int
    zp_y: int
    bias: np.ndarray


class Affine(NamedTuple):
    """Scale and zero point of a tensor of codes."""

    scale: float
    zero_point: int


def fraction_bits(s_y: float) -> int:
    """f: r1 has the scale 2^-f and holds 510 output codes or more."""
    return 14 - _ceil_log2(255.0 * s_y)


def static_bound(positive: np.ndarray, negative: np.ndarray, zp_x: int) -> int:
    """The largest magnitude a sum without bias can have.

    positive, negative   sums of each channel's positive and negative weights, (O,)
    """
    low, high = -128 - zp_x, 127 - zp_x
    top = positive.astype(np.int64) * high + negative.astype(np.int64) * low
    bottom = positive.astype(np.int64) * low + negative.astype(np.int64) * high
    return int(max(top.max(), -bottom.min()))


def default_s0(bound: int) -> int:
    """ceil(log2(bound / 32767)), at least 0."""
    return (max(1, -(-bound // 32767)) - 1).bit_length()


def largest_shift(real: float) -> int:
    """The largest shift of 0..31 with round(real * 2^shift) < 2^15.

    raises   ValueError when there is none
    """
    for shift in range(LARGEST_SHIFT, -1, -1):
        if math.ldexp(real, shift) < INT16_END - 0.5:
            return shift
    raise ValueError(f"scales must give a coefficient below 2^15, got {real:.6g}")


def channel_coefficients(scales: Scales, exponent: int) -> np.ndarray:
    """A_c, int64 (O,) = round(s_x * s_w * 2^exponent), exponent = f + s0 + s1."""
    product = scales.s_x * scales.s_w.astype(np.float64)
    real = np.minimum(np.ldexp(product, exponent), 2.0**62)
    return np.floor(real + 0.5).astype(np.int64)


def output_coefficient(s_y: float, f: int, s2: int = S2) -> int:
    """A2: from the scale 2^-f to output codes with s2 fraction bits, below 2^15 for s2 = 20."""
    return rounded(math.ldexp(1.0, s2 - f) / s_y)


def offsets(scales: Scales, s2: int = S2) -> np.ndarray:
    """BC_c, int64 (O,): bias and zero point in output codes with s2 fraction bits, in 32 bits.

    What does not fit is clamped; the third stage saturates there whatever r1 is, since
    |r1 * a2| < 2^30.
    raises   ValueError when a bias is infinite in float32
    """
    with np.errstate(over="ignore", invalid="ignore"):
        unit = np.float32(scales.s_x) * scales.s_w.astype(np.float32)
        bias = (scales.bias.astype(np.float32) * unit).astype(np.float64)
        exact = np.ldexp(bias / scales.s_y + scales.zp_y, s2)
    if not np.isfinite(exact).all():
        raise ValueError(f"scales must leave the bias finite, got {float(np.max(unit)):.6g} a code")
    spare = max(0, 31 - _ceil_log2(float(np.abs(exact).max())))
    fixed = np.floor(np.ldexp(np.rint(np.ldexp(exact, spare)), -spare))
    return np.clip(fixed, INT32_MIN, INT32_MAX).astype(np.int64)


def whole_factor(scales: Scales, s0: int) -> float:
    """M * 2^s0 of weights with one scale: what r0 is multiplied by where there are two stages.

    y = sat8(RND((r0 * A + C_c) / 2^s2)), A = round(M * 2^(s0 + s2)) below 2^15, s2 the largest
    """
    return math.ldexp(scales.s_x * float(scales.s_w[0]) / scales.s_y, s0)


def coefficient(real: float, shift: int) -> int:
    """round(real * 2^shift)"""
    return rounded(math.ldexp(real, shift))


def pool_shift(cells: int) -> int:
    """k: the largest with floor(2^k / cells) < 2^15."""
    return (cells * INT16_END - 1).bit_length() - 1


def mean_shift(x: Affine, y: Affine) -> int:
    """q: the largest of 0..31 with A = round(M * 2^q) < 2^15, M = s_x / s_y, and C in 32 bits."""
    q = largest_shift(x.scale / y.scale)
    while abs(mean_offset(x, y, q)) > INT32_MAX:
        q -= 1
    return q


def mean_offset(x: Affine, y: Affine, q: int) -> int:
    """C = trunc((zp_y - M * zp_x) * 2^q)"""
    return math.trunc(math.ldexp(y.zero_point - x.scale / y.scale * x.zero_point, q))


def add_zero(a: Affine, b: Affine, y: Affine) -> float:
    """What C stands for: zp_y - (s_a * zp_a + s_b * zp_b) / s_y."""
    return y.zero_point - (a.scale * a.zero_point + b.scale * b.zero_point) / y.scale


def offset_shift(real: float, shift: int) -> int:
    """c_shift: the smallest with |round(real * 2^(shift - c_shift))| < 2^15."""
    c_shift = 0
    while abs(coefficient(real, shift - c_shift)) >= INT16_END:
        c_shift += 1
    return c_shift


def rounded(value: float) -> int:
    """To the nearest integer, ties away from zero."""
    return int(math.copysign(math.floor(abs(value) + 0.5), value))


def _ceil_log2(value: float) -> int:
    """ceil(log2(value)); 0 for 0."""
    mantissa, exponent = math.frexp(value)
    return exponent - (mantissa == 0.5)
