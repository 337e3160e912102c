"""Calls of npusim/c/elementwise.c: every pair of codes, broadcasting, blocks, pairs of types."""

from collections.abc import Iterator

import numpy as np
from kernels import drawn

from npusim import strides
from npusim.kernels.structs import Add, Requantization, Rounding
from npusim.kernels.table import RESCALES
from npusim.reference.requantize import requantize

from ..records import Case
from . import shaped
from .arguments import (
    INTEGER_RULES,
    integer_rounding,
    requantization,
    struct,
    with_integer_rules,
    written,
)
from .shapes import broadcasting

ALL_CODES = np.arange(-128, 128, dtype=np.int8)
EVERY_PAIR = np.repeat(ALL_CODES, 256), np.tile(ALL_CODES, 256)


def cases(random: np.random.Generator) -> Iterator[Case]:
    for rule in INTEGER_RULES:
        yield shaped.add(*EVERY_PAIR, *_add(random, EVERY_PAIR[0].size, Rounding(rule, 1, rule)))
        yield shaped.mul(*EVERY_PAIR, *_mul(random, rule))
    for n in (1, 3, 4, 5, 15, 16, 17, 33):
        for stride in (0, 1):
            yield from _operand(random, stride, n)
            yield _products(random, stride, n)


def fuzz(random: np.random.Generator, count: int) -> Iterator[Case]:
    for _ in range(count):
        a, b, row = _operands(random)
        yield shaped.add(a, b, *_add(random, row, integer_rounding(random)))
        a, b, _ = _operands(random)
        yield shaped.mul(a, b, *_mul(random, int(random.choice(INTEGER_RULES))))
        for x_type, y_type in RESCALES:
            yield _rescale(random, np.dtype(x_type).type, np.dtype(y_type).type)


def _operands(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray, int]:
    """Two operands that broadcast, and the length of a row of their walk."""
    left, right = broadcasting(random)
    walk = strides.broadcast(left, right, np.broadcast_shapes(left, right))
    return drawn.codes(random, left), drawn.codes(random, right), int(walk.shape[-1])


def _add(random: np.random.Generator, row: int, rounding: Rounding) -> tuple[Add, Requantization]:
    """Operands by one rule, the sum by another."""
    p, r = drawn.add(random)
    left, right = (operand._replace(rounding=rounding) for operand in (p.a, p.b))
    return p._replace(row=row, a=left, b=right), with_integer_rules(random, r)


def _mul(random: np.random.Generator, rule: int) -> tuple:
    p, r = drawn.mul(random)
    return p, r._replace(rounding=Rounding(rule, 1, rule))


def _rescale(random: np.random.Generator, x_type: type, y_type: type) -> Case:
    """Every code of a byte, or some of a wide type; the length is any."""
    p, r = drawn.rescale(random, x_type, y_type)
    x = drawn.codes(random, (int(random.integers(1, 200)),), x_type)
    if x.itemsize == 1 and random.random() < 0.3:
        x = np.arange(256).astype(x_type)
    return shaped.rescale(x, p, with_integer_rules(random, r), y_type)


def _operand(random: np.random.Generator, stride: int, n: int) -> Iterator[Case]:
    """Scaled codes of an operand, alone and added to sums that wrap."""
    p = drawn.add(random)[0]
    r = p.a._replace(rounding=integer_rounding(random))
    x = drawn.codes(random, (n if stride else 1,))
    moved = np.broadcast_to(x, n).astype(np.int64) - p.a_zero_point << p.left_shift
    scaled = requantize(moved, r, np.int32)
    operand = {"x": x, "stride": stride, "zero_point": p.a_zero_point,
               "left_shift": p.left_shift, "r": requantization(r)}  # fmt: skip
    given = {"operand": operand, "n": n}
    yield Case("npu_scale_operand", {**given, "sums": written(scaled)}, {"sums": scaled})
    sums = drawn.codes(random, (n,), np.int32)
    yield Case("npu_add_operand", {**given, "sums": sums.copy()}, {"sums": sums + scaled})
    last = {"i": n - 1, "rule": r.rounding.rest if n % r.rounding.block else r.rounding.rule}
    yield Case("npu_scaled_code", {"operand": operand, **last}, {"return": int(scaled[-1])})


def _products(random: np.random.Generator, b_stride: int, n: int) -> Case:
    p = drawn.mul(random)[0]
    a, b = drawn.codes(random, (n,)), drawn.codes(random, (n if b_stride else 1,))
    products = (a.astype(np.int32) - p.a_zero_point) * (b.astype(np.int32) - p.b_zero_point)
    given = {"a": a, "a_stride": 1, "b": b, "b_stride": b_stride, "n": n, "p": struct(p)}
    return Case("npu_multiply", {**given, "products": written(products)}, {"products": products})
