"""When noise raises q."""

import json
import re

import numpy as np
import pytest
from training_tasks import CLASSES, FEATURES, head_task, interrupt_after, run_to_end

import zo
from zo.evidence import Evidence
from zo.gate import Gate

NOISY = Evidence(0, np.array([5, 5]), 0, 10, 9, 3)
CLEAR = Evidence(0, np.array([-5, 5]), 9, 10, 3, 9)


def epochs(gate, *steps):
    """q after epochs of so many (noisy, clear) steps."""
    path = []
    for noisy, clear in steps:
        for shown in [NOISY] * noisy + [CLEAR] * clear:
            gate.observe(shown)
        path.append(gate.step((1, 2)))
    return path


@pytest.mark.parametrize("measure", ["split_half", "coefficients", "dead_zone"])
def test_q_rises_after_epochs_of_mostly_noisy_steps(measure):
    gate = Gate(measure, 8, patience=2, q_max=64)
    steps = [(2, 1), (1, 1), (3, 0), (2, 1), (2, 1), (0, 3), (5, 4), (5, 4), (1, 0), (1, 0)]
    assert epochs(gate, *steps) == [8, 8, 8, 16, 16, 16, 16, 32, 32, 64]
    assert epochs(gate, *[(1, 0)] * 3) == [64] * 3
    assert gate.rungs == (8, 16, 32, 64)


def test_an_epoch_without_steps_is_not_noisy():
    assert epochs(Gate("dead_zone"), (0, 0), (0, 0)) == [8, 8]


def test_states_continue_to_the_same_path():
    steps = [(int(n), 2) for n in np.random.default_rng(1).integers(0, 5, 30)]
    whole, first, second = (Gate("split_half", 2, patience=2, q_max=1024) for _ in range(3))
    path = epochs(first, *steps[:11])
    first.observe(NOISY)  # a step of an epoch that a checkpoint does not hold
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert path + epochs(second, *steps[11:]) == epochs(whole, *steps)
    with pytest.raises(ValueError, match="schedule: patience must be as saved, 2, got 3"):
        Gate("split_half", 2, patience=3, q_max=1024).load_state_dict(first.state_dict())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: Gate("noise"),
            "schedule: measure must be one of split_half, coefficients",
        ),
        (lambda: Gate("split_half", 1), "schedule: q0 must be an integer of at least 2, got 1"),
        (lambda: Gate("dead_zone", threshold=0), "threshold must be above 0 and below 2^20, got 0"),
        (lambda: Gate("dead_zone", q_max=4), "schedule: q_max must be an integer of at least 8"),
    ],
)
def test_settings_out_of_range_are_rejected(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


@pytest.mark.parametrize("schedule", [Gate("coefficients"), zo.CostAware()])
def test_central_has_no_differences_to_the_unperturbed_loss(schedule):
    with pytest.raises(ValueError, match="got estimator central, which does without"):
        run_to_end(head_task(seed=1), schedule, method=zo.Method(estimator="central"), batch=8)


@pytest.mark.parametrize("measure", ["split_half", "coefficients", "dead_zone"])
def test_a_run_raises_q(measure):
    schedule = Gate(measure, 2, q_max=8, threshold={"coefficients": 100.0}.get(measure, 0.1))
    result, _ = run_to_end(head_task(seed=1), schedule, epochs=4, batch=8)
    assert [e.q for e in result.history] == [0, 2, 4, 8, 8]


def test_large_q_is_refused_when_a_run_begins():
    schedule = Gate("coefficients", q_max=2**15 + 1)
    with pytest.raises(ValueError, match="schedule: q must be 32768 at most, got 32769"):
        run_to_end(head_task(seed=1), schedule, batch=8)


def test_halves_cost_random_bits():
    costs = []
    for schedule in (zo.Constant(5), Gate("split_half", 5, q_max=5), Gate("dead_zone", 5, q_max=5)):
        result, _ = run_to_end(head_task(seed=1), schedule, epochs=1, batch=8)
        costs.append(result.history[-1].cost)
    plain, halves, dead_zone = costs
    assert plain == dead_zone
    assert halves == plain._replace(random_bits=plain.random_bits + 6 * 2 * CLASSES * FEATURES)


@pytest.mark.parametrize("measure", ["split_half", "coefficients", "dead_zone"])
def test_a_resumed_run_takes_the_same_path(measure, tmp_path):
    def run(name, hooks):
        threshold = {"coefficients": 3.0, "split_half": 0.8}.get(measure, 0.5)
        schedule = Gate(measure, 2, q_max=16, patience=2, threshold=threshold)
        path = tmp_path / f"{name}.npz"
        result, session = run_to_end(
            head_task(seed=1),
            schedule,
            epochs=8,
            batch=8,
            hooks=hooks,
            checkpoint=path,
            resume=True,
        )
        epochs = [epoch._replace(seconds=0) for epoch in result.history]
        return epochs, session.weights["head"].tobytes()

    whole = run("whole", zo.Hooks())
    assert len({epoch.q for epoch in whole[0]}) > 2
    run("parts", interrupt_after(6 * 3 + 4))
    assert run("parts", zo.Hooks()) == whole
