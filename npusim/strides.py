"""Walks over arrays: shapes and strides, merged into as few dimensions as possible.

A walk visits positions in row-major order of `shape`; an operand's stride says how far (in
elements) one step along a dimension moves in it: 0 where the operand repeats. Dimensions that can
be walked as one are merged, so kernels meet long rows.
"""

from collections.abc import Sequence
from math import prod
from typing import NamedTuple

import numpy as np

Shape = Sequence[int]


class Walk(NamedTuple):
    """shape int64 (R,), R >= 1, and for each operand its strides int64 (R,)."""

    shape: np.ndarray
    strides: tuple[np.ndarray, ...]


def contiguous(shape: Shape) -> tuple[int, ...]:
    """Strides of a C-contiguous array."""
    return tuple(prod(shape[d + 1 :]) for d in range(len(shape)))


def merge(shape: Shape, *strides: Sequence[int]) -> Walk:
    """The same walk with dimensions of length 1 dropped and neighbours joined where all agree."""
    dimensions: list[tuple[int, ...]] = []
    for length, *steps in zip(shape, *strides, strict=True):
        if length == 1:
            continue
        if dimensions and all(
            outer == length * step for outer, step in zip(dimensions[-1][1:], steps, strict=True)
        ):
            length *= dimensions.pop()[0]
        dimensions.append((length, *steps))
    columns = np.array(dimensions or [(1,) * (1 + len(strides))], np.int64).T
    return Walk(columns[0].copy(), tuple(column.copy() for column in columns[1:]))


def broadcast(a: Shape, b: Shape, y: Shape) -> Walk:
    """y in order; strides of two operands that broadcast to its shape."""
    return merge(y, *(_repeating(shape, len(y)) for shape in (a, b)))


def transposition(x: Shape, permutation: Sequence[int]) -> Walk:
    """y in order, y's dimension d being x's dimension permutation[d]; strides of x."""
    steps = contiguous(x)
    return merge([x[axis] for axis in permutation], [steps[axis] for axis in permutation])


def reduction(x: Shape, axes: Sequence[int]) -> Walk:
    """x in order; strides of the result, 0 along the reduced axes."""
    kept = [1 if axis in axes else length for axis, length in enumerate(x)]
    return merge(x, _repeating(kept, len(x)))


def placement(x: Shape, padding: Sequence[tuple[int, int]]) -> tuple[Walk, int]:
    """x in order; strides of the padded array, the last one 1, and where in it x begins."""
    padded = [n + before + after for n, (before, after) in zip(x, padding, strict=True)]
    steps = contiguous(padded)
    start = sum(before * step for (before, _), step in zip(padding, steps, strict=True))
    walk = merge(x, steps)
    if walk.strides[0][-1] != 1:  # x ends in a dimension of one cell, which was dropped
        walk = Walk(np.append(walk.shape, 1), (np.append(walk.strides[0], 1),))
    return walk, start


def _repeating(shape: Shape, rank: int) -> tuple[int, ...]:
    """Strides of an array seen with `rank` dimensions, 0 where its length is 1."""
    steps = [0 if n == 1 else step for n, step in zip(shape, contiguous(shape), strict=True)]
    return (0,) * (rank - len(steps)) + tuple(steps)
