"""Doubling of weight and logit scales: equality with naive, thresholds, exactness."""

import numpy as np
import pytest
from naive import training as naive

from zo import loss, perturb, recalibrate, update
from zo.fixed_point import rs

pytestmark = pytest.mark.usefixtures("isa")


def crowded_state(rule, channels, inner, outer, seed):
    """Channels with between none and 3 % of their codes at a rail, and the naive twin."""
    random = np.random.default_rng(seed)
    lo, hi = rule.rails
    codes = random.integers(lo + 1, hi, (outer, channels, inner))
    for c in range(channels):
        at_rail = random.random((outer, inner)) < random.choice([0.0, 0.01, 0.03])
        codes[:, c][at_rail] = random.choice([lo, hi], (outer, inner))[at_rail]
    state = update.new_state(codes.astype(np.int8), channels, inner, rule)
    if state.residual.size:
        state.residual[:] = random.integers(-(2**15), 2**15, codes.size)
    if state.momentum.size:
        state.momentum[:] = random.integers(-(2**31), 2**31, codes.size)
    state.doublings[:] = random.integers(0, 3, channels)
    return state, naive.Tensor(
        state.codes.tolist(), channels, inner, 0, state.residual.tolist(),
        state.momentum.tolist(), state.doublings.tolist(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "beta"), [("error_feedback", 29491), ("error_feedback", 0), ("nearest", 29491)]
)
@pytest.mark.parametrize("layout", [(6, 150, 1), (6, 1, 130), (1, 40, 9)])
def test_recalibration_matches_naive(name, beta, layout):
    seen = set()
    for seed in range(4):
        k = 1 + seed
        rule = update.UpdateRule(name, perturb.rails(k), beta)
        state, twin = crowded_state(rule, *layout, seed)
        random = np.random.default_rng(seed)
        bias = random.integers(-(2**31), 2**31, layout[0]).astype(np.int32)
        shift = random.integers(-20, 3, layout[0]).astype(np.int32)
        naive_bias, naive_shift = bias.tolist(), shift.tolist()

        doubled = recalibrate.recalibrate_weights(state, bias, shift, rule.rails)

        keeps = name == "error_feedback"
        expected = naive.recalibrate(twin, naive_bias, naive_shift, k, keeps)
        assert list(doubled) == expected
        assert (bias.tolist(), shift.tolist()) == (naive_bias, naive_shift)
        assert state.codes.tolist() == twin.codes
        assert state.doublings.tolist() == twin.doublings
        assert not state.residual.size or state.residual.tolist() == twin.residual
        assert not state.momentum.size or state.momentum.tolist() == twin.momentum
        seen.update(c in doubled for c in range(layout[0]))
    assert layout[0] == 1 or seen == {True, False}


def test_one_percent_is_not_crowded_and_more_is():
    rule = update.UpdateRule("error_feedback", perturb.rails(1))
    codes = np.zeros((2, 200), np.int8)
    codes[0, :2] = 126
    codes[1, :3] = -126, 126, -126
    state = update.new_state(codes, 2, 200, rule)
    bias, shift = np.array([7, 7], np.int32), np.array([-5, -5], np.int32)

    assert recalibrate.recalibrate_weights(state, bias, shift, rule.rails) == (1,)

    assert codes[:, :4].tolist() == [[126, 126, 0, 0], [-63, 63, -63, 0]]
    assert (bias.tolist(), shift.tolist()) == ([7, 4], [-5, -4])
    assert state.doublings.tolist() == [0, 1]
    assert recalibrate.recalibrate_weights(state, bias, shift, rule.rails) == ()


def test_error_feedback_halves_the_master_weight_exactly():
    rule = update.UpdateRule("error_feedback", perturb.rails(1), beta=0)
    codes = np.arange(-126, 127, dtype=np.int8)
    state = update.new_state(codes, 1, codes.size, rule)
    state.residual[:] = np.random.default_rng(0).integers(-(2**15), 2**15, codes.size)
    state.codes[:3] = 126
    before = (state.codes.astype(np.int64) << 16) + state.residual

    assert recalibrate.double_channels(state, rule.rails) == (0,)

    after = (state.codes.astype(np.int64) << 16) + state.residual
    np.testing.assert_array_equal(after, rs(before, 1))


def test_logits_double_above_sixty_percent_until_the_tables_end():
    measure = loss.cross_entropy_loss(0.05, 10)
    shift = np.array([-7, -9], np.int32)

    assert recalibrate.recalibrate_logits(600, 1000, shift, measure) is measure
    assert shift.tolist() == [-7, -9]
    for exponent in range(1, 7):
        measure = recalibrate.recalibrate_logits(601, 1000, shift, measure)
        assert measure.exponent == exponent
        assert shift.tolist() == [-7 - exponent, -9 - exponent]
    assert recalibrate.recalibrate_logits(1000, 1000, shift, measure) is measure
    assert shift.tolist() == [-13, -15]


def test_frozen_profiles_are_refused_by_name():
    recalibrate.check_profile("tflm")
    with pytest.raises(ValueError, match="head: scales cannot double under profile neural-art, "):
        recalibrate.check_profile("neural-art", "head")
