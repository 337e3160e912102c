"""Calls of npusim/c/arith.h: 0, +-1, ties, limits and draws, against Python integers."""

from collections.abc import Iterator

import numpy as np
from naive import rounding

from npusim.kernels.structs import REQUANTIZE

from ..records import Case
from .arguments import INTEGER_RULES

POWERS = [sign * (2**k + d) for k in range(31) for d in (-1, 0, 1) for sign in (-1, 1)]
INT32 = sorted({-(2**31), -(2**31) + 1, *POWERS, 2**31 - 1})
WIDE = [sign * (2**k + d) for k in range(31, 63) for d in (-1, 1) for sign in (-1, 1)]
WIDE += [-(2**63), 2**63 - 1]
MULTIPLIERS = [0, 1, 2**30, 2**30 + 1, 1518500250, 2**31 - 1]
SHIFTS = [-31, -30, -15, -2, -1, 0, 1, 2, 15, 30, 31]
LIMIT = 2**31 - 1


def cases(random: np.random.Generator) -> Iterator[Case]:
    yield from _numbers(random)
    yield from _roundings(random)
    for rule in INTEGER_RULES:
        yield from _rule(random, REQUANTIZE[rule])
    for acc in (*INT32[::3], 2**47 - 1, -(2**47), 2**46 + 12345):
        multiplier = int(random.choice(MULTIPLIERS))
        for shift in (-31, -16, -1, 0, 1, 14):
            numbers = {"acc": acc, "multiplier": multiplier, "shift": shift}
            expected = rounding.requantize_int16_reduced(acc, multiplier, shift)
            yield Case("npu_requantize_int16_reduced", numbers, {"return": expected})


def _numbers(random: np.random.Generator) -> Iterator[Case]:
    for value in (*INT32[::5], *WIDE):
        yield Case("npu_wrap32", {"value": value}, {"return": rounding.wrap32(value)})
        low, high = sorted(int(v) for v in random.integers(-(2**62), 2**62, 2))
        expected = rounding.clamp(value, low, high)
        given = {"value": value, "low": low, "high": high}
        yield Case("npu_clamp", given, {"return": expected})
    for a in INT32[::4]:
        b = int(random.choice(INT32))
        yield Case("npu_add_wrapping", {"a": a, "b": b}, {"return": rounding.wrap32(a + b)})
        yield Case("npu_subtract_wrapping", {"a": a, "b": b}, {"return": rounding.wrap32(a - b)})
        yield Case("npu_multiply_wrapping", {"a": a, "b": b}, {"return": rounding.wrap32(a * b)})
        shift = int(random.integers(-31, 32))
        shifted = {"return": rounding.wrap32(a << max(shift, 0))}
        yield Case("npu_shift_left_wrapping", {"acc": a, "shift": shift}, shifted)
        product = {"return": rounding.high_multiply(a, b)}
        yield Case("npu_saturating_high_mul", {"a": a, "b": b}, product)
        if a != -(2**31) or a != b:
            yield Case("npu_rounding_high_mul", {"a": a, "b": b}, product)
    smallest = {"a": -(2**31), "b": -(2**31)}
    yield Case("npu_saturating_high_mul", smallest, {"return": LIMIT})


def _roundings(random: np.random.Generator) -> Iterator[Case]:
    """Ties and their neighbours, every exponent."""
    for exponent in range(63):
        half, limit = 2**exponent // 2, 2**31 if exponent < 32 else 2**62
        ties = [k * 2**exponent + half + d for k in (-3, -2, -1, 0, 1, 2) for d in (-1, 0, 1)]
        drawn = [*ties, *random.choice(INT32, 6).tolist(), -limit, limit - 1]
        for value in (v for v in drawn if -limit <= v < limit):
            given = {"value": value, "exponent": exponent}
            up = rounding.round_up(rounding.Fraction(value, 2**exponent))
            yield Case("npu_rounding_divide_up_by_pot", given, {"return": up})
            if exponent < 32:
                away = rounding.divide_away(value, 2**exponent)
                yield Case("npu_rounding_divide_by_pot", given, {"return": away})


def _rule(random: np.random.Generator, rule: str) -> Iterator[Case]:
    """One rule by its own name and by its number."""
    naive = getattr(rounding, f"requantize_{rule}")
    drawn = random.integers(-(2**31), 2**31, 60).tolist()
    for acc in (*INT32, *drawn):
        for shift in (*random.choice(SHIFTS, 3).tolist(), int(random.integers(-31, 32))):
            multiplier = int(random.choice([*MULTIPLIERS, int(random.integers(2**31))]))
            numbers = {"acc": acc, "multiplier": multiplier, "shift": shift}
            expected = {"return": naive(acc, multiplier, shift)}
            yield Case(f"npu_requantize_{rule}", numbers, expected)
            numbered = {**numbers, "rule": REQUANTIZE.index(rule)}
            yield Case("npu_requantize", numbered, expected)
    for acc in WIDE if rule == "single_rounding" else ():
        yield from _wide(acc, int(random.choice(MULTIPLIERS[2:])), int(random.choice(SHIFTS)))


def _wide(acc: int, multiplier: int, shift: int) -> Iterator[Case]:
    """What does not fit int32 saturates at one of two ends; they are alike to any clamp."""
    expected = rounding.requantize_single_rounding(acc, multiplier, shift)
    if abs(expected) < LIMIT:
        numbers = {"acc": acc, "multiplier": multiplier, "shift": shift}
        yield Case("npu_requantize_single_rounding", numbers, {"return": expected})
