"""What steps show schedules: counted again with Python integers."""

from fractions import Fraction

import numpy as np
import pytest
from naive.training import signs
from training_tasks import CLASSES, FEATURES, HEAD_STREAM, head_task, run_to_end

import zo
from npusim import Session
from zo.estimate import add_halves, check_halves
from zo.evidence import Evidence, is_noisy, spread

SEED = 2**33 + 5


class Recorder:
    """A constant schedule that keeps what it is shown."""

    wants_halves = True

    def __init__(self, q):
        self.q, self.rungs, self.seen = q, (q,), []

    def observe(self, evidence):
        self.seen.append(evidence)

    def step(self, metric):
        return self.q

    def state_dict(self):
        return {}

    def load_state_dict(self, state):
        pass


def expected_halves(evidence, coefficients, step):
    """sum |g_A - g_B| and sum |g_A + g_B| of the head."""
    n, q = CLASSES * FEATURES, len(coefficients)
    apart = together = 0
    z = [signs(SEED, step, i, HEAD_STREAM, n) for i in range(q)]
    for w in range(n):
        first = sum(coefficients[i] * z[i][w] for i in range(q // 2))
        second = sum(coefficients[i] * z[i][w] for i in range(q // 2, q))
        apart, together = apart + abs(first - second), together + abs(first + second)
    return apart, together


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("estimator", ["one_sided", "central"])
@pytest.mark.parametrize("q", [2, 5])
def test_evidence_matches_naive(estimator, q):
    task, codes, recorder = head_task(seed=4, images=24), [], Recorder(q)
    task_codes = task.graph.tensor("head").data.copy()
    session = Session(task.graph, trainable=["head"], threads=1)
    hooks = zo.Hooks(on_step=lambda *_: codes.append(session.weights["head"].copy()))
    zo.train(session, task.train, task.validation, scheduler=recorder, epochs=2, batch=8,
             seed=SEED, method=zo.Method(estimator=estimator), hooks=hooks)  # fmt: skip
    assert len(recorder.seen) == 6
    for step, (found, now) in enumerate(zip(recorder.seen, codes, strict=True)):
        before = codes[step - 1] if step else task_codes
        differences = [int(loss) - found.base for loss in found.losses]
        assert (found.apart, found.together) == expected_halves(found, differences, step)
        assert found.changed == np.count_nonzero(before != now)
        assert found.weights == CLASSES * FEATURES
        assert len(found.losses) == q
        assert found.base == 0 or estimator == "one_sided"
    assert sum(e.changed for e in recorder.seen) > 0


def test_watching_changes_no_bit():
    task, results = head_task(seed=4, images=24), []
    for schedule in (Recorder(3), zo.Constant(3)):
        _, session = run_to_end(task, schedule, epochs=2, batch=8)
        results.append(session.weights["head"].tobytes())
    assert results[0] == results[1]


def test_codes_of_the_exact_gradient_do_not_count():
    task, recorder = head_task(seed=4, images=24), Recorder(2)
    run_to_end(task, recorder, epochs=1, batch=8, method=zo.Method(exact_head=True))
    assert recorder.seen == []


def evidence(losses=(), base=0, **changes):
    return Evidence(base, np.array(losses, np.int64), *(changes.get(n, 0) for n in (
        "changed", "weights", "apart", "together")))  # fmt: skip


@pytest.mark.parametrize(
    ("measure", "shown", "threshold", "noisy"),
    [
        ("split_half", evidence(apart=10, together=10), Fraction(1), False),
        ("split_half", evidence(apart=11, together=10), Fraction(1), True),
        ("split_half", evidence(apart=3, together=10), Fraction(3, 10), False),
        ("split_half", evidence(apart=2**62, together=2**62 - 1), Fraction(1), True),
        ("dead_zone", evidence(changed=1, weights=10), Fraction(9, 10), False),
        ("dead_zone", evidence(changed=0, weights=10), Fraction(9, 10), True),
        # d = 1, 3: S = 4, |2*1 - 4| + |2*3 - 4| = 4 against 2*4
        ("coefficients", evidence((101, 103), 100), Fraction(1, 2), False),
        ("coefficients", evidence((101, 103), 100), Fraction(51, 100), True),
        ("coefficients", evidence((99, 101), 100), Fraction(1), False),
        ("coefficients", evidence((97, 97), 100), Fraction(1), True),
    ],
)  # fmt: skip
def test_noise_is_the_integer_comparison(measure, shown, threshold, noisy):
    assert is_noisy(measure, shown, threshold) == noisy


def test_spread_matches_naive():
    random = np.random.default_rng(3)
    for _ in range(200):
        base, *losses = random.integers(0, 2**40, random.integers(2, 9)).tolist()
        q, d = len(losses), [loss - base for loss in losses]
        expected = sum(abs(q * x - sum(d)) for x in d), q * abs(sum(d))
        assert spread(evidence(losses, base)) == expected


@pytest.mark.usefixtures("isa")
def test_halves_add_up():
    sums = np.array([7, 9])
    add_halves(np.array([5, -3, 2**46]), np.array([1, -10, 2**46 - 1]), sums)
    assert sums.tolist() == [7 + 9 + 4 + 2**46 + 1, 9 + 1 + 10 + 2**46 - 1]
    with pytest.raises(TypeError, match="whole: must be contiguous int64"):
        add_halves(np.zeros(3, np.int64), np.zeros(3, np.int32), sums)


def test_sums_over_the_gradient_are_proven():
    check_halves(2**40, 2**23 - 1)
    with pytest.raises(ValueError, match=r"must stay below 2\^63, got 8388608 weights of up to"):
        check_halves(2**40, 2**23)
