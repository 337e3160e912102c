"""Small pictures of where two tensors differ: rows by columns, channels, or a folded vector."""

from typing import NamedTuple

import numpy as np

LARGEST = 64
"""Cells along each side of a map; larger ones are averaged down."""


class Map(NamedTuple):
    """A picture: mean difference per cell, signed, beside the share of elements that differ.

    title         such as "row x column"
    mean, share   float64 (rows, columns)
    """

    title: str
    mean: np.ndarray
    share: np.ndarray


def maps(difference: np.ndarray) -> tuple[Map, ...]:
    """Pictures of a difference (N, H, W, C), (N, C) or of another shape; none of a single cell."""
    wide = np.nan_to_num(difference.astype(np.float64), posinf=0.0, neginf=0.0)
    pictures = [_folded(wide, "channel" if wide.ndim > 1 else "element")]
    if wide.ndim == 4:
        pictures.insert(0, _over(wide, "row by column", (0, 3)))
    return tuple(p for p in pictures if p.mean.size > 1)


def _over(wide: np.ndarray, title: str, axes: tuple[int, ...]) -> Map:
    return Map(title, _shrunk(wide.mean(axis=axes)), _shrunk((wide != 0).mean(axis=axes)))


def _folded(wide: np.ndarray, title: str) -> Map:
    """The last dimension, in rows of LARGEST cells; a part of a row is filled with zeros."""
    length = wide.shape[-1] if wide.ndim else 1
    lines = wide.reshape(-1, length)
    mean, share = lines.mean(axis=0), (lines != 0).mean(axis=0)
    columns = min(length, LARGEST)
    rows = -(-length // columns)
    padding = (0, rows * columns - length)
    return Map(
        title,
        _shrunk(np.pad(mean, padding).reshape(rows, columns)),
        _shrunk(np.pad(share, padding).reshape(rows, columns)),
    )


def _shrunk(cells: np.ndarray) -> np.ndarray:
    """Means over equal blocks, so that no side is longer than LARGEST."""
    for axis in (0, 1):
        length = cells.shape[axis]
        if length > LARGEST:
            edges = [k * length // LARGEST for k in range(LARGEST)]
            sums = np.add.reduceat(cells, edges, axis=axis)
            sizes = np.diff([*edges, length])
            cells = sums / (sizes[:, np.newaxis] if axis == 0 else sizes)
    return cells
