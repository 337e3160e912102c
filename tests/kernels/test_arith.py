"""The integer primitives at 0, +-1, ties and limits, against Python integers."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels.rule_answers import FLOAT_RULES, INTEGER_RULES, answers
from naive import rounding

from npusim.kernels import arith
from npusim.reference import arithmetic

POWERS = [sign * (2**k + d) for k in range(31) for d in (-1, 0, 1) for sign in (-1, 1)]
INT32 = sorted({-(2**31), -(2**31) + 1, *POWERS, 2**31 - 2, 2**31 - 1})
WIDE = [sign * (2**k + d) for k in range(31, 63) for d in (-1, 0, 1) for sign in (-1, 1)]
WIDE += [-(2**63), 2**63 - 1]
TIES = [sign * (4 * k + d) for k in range(9) for d in (1, 2, 3) for sign in (-1, 1)]
SHIFTS = [-31, -30, -15, -2, -1, 0, 1, 2, 15, 30, 31]
SCALES = [0.25, 0.5, 2.0**-31, 1 / 3, 0.1, 1 - 2.0**-25, 1.0, 1.5, 255.99999, 2.0**30, 1e-12]
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


@pytest.mark.parametrize("rule", INTEGER_RULES)
@pytest.mark.parametrize("shift", SHIFTS)
def test_integer_rule_matches_naive(rule, shift):
    for multiplier in MULTIPLIERS:
        expected, reference, compiled = answers(rule, INT32, multiplier, shift)
        assert reference == expected
        assert compiled == expected


@pytest.mark.parametrize("shift", SHIFTS)
def test_single_rounding_of_wide_accumulators_saturates_or_is_exact(shift):
    for multiplier in MULTIPLIERS:
        expected, reference, compiled = answers("single_rounding", WIDE, multiplier, shift)
        for naive, *actual in zip(expected, reference, compiled, strict=True):
            fits = abs(naive) < 2**31 - 1
            assert all(a == naive if fits else ends_alike(a, naive) for a in actual)


def ends_alike(actual, naive):
    """Beyond int32 on the same side; its ends are all the same to any clamp."""
    return abs(actual) >= 2**31 - 1 and (actual > 0) == (naive > 0)


@pytest.mark.parametrize("rule", FLOAT_RULES)
@pytest.mark.parametrize("scale", SCALES)
def test_float_rule_matches_naive(rule, scale):
    expected, reference, compiled = answers(rule, [*INT32, *TIES], scale)
    assert reference == expected
    assert compiled == expected


@pytest.mark.parametrize("shift", [-31, -16, -5, -1, 0, 1, 7, 14])
def test_int16_reduced_matches_naive(shift):
    values = [*INT32, 2**46 + 12345, -(2**46) - 1, 2**47 - 1, -(2**47)]
    for multiplier in MULTIPLIERS:
        expected, reference, compiled = answers("int16_reduced", values, multiplier, shift)
        assert reference == expected
        assert compiled == expected


@settings(max_examples=300, deadline=None)
@given(st.integers(-(2**31), 2**31 - 1), st.integers(2**30, 2**31 - 1), st.integers(-31, 31))
def test_rules_of_any_accumulator_match_naive(acc, multiplier, shift):
    for rule in INTEGER_RULES:
        expected, reference, compiled = answers(rule, [acc], multiplier, shift)
        assert reference == compiled == expected
    scale = math.ldexp(multiplier, shift - 31)
    for rule in FLOAT_RULES:
        expected, reference, compiled = answers(rule, [acc], scale)
        assert reference == compiled == expected


ACCUMULATORS = [1, 2, 5, 6, -1, -2, -5, -6]
QUARTERS = {
    "double_rounding": [1, 1, 2, 2, 0, -1, -1, -2],
    "double_rounding_up": [1, 1, 2, 2, 0, 0, -1, -1],
    "double_rounding_down": [0, 0, 1, 1, 0, -1, -1, -2],
    "single_rounding": [0, 1, 1, 2, 0, 0, -1, -1],
    "float32_even": [0, 0, 1, 2, 0, 0, -1, -2],
    "float64_away": [0, 1, 1, 2, 0, -1, -1, -2],
}


@pytest.mark.parametrize("rule", QUARTERS)
def test_a_quarter_by_every_rule(rule):
    """acc / 4, with all ties: github.com/tensorflow/tensorflow/issues/99072"""
    numbers = (0.25,) if rule in FLOAT_RULES else (2**30, -1)
    assert all(a == QUARTERS[rule] for a in answers(rule, ACCUMULATORS, *numbers))
