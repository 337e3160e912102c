"""Pools and mean: kernel and reference, bit for bit."""

import itertools
from math import prod

import numpy as np
import pytest
from kernels import drawn
from kernels.twins import assert_kernel_matches_reference

from npusim.kernels.pool import rounded_quotient
from npusim.kernels.structs import Pool2d


@pytest.mark.parametrize("op", ["average_pool2d", "max_pool2d"])
@pytest.mark.parametrize("seed", range(40))
def test_pool_kernel_matches_reference(op, seed):
    rng = np.random.default_rng(seed)
    g = drawn.pool2d(rng)
    assert_kernel_matches_reference(op, drawn.codes(rng, (g.n, g.h, g.w, g.c)), g)


@pytest.mark.parametrize("code", [-128, -127, -1, 0, 1, 127])
def test_average_pool_of_equal_codes_is_that_code(code):
    g = Pool2d(1, 33, 65, 3, 1, 1, 33, 65, 1, 1, 0, 0, -128, 127)
    x = np.full((1, 33, 65, 3), code, np.int8)
    assert_kernel_matches_reference("average_pool2d", x, g)


@pytest.mark.parametrize(
    ("total", "count", "expected"),
    [(10, 4, 3), (-10, 4, -3), (9, 4, 2), (-9, 4, -2), (0, 7, 0), (-255, 2, -128), (5, 1, 5)],
)
def test_quotient_rounds_ties_away_from_zero(total, count, expected):
    assert rounded_quotient(np.int32(total), np.int32(count)) == expected


def _axes(rank):
    return [axes for k in range(1, rank + 1) for axes in itertools.combinations(range(rank), k)]


@pytest.mark.parametrize("keep_dims", [False, True])
@pytest.mark.parametrize("shape", [(9,), (3, 5), (4, 1, 6), (2, 7, 5, 3), (2, 3, 1, 2, 4, 3)])
def test_mean_kernel_matches_reference_over_all_axes(shape, keep_dims):
    rng = np.random.default_rng(len(shape))
    for axes in _axes(len(shape)):
        cells = prod(shape[axis] for axis in axes)
        x = drawn.codes(rng, shape)
        assert_kernel_matches_reference("mean", x, axes, *drawn.mean(rng, cells), keep_dims)
        structs = drawn.mean_xnnpack(rng, cells)
        assert_kernel_matches_reference("mean_xnnpack", x, axes, *structs, keep_dims)
