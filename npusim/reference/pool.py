"""Pools over windows: only the cells inside the input count."""

from collections.abc import Iterator

import numpy as np

from ..kernels.structs import Pool2d


def average_pool2d(x: np.ndarray, g: Pool2d) -> np.ndarray:
    """The mean of the codes of the valid cells, ties away from zero.

    x         int8 (N, H, W, C); every window holds at least one valid cell
    returns   int8 (N, OH, OW, C)
    """
    ones = np.ones((1, g.h, g.w, 1), np.int64)
    total, count = (np.asarray(sum(_cells(v, g, 0))) for v in (x.astype(np.int64), ones))
    return np.clip(rounded_mean(total, count), g.act_min, g.act_max).astype(np.int8)


def rounded_mean(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    """round(total / count), ties away from zero; int64, count from 1."""
    magnitude = (np.abs(total) + count // 2) // count
    return np.where(total < 0, -magnitude, magnitude)


def max_pool2d(x: np.ndarray, g: Pool2d) -> np.ndarray:
    """The largest code of the valid cells.

    x         int8 (N, H, W, C)
    returns   int8 (N, OH, OW, C)
    """
    largest = np.maximum.reduce(list(_cells(x.astype(np.int64), g, -128)))
    return np.clip(largest, g.act_min, g.act_max).astype(np.int8)


def _cells(x: np.ndarray, g: Pool2d, outside: int) -> Iterator[np.ndarray]:
    """For each kernel cell: the input under it (N, OH, OW, C), `outside` in the padding."""
    bottom = max((g.oh - 1) * g.stride_h + g.kh - g.pad_top - g.h, 0)
    right = max((g.ow - 1) * g.stride_w + g.kw - g.pad_left - g.w, 0)
    padding = ((0, 0), (g.pad_top, bottom), (g.pad_left, right), (0, 0))
    field = np.pad(x, padding, constant_values=outside)
    for row in range(g.kh):
        for column in range(g.kw):
            yield field[:, row :: g.stride_h, column :: g.stride_w][:, : g.oh, : g.ow]
