"""The fully connected kernel: sums against Python integers, and where it writes."""

import numpy as np
import pytest
from kernels import drawn, shaped
from kernels.exact import SHIFTS, assert_guarded, guarded, showing, shown
from naive import operators as naive

from npusim.kernels import fully_connected as kernels
from npusim.kernels.structs import FullyConnected

SIZES = [(1, 1, 1), (1, 7, 3), (3, 16, 5), (2, 33, 1), (4, 100, 9)]


def operands(g, seed=0):
    rng = np.random.default_rng(seed)
    bias = rng.choice(np.array([0, 1000, -(2**31), 2**31 - 1], np.int32), g.o)
    return drawn.codes(rng, (g.n, g.i)), drawn.codes(rng, (g.o, g.i)), bias


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("zero_point", [-128, 3, 127])
def test_fully_connected_matches_naive(size, zero_point):
    g = FullyConnected(*size, zero_point)
    x, weights, bias = operands(g)
    acc = naive.fully_connected_accumulators(x, weights, bias, zero_point)
    for shift in SHIFTS:
        actual = shaped.fully_connected(x, weights, bias, g, showing(g.o, shift))
        assert np.array_equal(actual, shown(acc, shift)), shift


def test_long_rows_wrap_to_32_bits():
    g = FullyConnected(1, 70_000, 2, 127)
    x = np.full((1, g.i), -128, np.int8)
    weights = np.stack([np.full(g.i, -128, np.int8), np.full(g.i, 127, np.int8)])
    bias = np.array([5, -5], np.int32)
    acc = [5 + 255 * 128 * g.i, -5 - 255 * 127 * g.i]
    assert acc[0] >= 2**31
    assert acc[1] < -(2**31)
    for shift in SHIFTS:
        actual = shaped.fully_connected(x, weights, bias, g, showing(2, shift))
        assert np.array_equal(actual.ravel(), shown(acc, shift))


def test_rows_do_not_meet():
    g = FullyConnected(3, 20, 4, -5)
    x, weights, bias = operands(g)
    together = shaped.fully_connected(x, weights, bias, g, showing(4, -7))
    for n in range(3):
        alone = shaped.fully_connected(x[n : n + 1], weights, bias, g._replace(n=1), showing(4, -7))
        assert np.array_equal(alone[0], together[n])


@pytest.mark.parametrize("size", SIZES)
def test_fully_connected_writes_its_output_and_nothing_else(size):
    g = FullyConnected(*size, 0)
    x, weights, bias = operands(g)
    r = showing(g.o, -7)
    memory, y = guarded(g.n * g.o)
    patch, acc = np.empty(g.i, np.int16), np.empty(g.o, np.int32)
    kernels.fully_connected(x.ravel(), weights.ravel(), bias, g, r, y, patch, acc)
    assert_guarded(memory)
    assert np.array_equal(y, shaped.fully_connected(x, weights, bias, g, r).ravel())
