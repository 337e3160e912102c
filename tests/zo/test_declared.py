"""Schedules that know every q in advance."""

import json
import re

import pytest

from zo.declared import Constant, Declared, epoch_power, linear_ramp


def run(schedule, metrics):
    return [schedule.step(metric) for metric in metrics]


def path(schedule, epochs):
    return [schedule.q, *run(schedule, [0.5] * (epochs - 1))]


def test_constant_never_moves():
    schedule = Constant(24)

    assert run(schedule, [0.1, 0.1, 0.9]) == [24, 24, 24]
    assert schedule.rungs == (24,)
    schedule.load_state_dict(schedule.state_dict())
    with pytest.raises(ValueError, match="constant q must be as saved, 8, got 24"):
        schedule.load_state_dict(Constant(8).state_dict())
    with pytest.raises(ValueError, match="must be as saved, another schedule, got 24"):
        schedule.load_state_dict({"q": 24, "epoch": 3})


def test_declared_follows_its_plan():
    schedule = Declared({0: 8, 2: 16, 5: 4})

    assert schedule.q == 8
    assert schedule.rungs == (4, 8, 16)
    assert run(schedule, [0.5] * 6) == [8, 16, 16, 16, 4, 4]
    again = Declared({0: 8, 2: 16, 5: 4})
    again.load_state_dict(json.loads(json.dumps(schedule.state_dict())))
    assert again.q == 4
    with pytest.raises(ValueError, match="schedule: the plan must be as saved"):
        Declared({0: 8}).load_state_dict(schedule.state_dict())
    with pytest.raises(ValueError, match=r"a plan must say q for epoch 0, got \{1: 8\}"):
        Declared({1: 8})


def test_ramp_rises_in_equal_steps():
    assert path(linear_ramp(8, 64, 8), 10) == [8, 16, 24, 32, 40, 48, 56, 64, 64, 64]
    # 1 + 3*e/4, ties upwards: 1, 1.75, 2.5, 3.25, 4
    assert path(linear_ramp(1, 4, 5), 5) == [1, 2, 3, 3, 4]
    assert linear_ramp(1, 4, 5).plan == {0: 1, 1: 2, 2: 3, 4: 4}
    assert path(linear_ramp(5, 5, 2), 3) == [5, 5, 5]


def test_power_rounds_up_and_ends_at_q_max():
    # 4*sqrt(e + 1) is 4, 5.66, 6.93, 8, 8.94, 9.80, 10.58
    assert path(epoch_power(4, 10, 7), 8) == [4, 6, 7, 8, 9, 10, 10, 10]
    assert path(epoch_power(2, 100, 4, power=2.0), 4) == [2, 8, 18, 32]
    assert path(epoch_power(8, 64, 3, power=1 / 3), 3) == [8, 11, 12]


def test_powers_that_are_integers_are_not_rounded_up():
    plan = path(epoch_power(3, 10**6, 400), 400)
    assert [plan[n * n - 1] for n in range(1, 21)] == [3 * n for n in range(1, 21)]
    cubes = path(epoch_power(1, 10**6, 1000, power=1.5), 1000)
    assert [cubes[n * n - 1] for n in range(1, 32)] == [n**3 for n in range(1, 32)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: linear_ramp(8, 4, 5), "schedule: q_max must be an integer of at least 8, got 4"),
        (lambda: linear_ramp(1, 4, 1), "schedule: epochs must be an integer of at least 2, got 1"),
        (lambda: epoch_power(0, 4, 5), "schedule: q0 must be an integer of at least 1, got 0"),
        (lambda: epoch_power(1, 4, 5, 0.0), "power must be above 0 and at most 4, got 0.0"),
        (lambda: epoch_power(1, 4, 5, float("nan")), "power must be a finite number, got nan"),
        (lambda: Declared({0: 0}), "schedule: q must be an integer of at least 1, got 0"),
    ],
)
def test_plans_out_of_range_are_rejected(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()
