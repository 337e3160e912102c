"""The q of least predicted cost, and the budgets that bound q."""

import json
import re
from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from training_tasks import CLASSES, FEATURES, head_task, interrupt_after, run_to_end

import zo
from zo.budget import RunShape
from zo.cost import Cost, Work
from zo.cost_aware import CostAware, cheapest
from zo.evidence import Evidence

POWERS = tuple(2**i for i in range(1, 11))


def table(fixed, sample):
    return {q: fixed + q * sample for q in POWERS}


@pytest.mark.parametrize(("fixed", "sample", "nu"), [(1, 1, 100), (50, 1, 100), (9, 5, 7000)])
def test_the_cheapest_q_is_next_to_the_square_root(fixed, sample, nu):
    # F + q*s times (q + nu)/q is least at sqrt(nu*F/s); a ladder of powers has it within a factor
    q = cheapest(table(fixed, sample), Fraction(nu))
    assert sqrt(nu * fixed / sample) / sqrt(2) <= q <= sqrt(nu * fixed / sample) * sqrt(2)


def test_the_cheapest_q_matches_a_search():
    random = np.random.default_rng(0)
    for _ in range(200):
        costs = {q: int(random.integers(1, 1000)) for q in POWERS}
        a, b = (int(n) for n in random.integers(1, 10**6, 2))
        predicted = [(Fraction(costs[q] * (q * b + a), q * b), q) for q in POWERS]
        assert cheapest(costs, Fraction(a, b)) == min(predicted)[1]


def shape(steps=10, estimator="one_sided", way="in_place"):
    work = Work(batch=4, macs=100, signs=50, sign_bytes=50, exact_bytes=0, way=way)
    return RunShape(steps, lambda q: work.step_cost(estimator, q), estimator)


def test_costs_are_counted_unless_given():
    counted, given = CostAware(4, q_max=8), CostAware(4, q_max=8, costs={2: 5, 4: 6, 8: 7})
    timed = CostAware(4, q_max=8, costs=lambda rungs: {q: q * q for q in rungs})
    for schedule in (counted, given, timed):
        assert schedule.rungs == (2, 4, 8)
        schedule.start(shape())
    assert counted.costs == {2: 1200, 4: 2000, 8: 3600}
    assert given.costs == {2: 5, 4: 6, 8: 7}
    assert timed.costs == {2: 4, 4: 16, 8: 64}


def test_q_follows_what_steps_measure():
    # d = 1, 3: shared 16, slope 2*10 - 16 = 4, so nu = 10*(1 + 4) = 50
    schedule = CostAware(2, q_max=1024, costs=table(50, 1))
    schedule.start(shape())
    schedule.observe(Evidence(100, np.array([101, 103]), 0, 10))
    assert schedule.step((1, 2)) == cheapest(table(50, 1), Fraction(50)) == 64
    # d = -1, 1: shared 0, so nu = 10
    schedule.observe(Evidence(100, np.array([99, 101]), 0, 10))
    assert schedule.step((1, 2)) == 16
    schedule.observe(Evidence(100, np.array([101, 101]), 0, 10))
    assert schedule.step((1, 2)) == 16


def test_directions_are_at_most_the_weights():
    for directions, weights, nu in ((4, 10, 4), (10, 10, 10), (11, 10, 10)):
        schedule = CostAware(2, q_max=1024, costs=table(50, 1), directions=directions)
        schedule.start(shape())
        schedule.observe(Evidence(100, np.array([99, 101]), 0, weights))
        assert schedule.step((1, 2)) == cheapest(table(50, 1), Fraction(nu))


def test_a_resumed_run_takes_the_saved_table():
    first = CostAware(4, q_max=8, costs=lambda rungs: {q: 10 * q for q in rungs})
    second = CostAware(4, q_max=8, costs=lambda rungs: dict.fromkeys(rungs, 99))
    for schedule in (first, second):
        schedule.start(shape())
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert second.costs == {2: 20, 4: 40, 8: 80}
    with pytest.raises(ValueError, match="schedule: rungs must be as saved"):
        CostAware(4, q_max=16).load_state_dict(first.state_dict())
    with pytest.raises(ValueError, match="schedule: directions must be as saved"):
        CostAware(4, q_max=8, directions=7).load_state_dict(first.state_dict())


