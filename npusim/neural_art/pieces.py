"""Kernels in pieces: a pass of the convolution unit takes so many rows, columns and channels.

Letters: KH KW kernel, I input channels of a group.
"""

from collections.abc import Sequence
from itertools import accumulate, pairwise

import numpy as np

ROWS, COLUMNS, CHANNELS = 3, 6, 128
"""The most a pass takes; channels count where the kernel is 1x1."""


def split(length: int, most: int) -> tuple[int, ...]:
    """The length in parts of `most`, and what is left: 7 in parts of 3 is (3, 3, 1)."""
    full, rest = divmod(length, most)
    return (most,) * full + ((rest,) if rest else ())


def runs(rows: Sequence[int], columns: Sequence[int], slabs: Sequence[int]) -> np.ndarray:
    """Pieces as runs of neighbouring products along (KH, KW, I), in the order of the passes.

    rows, columns, slabs   lengths of the parts of KH, KW and I; a pass each for rows, in them
                           columns, in them slabs
    returns                int64 (S, 3): first product, number of products, 1 where a piece ends
    """
    kw, i = sum(columns), sum(slabs)
    found: list[list[int]] = []
    for top, bottom in _ranges(rows):
        for left, right in _ranges(columns):
            for first, last in _ranges(slabs):
                starts_piece = True
                for row in range(top, bottom):
                    for column in range(left, right):
                        start, count = (row * kw + column) * i + first, last - first
                        if not starts_piece and sum(found[-1][:2]) == start:
                            found[-1][1] += count
                        else:
                            found.append([start, count, 0])
                        starts_piece = False
                found[-1][2] = 1
    return np.array(found, np.int64)


def _ranges(lengths: Sequence[int]) -> list[tuple[int, int]]:
    """(first, end) of each part."""
    return list(pairwise(accumulate(lengths, initial=0)))
