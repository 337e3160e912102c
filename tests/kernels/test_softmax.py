"""Softmax in fixed point: kernel and reference, bit for bit."""

import importlib

import numpy as np
import pytest
from kernels import drawn
from kernels.twins import assert_kernel_matches_reference

from npusim.kernels import softmax as kernels
from npusim.kernels.structs import Softmax

reference = importlib.import_module(
    "npusim.reference.softmax"
)  # the package has a function so called

DIFFERENCES = np.stack([np.full(256, 127), np.arange(-128, 128)], axis=1).astype(np.int8)


@pytest.mark.parametrize("seed", range(30))
def test_softmax_of_every_difference_matches_reference(seed):
    p = drawn.softmax(np.random.default_rng(seed), *DIFFERENCES.shape)
    assert_kernel_matches_reference("softmax", DIFFERENCES, p)


@pytest.mark.parametrize("depth", [1, 2, 3, 10, 33, 255, 511, 512, 1001, 4097, 8192])
def test_softmax_of_equal_codes_matches_reference(depth):
    p = Softmax(2, depth, 2**30, 24, -124)
    x = np.repeat(np.array([[-128], [127]], np.int8), depth, axis=1)
    assert_kernel_matches_reference("softmax", x, p)


@pytest.mark.parametrize("seed", range(30))
def test_softmax_kernel_matches_reference(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(v) for v in rng.integers(1, (5, 4, 200)))
    p = drawn.softmax(rng, shape[0] * shape[1], shape[2])
    assert_kernel_matches_reference("softmax", drawn.codes(rng, shape), p)


def test_softmax_constants_are_what_their_formulas_say():
    names = ("EXP_MINUS_EIGHTH", "THIRD", "EXP_MINUS_POWER", "NEWTON_START", "NEWTON_SLOPE")
    assert [getattr(kernels, n) for n in names] == [getattr(reference, n) for n in names]


def test_exp_of_negative_matches_reference_and_errs_little():
    """Every 4099th Q5.26 number in -32..0, in units of 2^-31.

    The Taylor polynomial leaves out terms from (1/8)^5 / 5! on, which is 546 units.
    """
    a = np.arange(-(2**31), 1, 4099)
    expected = reference.exp_of_negative(a)
    actual = np.array([kernels.exp_of_negative(v) for v in a])
    assert np.array_equal(actual, expected)
    exact = np.exp(a / 2**26) * 2**31
    assert np.abs(expected - exact).max() < 560


def test_reciprocal_matches_reference_and_errs_little():
    """Every 4099th Q0.31 number in 0..1; the error bound is 16 units of 2^-31."""
    a = np.arange(0, 2**31, 4099)
    expected = reference.reciprocal_of_one_plus(a)
    actual = np.array([kernels.reciprocal_of_one_plus(v) for v in a])
    assert np.array_equal(actual, expected)
    exact = 2.0**31 / (1 + a / 2**31)
    assert np.abs(expected - exact).max() < 16


@pytest.mark.parametrize("seed", range(30))
def test_softmax_x86_kernel_matches_reference(seed):
    rng = np.random.default_rng(seed)
    shape = tuple(int(v) for v in rng.integers(1, (5, 4, 200)))
    p = drawn.softmax_x86(rng, shape[0] * shape[1], shape[2])
    assert_kernel_matches_reference("softmax_x86", drawn.codes(rng, shape), p)
    p = p._replace(rows=DIFFERENCES.shape[0], depth=2)
    assert_kernel_matches_reference("softmax_x86", DIFFERENCES, p)
