"""Calls of npusim/c/quantize.c: every rule around every tie, any bit pattern, every code."""

from collections.abc import Iterator
from itertools import product

import numpy as np

from npusim.kernels.structs import DEQUANTIZE, QUANTIZE, Dequantize, Quantize, Rounding

from ..records import Case
from . import shaped

TYPES = (np.int8, np.uint8, np.int16)
SCALES = [np.float32(s) for s in (1.0, 0.1, 1 / 255, 0.0235294122248888, 3e-5, 7.7, 1e-38, 3e38)]
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, -1e30, 1e-45], np.float32)


def cases(random: np.random.Generator) -> Iterator[Case]:
    for dtype in TYPES:
        for scale, rule in product(SCALES, range(len(QUANTIZE))):
            yield _around_ties(random, dtype, scale, Rounding(rule, 1, rule))
        for scale, rule in product(SCALES, range(len(DEQUANTIZE))):
            yield _every_code(random, dtype, scale, Rounding(rule, 1, rule))


def fuzz(random: np.random.Generator, count: int) -> Iterator[Case]:
    for _ in range(count):
        for dtype in TYPES:
            yield _any_float(random, dtype)
            yield _codes(random, dtype)


def _around_ties(
    random: np.random.Generator, dtype: type, scale: np.float32, rounding: Rounding
) -> Case:
    """Real numbers at, just below and just above boundaries between two codes."""
    limits = np.iinfo(dtype)
    zero_point = _zero_point(random, dtype)
    steps = np.arange(limits.min - 2, limits.max + 3) - zero_point + 0.5
    if steps.size > 300:
        steps = random.choice(steps, 300)
    with np.errstate(over="ignore"):
        x = (steps * np.float64(scale)).astype(np.float32)
        x = np.concatenate([x, np.nextafter(x, -np.inf), np.nextafter(x, np.float32(np.inf))])
    return shaped.quantize(x, Quantize(scale, zero_point, rounding), dtype)


def _any_float(random: np.random.Generator, dtype: type) -> Case:
    """Random bits: subnormal, huge, infinite and NaN among them; ties, and what is near them."""
    n = int(random.integers(1, 60))
    scale = _scale(random)
    steps = random.integers(-150, 150, n) + random.choice([0.5, 0.5, 0.25], n)
    with np.errstate(over="ignore"):
        near = (steps * np.float64(scale)).astype(np.float32)
    bits = random.integers(0, 2**32, n, np.uint32).view(np.float32)
    x = np.where(random.random(n) < 0.7, near, bits)
    x = np.where(random.random(n) < 0.1, random.choice(SPECIAL, n), x)
    p = Quantize(scale, _zero_point(random, dtype), _rounding(random, QUANTIZE))
    return shaped.quantize(x, p, dtype)


def _codes(random: np.random.Generator, dtype: type) -> Case:
    limits = np.iinfo(dtype)
    n = int(random.integers(1, 60))
    x = random.integers(limits.min, limits.max, n, dtype, endpoint=True)
    p = Dequantize(_scale(random), _zero_point(random, dtype), _rounding(random, DEQUANTIZE))
    return shaped.dequantize(x, p)


def _every_code(
    random: np.random.Generator, dtype: type, scale: np.float32, rounding: Rounding
) -> Case:
    limits = np.iinfo(dtype)
    x = np.arange(limits.min, limits.max + 1).astype(dtype)
    if x.size > 256:
        x = np.concatenate([x[:50], random.choice(x, 200), x[-50:]])
    return shaped.dequantize(x, Dequantize(scale, _zero_point(random, dtype), rounding))


def _scale(random: np.random.Generator) -> np.float32:
    """A scale of a table, or of any size."""
    return np.float32(random.choice([*SCALES, np.exp(random.uniform(-20, 5))]))


def _zero_point(random: np.random.Generator, dtype: type) -> int:
    limits = np.iinfo(dtype)
    between = int(random.integers(limits.min, limits.max + 1))
    return int(random.choice([limits.min, limits.max, 3, between]))


def _rounding(random: np.random.Generator, rules: tuple[str, ...]) -> Rounding:
    """One rule for all, or one for blocks and another for what is behind them."""
    rule, rest = random.integers(0, len(rules), 2).tolist()
    return Rounding(rule, int(random.choice([1, 4, 8])), rest)
