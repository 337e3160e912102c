"""Calls of npusim/c/pool.c: windows at every border, equal codes, ties."""

from collections.abc import Iterator

import numpy as np
from kernels import drawn

from npusim.kernels.structs import Pool2d

from ..records import Case
from . import shaped


def cases(random: np.random.Generator) -> Iterator[Case]:
    for code in (-128, -127, -1, 0, 1, 127):
        g = Pool2d(1, 33, 65, 3, 1, 1, 33, 65, 1, 1, 0, 0, -128, 127)
        yield shaped.average_pool2d(np.full((1, 33, 65, 3), code, np.int8), g)
    yield _empty_window()
    for n in (1, 15, 16, 17, 31, 32, 33, 64):
        yield _raise(random, n)
    for total in (*range(-9, 10), 2**30 - 1, 1 - 2**30):
        for divisor in (1, 2, 3, 4, 7, 8, 2**22):
            yield _quotient(total, divisor)


def fuzz(random: np.random.Generator, count: int) -> Iterator[Case]:
    for _ in range(count):
        for pool in (shaped.average_pool2d, shaped.max_pool2d):
            g = drawn.pool2d(random)
            yield pool(drawn.codes(random, (g.n, g.h, g.w, g.c)), g)


def _empty_window() -> Case:
    """A kernel that lies outside altogether gives act_min."""
    g = Pool2d(1, 1, 1, 2, 2, 1, 1, 1, 3, 1, 0, 0, -5, 100)
    given = {"x": np.array([7, -100], np.int8), "g": g._asdict(), "y": np.zeros(4, np.int8)}
    return Case("npu_max_pool2d", given, {"y": np.array([7, -5, -5, -5])})


def _raise(random: np.random.Generator, n: int) -> Case:
    x, y = drawn.codes(random, (2, n))
    given = {"x": x, "n": n, "y": y.copy()}
    return Case("npu_raise_codes", given, {"y": np.maximum(x, y)})


def _quotient(total: int, divisor: int) -> Case:
    """To nearest, ties away from zero, in Python integers."""
    magnitude = (2 * abs(total) + divisor) // (2 * divisor)
    given = {"total": total, "count": divisor}
    return Case("npu_rounded_quotient", given, {"return": -magnitude if total < 0 else magnitude})
