"""Kernels in pieces: every product once, in the order of the passes."""

import numpy as np
import pytest

from npusim.neural_art.pieces import COLUMNS, ROWS, runs, split


@pytest.mark.parametrize(
    ("length", "most", "parts"),
    [(1, 3, (1,)), (3, 3, (3,)), (5, 3, (3, 2)), (7, 3, (3, 3, 1)), (7, 6, (6, 1)), (6, 6, (6,)),
     (256, 128, (128, 128)), (320, 128, (128, 128, 64)), (128, 128, (128,))],
)  # fmt: skip
def test_split_cuts_what_a_pass_takes(length, most, parts):
    assert split(length, most) == parts


def test_whole_kernel_is_one_run():
    assert runs((3,), (3,), (16,)).tolist() == [[0, 144, 1]]


def test_kernel_of_seven_goes_in_six_passes():
    found = runs(split(7, ROWS), split(7, COLUMNS), (4,))
    ends = np.flatnonzero(found[:, 2])
    sums = np.add.reduceat(found[:, 1], [0, *(ends[:-1] + 1)])
    assert sums.tolist() == [3 * 6 * 4, 3 * 4, 3 * 6 * 4, 3 * 4, 6 * 4, 4]
    assert found[:3].tolist() == [[0, 24, 0], [28, 24, 0], [56, 24, 1]]


@pytest.mark.parametrize("seed", range(40))
def test_runs_cover_every_product_once_in_the_order_of_pieces(seed):
    rng = np.random.default_rng(seed)
    rows, columns, slabs = (rng.integers(1, 4, rng.integers(1, 4)).tolist() for _ in range(3))
    place = np.arange(sum(rows) * sum(columns) * sum(slabs))
    cube = place.reshape(sum(rows), sum(columns), sum(slabs))
    expected = [
        piece.ravel().tolist()
        for strip in np.split(cube, np.cumsum(rows)[:-1], 0)
        for block in np.split(strip, np.cumsum(columns)[:-1], 1)
        for piece in np.split(block, np.cumsum(slabs)[:-1], 2)
    ]
    found, piece = [], []
    for start, count, ends in runs(rows, columns, slabs).tolist():
        piece += range(start, start + count)
        if ends:
            found.append(piece)
            piece = []
    assert piece == []
    assert found == expected
