"""Slow twins of Neural-ART's operators: loops over Python integers, one visible step at a time.

Tensors come in as arrays of codes and leave as int64 arrays. A `Tail` holds the parameters of a
weighted operator; a `window` is (stride, dilation, "SAME" or "VALID"), an `affine` is (scale,
zero_point). Scales are float32 values. Source: docs/neural-art.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from .operators import Affine, Window, _cells, _output_size
from .rounding import clamp

CODE = (-128, 127)
FRACTION_BITS = 8
Products = dict[tuple[int, int, int], int]
Hold = Callable[[int, int], int]  # a value in a register of so many bits


class Tail(NamedTuple):
    """Everything after the products: shifts, coefficients, pieces, ties, activation's clamp."""

    s0: int
    s1: int
    s2: int
    a_c: Sequence[int]
    a2: int
    bc_c: Sequence[int]
    rows: Sequence[int]
    columns: Sequence[int]
    slabs: Sequence[int]
    partial_bits: int = 16
    ties: tuple[str, str, str] = ("away", "away", "away")
    limits: tuple[int, int] = CODE


Each = Callable[[Products, int, Tail], int]


class Sum(NamedTuple):
    """An add's parameters."""

    a: int
    b: int
    c: int
    a_shift: int
    b_shift: int
    c_shift: int
    shift: int
    operand_rounding: str = "floor"
    ties: str = "away"
    limits: tuple[int, int] = CODE


class Average(NamedTuple):
    """A global average's parameters."""

    mulval: int
    k: int
    a: int
    q: int
    c: int
    ties: tuple[str, str] = ("away", "away")
    product_rounding: str = "floor"


def quotient(value: int, n: int, ties: str) -> int:
    """value / 2^n to nearest, ties by name; "floor" cuts."""
    exact = Fraction(value, 2**n)
    below = math.floor(exact)
    rest = exact - below
    if ties == "floor" or rest < Fraction(1, 2):
        return below
    if rest > Fraction(1, 2):
        return below + 1
    return {"away": below + (value > 0), "even": below + below % 2, "up": below + 1}[ties]


