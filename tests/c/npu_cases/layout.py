"""Calls of npusim/c/layout.c and npusim/c/offset.h: every permutation, elements of 1 to 8 bytes."""

from collections.abc import Iterator
from itertools import permutations

import numpy as np
from kernels import drawn

from ..records import Case
from . import shaped
from .shapes import any_shape

TYPES = (np.int8, np.int16, np.int32, np.int64)


def cases(random: np.random.Generator) -> Iterator[Case]:
    for permutation in permutations(range(4)):
        yield shaped.transpose(_array(random, (3, 4, 2, 5)), permutation)
    for n in (0, 1, 100):
        yield shaped.move(drawn.codes(random, (n,)))
    for _ in range(30):
        yield from _rows(random)


def fuzz(random: np.random.Generator, count: int) -> Iterator[Case]:
    for _ in range(count):
        x = _array(random, any_shape(random))
        yield shaped.transpose(x, random.permutation(x.ndim).tolist())
        yield _pad(random)


def _array(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return drawn.codes(random, shape, TYPES[int(random.integers(len(TYPES)))])


def _pad(random: np.random.Generator) -> Case:
    x = _array(random, any_shape(random))
    sides = random.integers(0, 4, (x.ndim, 2)) * random.integers(0, 2, (x.ndim, 2))
    return shaped.pad(x, [tuple(side) for side in sides.tolist()], int(random.integers(-128, 128)))


def _rows(random: np.random.Generator) -> Iterator[Case]:
    """Rows of an array with its dimensions exchanged: their first elements are where NumPy says."""
    shape = any_shape(random)
    order = random.permutation(len(shape))
    places = np.arange(np.prod(shape)).reshape(shape).transpose(order)
    walk = {"shape": np.array(places.shape, np.int32), "rank": places.ndim}
    strides = np.array([s // places.itemsize for s in places.strides], np.int32)
    firsts = places[..., 0].reshape(-1)
    yield Case("npu_rows_of", walk, {"return": firsts.size})
    row = int(random.integers(firsts.size))
    given = {"row": row, **walk, "strides": strides}
    yield Case("npu_offset", given, {"return": int(firsts[row])})
