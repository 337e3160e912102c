"""Learning rates: pairs per channel and per q, the cosine, refusals."""

import re
from fractions import Fraction

import numpy as np
import pytest
from naive import training as naive

from zo.rate import LearningRate, cosine_table

SCALES = [0.001, 0.0173, 0.4]


@pytest.mark.parametrize("lr", [1e-6, 3e-4, 0.1])
@pytest.mark.parametrize("scaling", ["linear", "none"])
def test_pairs_match_naive_per_channel_and_q(lr, scaling):
    rates = LearningRate(lr, scaling, "constant").rates(SCALES, (4, 12, 64), 8, 100)

    for q in (4, 12, 64):
        multiplier, right_shift = rates.at(q, 0)
        for c, scale in enumerate(SCALES):
            real = Fraction(lr) / Fraction(scale) ** 2 / 256
            real *= Fraction(q, 8) if scaling == "linear" else 1
            assert (multiplier[c], right_shift[c]) == naive.pair(real)


def test_integer_space_has_one_pair_of_the_mean_scale():
    rates = LearningRate(1e-3, "none", "constant", "integer").rates(SCALES, (8,), 8, 100)
    mean = sum(Fraction(scale) for scale in SCALES) / 3

    multiplier, right_shift = rates.at(8, 0)

    expected = naive.pair(Fraction(1e-3) / mean**2 / 256)
    assert list(zip(multiplier.tolist(), right_shift.tolist(), strict=True)) == [expected] * 3


def test_powers_of_two_change_the_shift_only():
    rates = LearningRate(1e-3).rates(SCALES, (8, 16, 64), 8, 100)

    for q, steps in ((16, 1), (64, 3)):
        np.testing.assert_array_equal(rates.at(q, 0).multiplier, rates.at(8, 0).multiplier)
        np.testing.assert_array_equal(
            rates.at(q, 0).right_shift, rates.at(8, 0).right_shift - steps
        )


@pytest.mark.parametrize("steps", [1, 7, 1024, 5000])
def test_cosine_matches_naive(steps):
    decaying = LearningRate(1e-3).rates(SCALES, (8,), 8, steps)
    constant = LearningRate(1e-3, decay="constant").rates(SCALES, (8,), 8, steps)

    for t in sorted({0, 1, steps // 3, steps // 2, steps - 1, steps, 3 * steps}):
        multiplier, right_shift = decaying.at(8, t)
        undecayed = constant.at(8, t)
        for c in range(3):
            pair = int(undecayed.multiplier[c]), int(undecayed.right_shift[c])
            assert (multiplier[c], right_shift[c]) == naive.decayed(pair, t, steps)


def test_cosine_starts_whole_and_has_no_entry_near_a_tie():
    # So any library's cosine builds the same table.
    table = cosine_table()
    exact = 2**14 * (1 + np.cos(np.pi * np.arange(1024) / 1024))

    assert table[[0, 512, 1023]].tolist() == [1 << 15, 1 << 14, 0]
    assert (np.diff(table) <= 0).all()
    assert (np.abs(exact - np.floor(exact) - 0.5) > 1e-4).all()
    assert LearningRate(1e-3).rates([0.1], (8,), 8, 10).at(8, 0).multiplier[0] >= 1 << 15


def test_rates_that_could_overflow_are_rejected():
    with pytest.raises(
        ValueError, match=re.escape("rate: a step must fit int64, got lr 1000000.0 (shift")
    ):
        LearningRate(1e6).rates([0.001], (8,), 8, 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lr": 0.0}, "rate: lr must be finite and above 0, got 0.0"),
        ({"lr": float("nan")}, "rate: lr must be finite and above 0, got nan"),
        ({"lr": 1, "scaling": "sqrt"}, "rate: scaling must be linear or none, got 'sqrt'"),
        ({"lr": 1, "decay": "step"}, "rate: decay must be cosine or constant, got 'step'"),
        ({"lr": 1, "space": "float"}, "rate: space must be real or integer, got 'float'"),
    ],
)
def test_settings_out_of_range_are_rejected(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        LearningRate(**arguments)


def test_scales_and_steps_must_be_positive():
    with pytest.raises(ValueError, match=r"rate: scales must be above 0, got 0\.0"):
        LearningRate(1e-3).rates([0.1, 0.0], (8,), 8, 10)
    with pytest.raises(ValueError, match="rate: steps must be at least 1, got 0"):
        LearningRate(1e-3).rates([0.1], (8,), 8, 0)
