"""The update rules bit by bit: equality with naive at the rails, limits, random fuzz."""

import re

import numpy as np
import pytest
from naive import training as naive

from zo import perturb, prng, update
from zo.fixed_point import Ratio

pytestmark = pytest.mark.usefixtures("isa")

LAYOUTS = [(4, 25), (1, 100), (50, 1), (5, 4)]  # (channels, inner): fully connected .. depthwise


def random_state(rule, layout, n, seed):
    """A state in mid-run with three quarters of its codes at a rail, and its naive twin."""
    random = np.random.default_rng(seed)
    lo, hi = rule.rails
    codes = random.integers(lo, hi + 1, n)
    at_rail = random.random(n) < 0.75
    codes[at_rail] = random.choice([lo, hi], n)[at_rail]
    state = update.new_state(codes.astype(np.int8), *layout, rule)
    state.doublings[:] = random.integers(0, 4, layout[0])
    if state.momentum.size:
        state.momentum[:] = random.integers(-(2**31), 2**31, n) >> random.integers(0, 20, n)
    if state.residual.size:
        state.residual[:] = random.integers(-(2**15), 2**15, n)
        state.residual[at_rail] = 0
    twin = naive.Tensor(
        state.codes.tolist(), *layout, 7, state.residual.tolist(), state.momentum.tolist(),
        state.doublings.tolist(),
    )  # fmt: skip
    return state, twin


def random_rate(channels, random):
    """Rates from a step of no effect to one from rail to rail."""
    return Ratio(random.integers(0, 1 << 16, channels), random.integers(-4, 70, channels))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", update.RULES)
@pytest.mark.parametrize("beta", [0, 29491])
def test_update_matches_naive(name, layout, beta):
    for trial in range(6):
        random = np.random.default_rng(trial)
        k, q, n = int(random.integers(1, 7)), int(random.integers(1, 10)), 100
        rule = update.UpdateRule(name, perturb.rails(k), beta, threshold=1 << 14)
        state, twin = random_state(rule, layout, n, trial)
        rate = random_rate(layout[0], random)
        gradient = random.integers(-(2**40), 2**40, n) >> random.integers(0, 40, n)
        den = q * 64 * k
        before = twin.codes.copy()

        moved = update.update(
            state, gradient, update.gradient_scale(den, layout[0]), rate, rule,
            prng.rounding_stream(3, 11, 7),
        )  # fmt: skip

        settings = naive.Settings(3, k, 64, rule=name, beta=beta, threshold=1 << 14)
        pairs = list(zip(rate.multiplier.tolist(), rate.right_shift.tolist(), strict=True))
        scaled = naive.scaled_gradient(gradient.tolist(), den)
        naive.update(twin, scaled, pairs, settings, 11)
        assert state.codes.tolist() == twin.codes
        assert moved == sum(a != b for a, b in zip(before, twin.codes, strict=True))
        assert not state.residual.size or state.residual.tolist() == twin.residual
        assert not state.momentum.size or state.momentum.tolist() == twin.momentum


@pytest.mark.parametrize("den", [1, 2, 3, 64, 65, 12345, 1024 * 1023 * 64 * 126])
def test_gradient_scale_is_a_division(den):
    multiplier, shift = update.gradient_scale(den, 3)

    assert 1 << 15 <= multiplier[0] <= 1 << 16
    assert multiplier.tolist() == [multiplier[0]] * 3
    exact = naive.Fraction(2**8, den)
    actual = naive.Fraction(int(multiplier[0]), 2 ** int(shift[0]))
    assert abs(actual / exact - 1) <= naive.Fraction(1, 2**15)


def test_momentum_saturates_at_limits():
    rule = update.UpdateRule("nearest", perturb.rails(1))
    state = update.new_state(np.zeros(4, np.int8), 1, 4, rule)
    state.momentum[:] = 2**31 - 1, -(2**31), 2**31 - 1, 100
    gradient = np.array([2**45, -(2**45), -(2**45), 0])
    one, none = Ratio(np.array([1 << 16]), np.array([16])), Ratio(np.array([0]), np.array([0]))

    update.update(state, gradient, one, none, rule, prng.rounding_stream(0, 0, 0))

    assert state.momentum.tolist() == [2**31 - 1, -(2**31), -(2**31), 90]


def test_error_feedback_loses_nothing_until_a_rail():
    # 3/16 code per step: codes and residual together move by exactly that much.
    rule = update.UpdateRule("error_feedback", perturb.rails(1), beta=0)
    state = update.new_state(np.array([0, 120, -5], np.int8), 1, 3, rule)
    one_to_one = Ratio(np.array([1 << 15]), np.array([15]))
    gradient = np.array([-3 << 12] * 3)

    for step in range(1, 101):
        update.update(state, gradient, one_to_one, one_to_one, rule, prng.rounding_stream(0, 0, 0))
        master = (state.codes.astype(int) << 16) + state.residual
        wanted = [min((w << 16) + step * (3 << 12), 126 << 16) for w in (0, 120, -5)]
        assert master.tolist() == wanted
    assert state.codes[1] == 126
    assert state.residual[1] == 0


def test_stochastic_rounding_is_fair():
    # u of 1/4 code: each code moves with probability 1/4; 5 deviations of 10,000 are 217.
    rule = update.UpdateRule("stochastic", perturb.rails(1), beta=0)
    state = update.new_state(np.zeros(10000, np.int8), 1, 10000, rule)
    one_to_one = Ratio(np.array([1 << 15]), np.array([15]))

    moved = update.update(state, np.full(10000, 1 << 14), one_to_one, one_to_one, rule,
                          prng.rounding_stream(5, 0, 0))  # fmt: skip

    assert abs(moved - 2500) < 217
    assert set(np.unique(state.codes).tolist()) == {-1, 0}


def test_states_keep_only_what_their_rule_needs():
    codes = np.zeros((2, 3, 4), np.int8)
    rails = perturb.rails(1)

    full = update.new_state(codes, 2, 12, update.UpdateRule("error_feedback", rails))
    bare = update.new_state(codes, 2, 12, update.UpdateRule("nearest", rails, beta=0))

    assert [array.size for array in full[:4]] == [24, 24, 24, 2]
    assert [array.size for array in bare[:4]] == [24, 0, 0, 2]
    full.codes[0] = 9
    assert codes[0, 0, 0] == 9


def test_states_reject_channels_that_do_not_tile():
    rule = update.UpdateRule("nearest", perturb.rails(1))
    with pytest.raises(ValueError, match="3 channels of 2 weights must tile the tensor, got 8"):
        update.new_state(np.zeros(8, np.int8), 3, 2, rule)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "adam"}, "update: rule must be one of error_feedback, nearest, stochastic, "
                           "threshold, sign, got 'adam'"),
        ({"name": "sign", "beta": 1 << 15}, "update: beta must be 0..32767 (Q15), got 32768"),
        ({"name": "threshold", "threshold": 0}, "update: threshold must be above 0, got 0"),
    ],
)  # fmt: skip
def test_rules_reject_wrong_settings(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        update.UpdateRule(rails=perturb.rails(1), **arguments)