def test_a_run_is_the_same_with_the_table_of_its_checkpoint(tmp_path):
    task, results = head_task(seed=1), []
    for costs in ({2: 90, 4: 100, 8: 101}, lambda rungs: {2: 90, 4: 100, 8: 101}):
        folder = tmp_path / str(len(results))
        for epochs in (4, 4):
            stop = interrupt_after(11) if len(results) % 2 == 0 else zo.Hooks()
            schedule = CostAware(2, q_max=8, costs=costs)
            result, _ = run_to_end(
                task, schedule, epochs=epochs, batch=8, hooks=stop, resume=True,
                checkpoint=folder / "run.npz",
            )  # fmt: skip
            results.append((result.stopped, [e.q for e in result.history]))
    assert results[1] == results[3]
    assert results[0][0] == results[2][0] == "interrupted"


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: CostAware(1), "schedule: q0 must be an integer of at least 2, got 1"),
        (lambda: CostAware(directions=0), "directions must be an integer of at least 1, got 0"),
        (lambda: CostAware(2, q_max=4, costs={2: 1}), "an integer above 0 for q = 4, got None"),
        (lambda: CostAware(2, q_max=4, costs={2: 1, 4: 0}), "above 0 for q = 4, got 0"),
        (lambda: CostAware(8, ladder=(2, 4)), "ladder must hold q0 = 8, got [2, 4]"),
        (lambda: zo.Budget(), "budget: must limit forwards, macs or per_step, got none"),
        (lambda: zo.Budget(macs=0), "budget: macs must be an integer above 0, got 0"),
        (lambda: zo.Budget(per_step=8, macs=9).q_max(shape(), 8),
         "budget: must allow q0 = 8, which takes 9 forwards a step, 90 forwards and 36000 MACs in "
         "10 steps, got macs = 9, per_step = 8"),
    ],
)  # fmt: skip
def test_settings_out_of_range_are_rejected(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


@pytest.mark.parametrize(
    ("budget", "estimator", "q_max"),
    [
        (zo.Budget(per_step=33), "one_sided", 32),
        (zo.Budget(per_step=33), "central", 16),
        (zo.Budget(forwards=10 * 65), "one_sided", 64),
        (zo.Budget(forwards=10 * 65 - 1), "one_sided", 63),
        (zo.Budget(macs=10 * 400 * 21), "one_sided", 20),
        (zo.Budget(forwards=650, macs=10 * 400 * 21, per_step=10), "one_sided", 9),
    ],
)
def test_budgets_say_the_largest_q(budget, estimator, q_max):
    assert budget.q_max(shape(estimator=estimator), 2) == q_max
    for schedule in (
        zo.QScheduler(2, q_max=budget), zo.Gate("dead_zone", 2, q_max=budget),
        zo.CostAware(2, q_max=budget),
    ):  # fmt: skip
        if not (estimator == "central" and isinstance(schedule, zo.CostAware)):
            assert schedule.rungs == ()
            schedule.start(shape(estimator=estimator))
            assert schedule.rungs[-1] == q_max


def test_a_run_stays_within_its_budget():
    task, budget = head_task(seed=1, images=24), zo.Budget(forwards=200)
    schedule = zo.QScheduler(2, patience=1, threshold=1.0, q_max=budget)
    result, _ = run_to_end(task, schedule, epochs=5, batch=8)
    assert schedule.rungs == (2, 4, 8, 12)  # 15 steps of 13 forwards
    assert result.history[-1].cost.forwards <= 200
    assert result.history[-1].cost == counted(result)


def counted(result):
    macs = sum(3 * (e.q + 1) for e in result.history[1:])
    total = result.history[-1].cost
    return Cost(macs, 8 * CLASSES * FEATURES * macs, *total[2:])
