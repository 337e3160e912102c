"""Calls of npusim/c/elementwise.c: every pair of codes, broadcasting, blocks, pairs of types."""

from collections.abc import Iterator

import numpy as np
from kernels import drawn

from npusim import strides
from npusim.kernels.structs import Add, Requantization, Rounding
from npusim.kernels.table import RESCALES

from ..records import Case
from . import shaped
from .arguments import INTEGER_RULES, integer_rounding, with_integer_rules
from .shapes import broadcasting

ALL_CODES = np.arange(-128, 128, dtype=np.int8)
EVERY_PAIR = np.repeat(ALL_CODES, 256), np.tile(ALL_CODES, 256)


def cases(random: np.random.Generator) -> Iterator[Case]:
    for rule in INTEGER_RULES:
        yield shaped.add(*EVERY_PAIR, *_add(random, EVERY_PAIR[0].size, Rounding(rule, 1, rule)))
        yield shaped.mul(*EVERY_PAIR, *_mul(random, rule))
    for n in (1, 3, 4, 5, 15, 16, 17, 33):
        yield _differences(random, 0, n)
        yield _differences(random, 1, n)
        yield from _in_place(random, n)


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


def _differences(random: np.random.Generator, stride: int, n: int) -> Case:
    start = int(random.integers(0, 4))
    x, zero_point = drawn.codes(random, (start + n,)), drawn.zero_point(random)
    given = {"x": x, "start": start, "stride": stride, "n": n, "zero_point": zero_point}
    codes = x[start:] if stride else np.repeat(x[start], n)
    return Case(
        "npu_differences",
        {**given, "out": np.zeros(n, np.int32)},
        {"out": codes.astype(np.int32) - zero_point},
    )


def _in_place(random: np.random.Generator, n: int) -> Iterator[Case]:
    """int32 of every size: results wrap."""
    values, others = drawn.codes(random, (2, n), np.int32)
    exponent = int(random.integers(0, 32))
    shifted = (values.astype(np.int64) << exponent).astype(np.int32)
    given = {"values": values.copy(), "n": n}
    yield Case("npu_shift_left", {**given, "exponent": exponent}, {"values": shifted})
    given["others"] = others
    yield Case("npu_add_to", given, {"values": values + others})
    yield Case("npu_multiply_by", given, {"values": values * others})
