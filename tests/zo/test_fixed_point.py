"""The one rounding, the one saturation and the ratios of zo, against exact fractions."""

import math
from fractions import Fraction

import numpy as np
import pytest

from zo import fixed_point
from zo.kernels import fixed_point as kernels

VALUES = [0, 1, -1, 2, -2, 3, -3, 127, -128, 2**31 - 1, -(2**31), 2**47 - 1, -(2**47)]


@pytest.mark.parametrize("t", [-14, -1, 0, 1, 2, 3, 15, 16, 31, 47, 62, 63, 64, 200])
def test_rs_rounds_to_nearest_with_ties_up(t):
    tie = 1 << min(max(t - 1, 0), 46)
    values = VALUES + [v + d for v in (tie, -tie) for d in (-1, 0, 1)]
    array = np.array(values, np.int64)
    expected = [0 if t >= 63 else math.floor(v / Fraction(2) ** t + Fraction(1, 2)) for v in values]

    assert [fixed_point.rs(v, t) for v in values] == expected
    assert fixed_point.rs(array, t).tolist() == expected
    assert (
        fixed_point.rs_channels(array[:, None, None], np.array([t]))[:, 0, 0].tolist() == expected
    )
    assert [kernels.rs(v, t) for v in values] == expected


def test_rs_channels_shifts_each_channel_by_its_own():
    x = np.arange(-12, 12).reshape(2, 4, 3)
    shifts = np.array([-2, 0, 1, 64])

    actual = fixed_point.rs_channels(x, shifts)

    for c, t in enumerate(shifts.tolist()):
        np.testing.assert_array_equal(actual[:, c], fixed_point.rs(x[:, c], t))


def test_sat32_saturates_at_limits():
    values = [2**31 - 1, 2**31, 2**60, -(2**31), -(2**31) - 1, 5]
    expected = [2**31 - 1, 2**31 - 1, 2**31 - 1, -(2**31), -(2**31), 5]

    assert fixed_point.sat32(np.array(values)).tolist() == expected
    assert [kernels.sat32(v) for v in values] == expected


def test_floor_log2_is_the_highest_bit():
    powers = [1 << e for e in range(63)]
    values = sorted({*powers, *(p - 1 for p in powers[1:]), *(p + 1 for p in powers)})
    expected = [v.bit_length() - 1 for v in values]

    assert fixed_point.floor_log2(np.array(values)).tolist() == expected
    assert [kernels.floor_log2(v) for v in values] == expected


def test_ratio_is_the_nearest_pair_of_sixteen_bits():
    random = np.random.default_rng(0)
    reals = [Fraction(x) for x in np.exp(random.uniform(-60, 60, 500))]
    for x in [*reals, Fraction(1), Fraction(1, 3), Fraction(2**16 - 1, 7), Fraction(3) ** 99]:
        multiplier, shift = fixed_point.ratio(x)

        assert 2**15 <= multiplier < 2**16
        assert abs(multiplier * Fraction(2) ** -shift - x) <= Fraction(2) ** (-shift - 1)


def test_ratio_halves_a_multiplier_of_seventeen_bits():
    assert fixed_point.ratio(Fraction(2**17 - 1, 2)) == (2**15, -1)
    assert fixed_point.ratio(Fraction(2**16 - 1)) == (2**16 - 1, 0)
    assert fixed_point.ratio(1 - Fraction(1, 2**40)) == (2**15, 15)


@pytest.mark.parametrize("x", [0, -1])
def test_ratio_rejects_what_is_not_positive(x):
    with pytest.raises(ValueError, match=f"ratio: must be above 0, got {x}"):
        fixed_point.ratio(Fraction(x))
