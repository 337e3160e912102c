"""The integer primitives at 0, +-1, ties and limits, against Python integers."""

import itertools

import numpy as np
import pytest
from naive import rounding

from npusim.kernels import arith
from npusim.reference import arithmetic

POWERS = [sign * (2**k + d) for k in range(31) for d in (-1, 0, 1) for sign in (-1, 1)]
INT32 = sorted({-(2**31), -(2**31) + 1, *POWERS, 2**31 - 2, 2**31 - 1})
MULTIPLIERS = [0, 2**30, 2**30 + 1, 1518500250, 2**31 - 2, 2**31 - 1]


def test_wrap32_matches_naive():
    values = [*INT32, *(2 * v for v in INT32), 2**31, -(2**31) - 1, 2**40 + 5, -(2**62)]
    expected = [rounding.wrap32(v) for v in values]
    assert [int(arith.wrap32(np.int64(v))) for v in values] == expected
    assert arithmetic.wrap(np.array(values), 32).tolist() == expected


@pytest.mark.parametrize("bits", [8, 16, 24, 31, 33, 62, 63, 64])
def test_wrap_matches_python(bits):
    values = [0, 1, -1, 2**7, -(2**7) - 1, 2**61 + 3, -(2**63), 2**63 - 1, 2**40, 2**62]
    expected = [(v + 2 ** (bits - 1)) % 2**bits - 2 ** (bits - 1) for v in values]
    assert arithmetic.wrap(np.array(values, np.int64), bits).tolist() == expected


def test_high_mul_matches_naive():
    pairs = list(itertools.product(INT32[::3], [*INT32[::5], *MULTIPLIERS]))
    expected = [rounding.high_multiply(a, b) for a, b in pairs]
    a, b = np.array(pairs, np.int64).T
    assert arithmetic.high_mul(a, b).tolist() == expected
    assert [int(arith.saturating_high_mul(*p)) for p in zip(a, b, strict=True)] == expected


def test_high_mul_of_two_smallest_saturates():
    smallest = np.int64(-(2**31))
    assert arith.saturating_high_mul(smallest, smallest) == 2**31 - 1
    assert arithmetic.high_mul(smallest, smallest) == 2**31 - 1


@pytest.mark.parametrize("exponent", range(32))
def test_divide_by_pot_rounds_ties_away_from_zero(exponent):
    half = 2**exponent // 2
    ties = [sign * (k * 2**exponent + half) for k in range(3) for sign in (-1, 1)]
    values = [*INT32, *ties, *(t + 1 for t in ties), *(t - 1 for t in ties)]
    expected = [rounding.divide_away(v, 2**exponent) for v in values]
    assert arithmetic.divide_by_pot(np.array(values), exponent).tolist() == expected
    actual = [int(arith.rounding_divide_by_pot(np.int64(v), np.int64(exponent))) for v in values]
    assert actual == expected


@pytest.mark.parametrize("shift", [-31, -30, -15, -2, -1, 0, 1, 2, 15, 30])
def test_requantize_double_rounding_matches_naive(shift):
    for multiplier in MULTIPLIERS:
        expected = [rounding.requantize_double_rounding(v, multiplier, shift) for v in INT32]
        actual = arithmetic.requantize_double_rounding(np.array(INT32), multiplier, shift)
        assert actual.tolist() == expected
        compiled = [
            int(arith.requantize_double_rounding(np.int64(v), multiplier, shift)) for v in INT32
        ]
        assert compiled == expected


def test_a_quarter_is_rounded_twice():
    """acc / 4: the first rounding keeps halves, the second takes them away from zero."""
    acc = np.array([1, 2, 5, 6, -1, -2, -5, -6])
    actual = arithmetic.requantize_double_rounding(acc, 2**30, -1)
    assert actual.tolist() == [1, 1, 2, 2, 0, -1, -1, -2]