def saturate(value: int, bits: int) -> int:
    """The nearest two's complement number of so many bits."""
    return clamp(value, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def code(products: Products, channel: int, tail: Tail) -> int:
    """The code of one output."""
    return finished(reduced(products, tail), channel, tail)


def conv2d(
    x: Any, weights: Any, x_zero_point: int, window: Window, tail: Tail, each: Each = code
) -> np.ndarray:
    """x (N, H, W, C), weights (O, KH, KW, I) -> (N, OH, OW, O)."""
    (n, h, w, c), (o, kh, kw, i) = np.shape(x), np.shape(weights)
    (oh, ow), origin = _output_size((h, w), (kh, kw), window)
    per_group = o // (c // i)
    y = np.zeros((n, oh, ow, o), np.int64)
    for b, row, column, out in np.ndindex(y.shape):
        products = {}
        for r, s, ih, iw in _cells((row, column), (kh, kw), (h, w), origin, window):
            for k in range(i):
                given = int(x[b, ih, iw, out // per_group * i + k])
                products[r, s, k] = (given - x_zero_point) * int(weights[out, r, s, k])
        y[b, row, column, out] = each(products, out, tail)
    return y


def depthwise_conv2d(
    x: Any, weights: Any, x_zero_point: int, window: Window, tail: Tail, each: Each = code
) -> np.ndarray:
    """x (N, H, W, C), weights (1, KH, KW, C*M) -> (N, OH, OW, C*M)."""
    (n, h, w, c), (_, kh, kw, o) = np.shape(x), np.shape(weights)
    (oh, ow), origin = _output_size((h, w), (kh, kw), window)
    y = np.zeros((n, oh, ow, o), np.int64)
    for b, row, column, out in np.ndindex(y.shape):
        products = {
            (r, s, 0): (int(x[b, ih, iw, out // (o // c)]) - x_zero_point)
            * int(weights[0, r, s, out])
            for r, s, ih, iw in _cells((row, column), (kh, kw), (h, w), origin, window)
        }
        y[b, row, column, out] = each(products, out, tail)
    return y


def fully_connected(
    x: Any, weights: Any, x_zero_point: int, tail: Tail, each: Each = code
) -> np.ndarray:
    """x of any shape, weights (O, I) -> (rows, O)."""
    o, i = np.shape(weights)
    rows = np.reshape(x, (-1, i))
    y = np.zeros((len(rows), o), np.int64)
    for row, out in np.ndindex(y.shape):
        products = {
            (0, 0, k): (int(rows[row, k]) - x_zero_point) * int(weights[out, k]) for k in range(i)
        }
        y[row, out] = each(products, out, tail)
    return y


def reduced(products: Products, tail: Tail, hold: Hold = saturate) -> int:
    """r0 from the products of one output by (kernel row, kernel column, channel)."""
    passed = 0
    for rows in _parts(tail.rows):
        for columns in _parts(tail.columns):
            for channels in _parts(tail.slabs):
                acc = sum(
                    value
                    for (r, s, k), value in products.items()
                    if r in rows and s in columns and k in channels
                )
                if tail.partial_bits == 16:
                    grown = acc + passed * 2**tail.s0
                    passed = hold(quotient(grown, tail.s0, tail.ties[0]), 16)
                else:
                    passed = hold(passed + acc, 24)
    if tail.partial_bits == 16:
        return passed
    return hold(quotient(passed, tail.s0, tail.ties[0]), 16)


def finished(r0: int, channel: int, tail: Tail, hold: Hold = saturate) -> int:
    """Second and third stage, and the activation."""
    r1 = hold(quotient(r0 * int(tail.a_c[channel]), tail.s1, tail.ties[1]), 16)
    r2 = quotient(r1 * tail.a2 + int(tail.bc_c[channel]), tail.s2, tail.ties[2])
    return clamp(saturate(r2, 8), *tail.limits)


def add(a: Any, b: Any, p: Sum) -> np.ndarray:
    """Codes of shapes that broadcast."""
    left, right = np.broadcast_arrays(a, b)
    y = np.zeros(left.shape, np.int64)
    for place in np.ndindex(y.shape):
        total = quotient(int(left[place]) * p.a, p.a_shift, p.operand_rounding)
        total += quotient(int(right[place]) * p.b, p.b_shift, p.operand_rounding)
        total += p.c * 2**p.c_shift
        y[place] = clamp(saturate(quotient(total, p.shift, p.ties), 8), *p.limits)
    return y


def mean(x: Any, p: Average, hold: Hold = saturate) -> np.ndarray:
    """Global average of x (N, H, W, C) -> (N, C)."""
    n, h, w, c = np.shape(x)
    y = np.zeros((n, c), np.int64)
    for b, channel in np.ndindex(n, c):
        total = sum(int(x[b, i, j, channel]) for i, j in np.ndindex(h, w))
        average = hold(quotient(total * p.mulval, p.k - FRACTION_BITS, p.ties[0]), 16)
        scaled = quotient(average * p.a, FRACTION_BITS, p.product_rounding)
        y[b, channel] = saturate(quotient(scaled + p.c, p.q, p.ties[1]), 8)
    return y


def ceil_log2(value: Fraction) -> int:
    """The smallest n with value <= 2^n, value > 0."""
    n = 0
    while value > Fraction(2) ** n:
        n += 1
    while value <= Fraction(2) ** (n - 1):
        n -= 1
    return n


def largest_shift(real: Fraction) -> int:
    """The largest n of 0..31 with round(real * 2^n) < 2^15."""
    return max(n for n in range(32) if nearest(real * 2**n) < 2**15)


def nearest(real: Fraction) -> int:
    """To the nearest integer, ties away from zero."""
    magnitude = math.floor(abs(real) + Fraction(1, 2))
    return magnitude if real >= 0 else -magnitude


def default_s0(weights: Any, channels: int, x_zero_point: int) -> int:
    """ceil(log2(bound / 32767)) from the extreme sums of each channel, channels on the last axis.

    weights   (products, O)
    """
    bound = 1
    for out in range(channels):
        column = [int(v) for v in weights[:, out]]
        top = sum(max(v * (-128 - x_zero_point), v * (127 - x_zero_point)) for v in column)
        bottom = sum(min(v * (-128 - x_zero_point), v * (127 - x_zero_point)) for v in column)
        bound = max(bound, top, -bottom)
    return max(0, ceil_log2(Fraction(bound, 32767)))


def derived(
    scales: tuple[float, Sequence[float], float], zero_point: int, bias: Sequence[int], s0: int
) -> tuple[int, int, list[int], int, int, list[int]]:
    """(f, s1, A_c, s2, A2, BC_c) by the rules, scales (s_x, s_w, s_y).

    Products of scales are exact here.
    """
    s_x, s_w, s_y = Fraction(scales[0]), [Fraction(s) for s in scales[1]], Fraction(scales[2])
    f = 14 - ceil_log2(255 * s_y)
    s1 = largest_shift(max(s_x * s for s in s_w) * Fraction(2) ** (f + s0))
    a_c = [nearest(s_x * s * Fraction(2) ** (f + s0 + s1)) for s in s_w]
    a2 = nearest(Fraction(2) ** (20 - f) / s_y)
    return f, s1, a_c, 20, a2, derived_offsets(scales, zero_point, bias, 20)


def derived_two_stages(
    scales: tuple[float, Sequence[float], float], zero_point: int, bias: Sequence[int], s0: int
) -> tuple[int, list[int], int, int, list[int]]:
    """(s1, A_c, s2, A2, BC_c) of weights with one scale: r0 goes through, then M itself."""
    real = Fraction(scales[0]) * Fraction(scales[1][0]) / Fraction(scales[2]) * 2**s0
    s2 = largest_shift(real)
    offsets = derived_offsets(scales, zero_point, bias, s2)
    return 0, [1] * len(scales[1]), s2, nearest(real * 2**s2), offsets


def derived_offsets(
    scales: tuple[float, Sequence[float], float], zero_point: int, bias: Sequence[int], s2: int
) -> list[int]:
    """BC_c: the bias is a float32, as the compiler has it."""
    s_y = Fraction(scales[2])
    units = [np.float32(scales[0]) * np.float32(s) for s in scales[1]]
    reals = [Fraction(float(np.float32(b) * u)) for b, u in zip(bias, units, strict=True)]
    offsets = [(real / s_y + zero_point) * 2**s2 for real in reals]
    largest = max(abs(offset) for offset in offsets)
    spare = max(0, 31 - ceil_log2(largest)) if largest else 31
    fixed = [round(offset * 2**spare) // 2**spare for offset in offsets]
    return [clamp(value, -(2**31), 2**31 - 1) for value in fixed]


def derived_sum(a: Affine, b: Affine, y: Affine) -> Sum:
    """An add's parameters by the rules."""
    ratios = [Fraction(s) / Fraction(y[0]) for s, _ in (a, b)]
    k = [largest_shift(ratio) for ratio in ratios]
    shift = min(k)
    zero = y[1] - ratios[0] * a[1] - ratios[1] * b[1]
    c_shift = next(n for n in range(64) if abs(nearest(zero * Fraction(2) ** (shift - n))) < 2**15)
    return Sum(
        nearest(ratios[0] * 2 ** k[0]),
        nearest(ratios[1] * 2 ** k[1]),
        nearest(zero * Fraction(2) ** (shift - c_shift)),
        k[0] - shift,
        k[1] - shift,
        c_shift,
        shift,
    )


def derived_average(x: Affine, y: Affine, cells: int) -> Average:
    """A global average's parameters by the rules."""
    k = max(n for n in range(64) if 2**n // cells < 2**15)
    real = Fraction(x[0]) / Fraction(y[0])
    zero = y[1] - real * x[1]
    q = max(n for n in range(32) if nearest(real * 2**n) < 2**15 and abs(zero * 2**n) < 2**31)
    return Average(2**k // cells, k, nearest(real * 2**q), q, math.trunc(zero * 2**q))


def _parts(lengths: Sequence[int]) -> list[range]:
    """The indices of each part."""
    ends = [sum(lengths[: k + 1]) for k in range(len(lengths))]
    return [range(end - length, end) for end, length in zip(ends, lengths, strict=True)]
