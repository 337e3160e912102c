"""Calls of npusim/c/softmax.c: every difference of codes, equal codes, Q-numbers of all sizes."""

import importlib
from collections.abc import Iterator

import numpy as np
from kernels import drawn

from npusim.kernels.structs import Softmax

from ..records import Case
from . import shaped

reference = importlib.import_module(
    "npusim.reference.softmax"
)  # the package has a function so called

DIFFERENCES = np.stack([np.full(256, 127), np.arange(-128, 128)], axis=1).astype(np.int8)
DEPTHS = (1, 2, 3, 10, 33, 255, 511, 512, 1001, 2047, 2048, 4097, 8191, 8192)
TOP = 2**31 - 1


def cases(random: np.random.Generator) -> Iterator[Case]:
    for _ in range(30):
        yield shaped.softmax(DIFFERENCES, drawn.softmax(random, *DIFFERENCES.shape))
    for depth in DEPTHS:
        p = Softmax(2, depth, 2**30, 24, -124)
        yield shaped.softmax(np.repeat(np.array([[-128], [127]], np.int8), depth, axis=1), p)
    for a in (0, -1, -(2**24), 1 - 2**24, -(2**31), *_spread(random, -(2**31), 0)):
        expected = reference.exp_of_negative(np.array([a]))[0]
        yield Case("npu_exp_of_negative", {"a": a}, {"return": int(expected)})
    for a in (0, 1, TOP - 1, TOP, *_spread(random, 0, TOP)):
        expected = reference.reciprocal_of_one_plus(np.array([a]))[0]
        yield Case("npu_reciprocal_of_one_plus", {"a": a}, {"return": int(expected)})


def fuzz(random: np.random.Generator, count: int) -> Iterator[Case]:
    for _ in range(count):
        rows, depth = (int(v) for v in random.integers(1, (9, 200)))
        x = drawn.codes(random, (rows, depth))
        yield shaped.softmax(x, drawn.softmax(random, rows, depth))


def _spread(random: np.random.Generator, low: int, high: int) -> list[int]:
    """Numbers of every size between two ends."""
    return (random.integers(low, high, 300) >> random.integers(0, 31, 300)).tolist()
