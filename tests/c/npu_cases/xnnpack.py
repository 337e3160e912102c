"""Calls of npusim/c/xnnpack.c: every pair of codes, broadcasting, every code."""

from collections.abc import Iterator

import numpy as np
from kernels import drawn

from ..records import Case
from . import shaped
from .elementwise import ALL_CODES, EVERY_PAIR
from .shapes import broadcasting


def cases(random: np.random.Generator) -> Iterator[Case]:
    for _ in range(3):
        yield shaped.add_xnnpack(*EVERY_PAIR, *drawn.add_xnnpack(random))


def fuzz(random: np.random.Generator, count: int) -> Iterator[Case]:
    for _ in range(count):
        a, b = (drawn.codes(random, shape) for shape in broadcasting(random))
        yield shaped.add_xnnpack(a, b, *drawn.add_xnnpack(random))
        yield shaped.rescale_xnnpack(ALL_CODES, *drawn.rescale_xnnpack(random))
