"""Trainable biases as int8 codes: units, writing, doublings of the weight scale."""

import numpy as np
import pytest

from zo import bias, perturb, recalibrate, update


def test_units_are_powers_of_two_near_an_eighth_of_an_output_code():
    multipliers = np.exp(np.linspace(-16, -4, 200))

    form, codes = bias.bias_codes(np.zeros(200, np.int32), multipliers)

    output_codes = form.unit * multipliers
    assert (output_codes >= 0.125 / np.sqrt(2)).all()
    assert (output_codes <= 0.125 * np.sqrt(2)).all()
    assert all(unit & (unit - 1) == 0 for unit in form.unit.tolist())
    assert codes.tolist() == [0] * 200


def test_units_are_at_least_one():
    form, _ = bias.bias_codes(np.zeros(3, np.int32), [0.1, 1.0, 100.0])

    assert form.unit.tolist() == [1, 1, 1]


def test_write_bias_adds_units_in_place():
    values = np.array([1000, -2000], np.int32)
    form, codes = bias.bias_codes(values, [1 / 80, 1 / 800])
    codes[:] = 127, -128

    bias.write_bias(values, form, codes)

    assert form.unit.tolist() == [8, 128]
    assert values.tolist() == [1000 + 127 * 8, -2000 - 128 * 128]


def test_biases_near_the_limit_of_int32_are_rejected():
    with pytest.raises(ValueError, match="conv/bias: trained biases must fit int32, got up to 21"):
        bias.bias_codes(np.array([-(2**31) + 100], np.int32), [1e-4], "conv/bias")
    with pytest.raises(ValueError, match=r"bias: multipliers must be above 0, got 0\.0"):
        bias.bias_codes(np.zeros(1, np.int32), [0.0])


def test_a_doubled_weight_scale_halves_bias_and_unit():
    rule = update.UpdateRule("error_feedback", perturb.rails(1))
    values = np.array([1001, -2001, 501], np.int32)
    form, codes = bias.bias_codes(values, [1 / 80, 1 / 800, 1.0])
    codes[:] = 5, -7, 9
    bias_state = update.new_state(codes, 3, 1, rule)
    bias_state.momentum[:] = 10, 20, 2**30 + 1
    bias.write_bias(values, form, codes)
    before = values.copy()
    weights = update.new_state(np.full((3, 4), 126, np.int8), 3, 4, rule)

    doubled = recalibrate.recalibrate_weights(weights, values, np.zeros(3, np.int32), rule.rails)
    bias.rebase(form, bias_state, values, doubled)

    assert doubled == (0, 1, 2)
    assert values.tolist() == [(v + 1) >> 1 for v in before.tolist()]
    assert form.unit.tolist() == [4, 64, 1]
    assert codes.tolist() == [5, -7, 9]
    # The unit of 1 cannot halve: its code became worth twice as much.
    assert bias_state.doublings.tolist() == [0, 0, 1]
    assert bias_state.momentum.tolist() == [10, 20, 2**31 - 1]
    rewritten = np.zeros(3, np.int32)
    bias.write_bias(rewritten, form, codes)
    np.testing.assert_array_equal(rewritten, values)
