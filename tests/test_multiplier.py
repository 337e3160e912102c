"""Real scales as fixed-point multipliers, at the edges and against the naive twin."""

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from naive import rounding

from npusim.multiplier import quantize_multiplier, quantize_multipliers, real_multiplier

REPRESENTABLE = st.floats(2.0**-32, 2.0**31 * (1 - 2**-31))


@pytest.mark.parametrize(
    ("real", "expected"),
    [
        (1.0, (2**30, 1)),
        (0.5, (2**30, 0)),
        (0.25, (2**30, -1)),
        (1.5, (3 * 2**29, 1)),
        (0.75 + 2**-32, (2**30 + 2**29 + 1, 0)),  # half of the last place is rounded up
        (2.0**30, (2**30, 31)),  # the largest shift
        (0.0, (0, 0)),
    ],
)
def test_multiplier_has_known_values(real, expected):
    assert quantize_multiplier(real) == expected


@pytest.mark.parametrize("real", [1 - 2**-33, 1 - 2**-32, 1 - 2**-53])
def test_mantissa_that_rounds_to_two_to_the_31_is_halved(real):
    """github.com/google/ruy/issues/300: 2^31 does not fit int32."""
    multiplier, shift = quantize_multiplier(real)
    assert (multiplier, shift) == quantize_multiplier(1.0) == (2**30, 1)
    assert rounding.requantize_double_rounding(100, multiplier, shift) == 100


def test_mantissa_just_below_rounds_down():
    assert quantize_multiplier(1 - 2**-31) == (2**31 - 1, 0)


def test_vanishing_multipliers_become_zero():
    """github.com/tensorflow/tensorflow/pull/26977: 2^-32 is the last representable one."""
    assert quantize_multiplier(2.0**-32) == (2**30, -31)
    assert quantize_multiplier(2.0**-32 * (1 - 2**-40)) == (2**30, -31)
    assert quantize_multiplier(2.0**-32 * (1 - 2**-30)) == (0, 0)
    assert quantize_multiplier(2.0**-33) == (0, 0)
    assert quantize_multiplier(5e-324) == (0, 0)


def test_multiplier_of_a_reported_layer():
    """github.com/ARM-software/CMSIS-NN/issues/184: Q0.31, and a negative shift is to the right."""
    real = 0.5416631102561951 * 0.003441296052187681 / 0.1264280378818512
    multiplier, shift = quantize_multiplier(real)
    assert (multiplier, shift) == (2026365287, -6)
    assert rounding.requantize_double_rounding(5523, multiplier, shift) == 81


@pytest.mark.parametrize("real", [-1.0, -(2.0**-40), math.inf, -math.inf, math.nan])
def test_multiplier_rejects_what_is_no_scale(real):
    rule = (f"multiplier: must be finite and not negative, got {real!r}; use scales closer to "
            "each other")  # fmt: skip
    with pytest.raises(ValueError, match=re.escape(rule)):
        quantize_multiplier(real)


@pytest.mark.parametrize("real", [2.0**31, 2.0**31 - 0.5, 1e300])
def test_multiplier_rejects_what_needs_too_large_a_shift(real):
    rule = f"multiplier: must be below 2^31, got {real!r}; raise the output scale"
    with pytest.raises(ValueError, match=re.escape(rule)):
        quantize_multiplier(real)


@given(st.floats(0.0, 2.0**31 * (1 - 2**-31)))
def test_multiplier_matches_naive(real):
    assert quantize_multiplier(real) == rounding.quantize_multiplier(real)


@given(REPRESENTABLE)
def test_multiplier_is_normalised_and_near(real):
    multiplier, shift = quantize_multiplier(real)
    assert 2**30 <= multiplier < 2**31
    assert -31 <= shift <= 31
    assert abs(real_multiplier(multiplier, shift) - real) <= real * 2.0**-31


@given(st.integers(2**30, 2**31 - 1), st.integers(-31, 31))
def test_real_multiplier_round_trips(multiplier, shift):
    assert quantize_multiplier(real_multiplier(multiplier, shift)) == (multiplier, shift)


def test_real_multiplier_takes_array_elements():
    pair = np.array([2**30, -31], np.int32)
    assert real_multiplier(*pair) == 2.0**-32


def test_multipliers_are_int32_arrays():
    reals = [1.0, 0.0, 2.0**-33, 0.3, 1 - 2**-33]
    multiplier, shift = quantize_multipliers(reals)
    assert (multiplier.dtype, shift.dtype) == (np.int32, np.int32)
    pairs = list(zip(multiplier.tolist(), shift.tolist(), strict=True))
    assert pairs == [quantize_multiplier(real) for real in reals]


def test_no_multipliers_are_empty_arrays():
    multiplier, shift = quantize_multipliers([])
    assert multiplier.shape == shift.shape == (0,)
