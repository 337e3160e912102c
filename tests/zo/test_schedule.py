"""QScheduler's decisions, its rivals, states and refusals."""

import json
import re

import numpy as np
import pytest

from zo.schedule import QScheduler


def run(scheduler, metrics):
    return [scheduler.step(metric) for metric in metrics]


def test_q_rises_when_the_count_reaches_patience():
    scheduler = QScheduler(q0=8, patience=3, q_max=64)

    # The first metric is a best; then three without a better one, and the count restarts.
    assert run(scheduler, [0.5] * 10) == [8, 8, 8, 16, 16, 16, 32, 32, 32, 64]
    assert run(scheduler, [0.5] * 8) == [64] * 8


def test_better_must_exceed_the_threshold():
    # 1700 of 2000 plus half a point is 1710: not more than the threshold, 1711 is.
    for last, bad in (((1710, 2000), 1), ((1711, 2000), 0)):
        scheduler = QScheduler(threshold=0.005)
        run(scheduler, [(1700, 2000), last])
        assert scheduler.bad_epochs == bad


def test_a_default_run_keeps_slow_gains_from_looking_new():
    # Gains of 0.1 point an epoch stay below the threshold until six of them have gathered.
    scheduler = QScheduler(patience=5)
    bests = []
    for epoch in range(13):
        scheduler.step((8000 + 10 * epoch, 10000))
        bests.append(scheduler.best)
    assert bests == [0.8] * 6 + [0.806] * 6 + [0.812]


def test_fractions_decide_as_counts_do():
    random = np.random.default_rng(0)
    for mode in ("abs", "rel"):
        for total in (200, 1797, 2000, 5400, 999983):
            counts = QScheduler(threshold_mode=mode, q_max=1024, patience=1)
            floats = QScheduler(threshold_mode=mode, q_max=1024, patience=1)
            correct = int(total * 0.6)
            for _ in range(60):
                correct = min(total, correct + int(random.choice([0, 1, total // 200])))
                assert counts.step((correct, total)) == floats.step(correct / total)
                assert counts.bad_epochs == floats.bad_epochs


def naive_better(n, best, total, mode, number):
    """Section 7's integer comparisons; number is (a, b) or kappa in Q8."""
    if mode == "abs":
        return (n - best) * number[1] > number[0] * total
    if mode == "rel":
        return (n - best) * number[1] > number[0] * best
    d = n - best
    return d > 0 and d * d * total * 65536 > number * number * best * (total - best)


@pytest.mark.parametrize(
    ("mode", "threshold", "number"),
    [("abs", 0.005, (1, 200)), ("rel", 0.01, (1, 100)), ("se", 1.0, 256), ("se", 0.3, 77)],
)
def test_better_is_the_integer_comparison(mode, threshold, number):
    random = np.random.default_rng(1)
    for _ in range(400):
        total = int(random.integers(1, 3000))
        best = int(random.integers(0, total + 1))
        n = min(total, max(0, best + int(random.integers(-40, 60))))
        scheduler = QScheduler(threshold=threshold, threshold_mode=mode)
        run(scheduler, [(best, total), (n, total)])
        assert (scheduler.bad_epochs == 0) == naive_better(n, best, total, mode, number)


def test_standard_errors_take_any_gain_from_none_or_all_right():
    for best, n in ((0, 1), (100, 100)):
        scheduler = QScheduler(threshold=2.0, threshold_mode="se")
        run(scheduler, [(best, 100), (n, 100)])
        assert scheduler.bad_epochs == (n == best)


def test_smaller_is_better_in_mode_min():
    scheduler = QScheduler(mode="min", threshold_mode="rel", threshold=0.1, patience=2)

    assert run(scheduler, [2.0, 1.7, 1.6, 1.55]) == [8, 8, 8, 16]
    assert scheduler.best == 1.7


def test_smoothing_is_a_running_mean_in_integers():
    scheduler = QScheduler(smoothing=0.75, patience=100)
    weight = 32768 - round(0.75 * 32768)
    level, best = 500 << 16, 500 << 16
    scheduler.step((500, 1000))
    for n in (520, 480, 600, 1000, 0, 731):
        scheduler.step((n, 1000))
        level += (((n << 16) - level) * weight + (1 << 14)) >> 15
        if (level - best) * 200 > 1000 << 16:
            best = level
        assert scheduler.best == best / (1000 << 16)


def test_smoothing_hides_a_lucky_epoch():
    metrics = [0.5, 0.52, 0.5, 0.5, 0.5]
    assert run(QScheduler(patience=4), metrics)[-1] == 8
    assert run(QScheduler(patience=4, smoothing=0.9), metrics)[-1] == 16


def test_cooldown_does_not_count_bad_epochs():
    scheduler = QScheduler(patience=2, cooldown=3)

    assert run(scheduler, [0.5] * 9) == [8, 8, 16, 16, 16, 16, 16, 32, 32]


@pytest.mark.parametrize(
    ("arguments", "rungs", "path"),
    [
        ({}, (8, 16, 32, 64), [16, 32, 64, 64]),
        ({"factor": 1.5}, (8, 16, 32, 64), [16, 32, 64, 64]),
        ({"factor": 4}, (8, 16, 32, 64), [32, 64, 64]),
        ({"q0": 6, "q_max": 40}, (6, 8, 16, 32, 40), [16, 32, 40, 40]),
        ({"factor": 1.5, "ladder": (8, 12, 16, 24, 32, 48, 64)}, (8, 12, 16, 24, 32, 48, 64),
         [12, 24, 48, 64]),
        ({"ladder": (4, 8, 20, 50, 100)}, (8, 20, 50), [20, 50, 50]),
        ({"q0": 1, "q_max": 1}, (1,), [1, 1]),
    ],
)  # fmt: skip
def test_q_climbs_the_ladder(arguments, rungs, path):
    scheduler = QScheduler(**arguments, patience=1)
    scheduler.step(0.5)

    assert scheduler.rungs == rungs
    assert run(scheduler, [0.5] * len(path)) == path


def test_states_continue_to_the_same_path():
    random = np.random.default_rng(2)
    metrics = [(int(n), 1000) for n in 600 + np.cumsum(random.integers(-4, 8, 60))]
    settings = {"patience": 3, "cooldown": 1, "smoothing": 0.3, "q_max": 1024}
    whole = QScheduler(**settings)
    expected = run(whole, metrics)

    first, second = QScheduler(**settings), QScheduler(**settings)
    path = run(first, metrics[:25])
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    path += run(second, metrics[25:])

    assert path == expected
    assert len(set(expected)) > 2
    assert second.state_dict() == whole.state_dict()


def test_states_of_other_settings_are_rejected():
    state = QScheduler(patience=5).state_dict()
    message = "schedule: patience must be as saved, 5, got 3; build the scheduler with the saved"
    with pytest.raises(ValueError, match=message):
        QScheduler(patience=3).load_state_dict(state)
    with pytest.raises(ValueError, match=r"schedule: q must be one of \(8, 16, 32, 64\), got 9"):
        QScheduler().load_state_dict({**state, "q": 9})
    del state["best"]
    with pytest.raises(ValueError, match="schedule: a state holds settings, q, best, level, "):
        QScheduler().load_state_dict(state)


@pytest.mark.parametrize("metric", [85.2, -0.1, 1.0001])
def test_metrics_outside_a_fraction_are_rejected(metric):
    message = (
        f"schedule: metric must be a fraction in 0..1 for an absolute threshold of 0.005, got "
        f"{metric}, and q would climb whatever happens; pass (correct, total) or "
        "threshold_mode='rel'"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        QScheduler().step(metric)


def test_metrics_of_any_size_pass_with_a_threshold_of_one_or_more():
    scheduler = QScheduler(threshold=1, patience=1)

    assert run(scheduler, [85.2, 86.2, 86.3]) == [8, 16, 16]
    assert scheduler.best == pytest.approx(86.3)


@pytest.mark.parametrize(
    ("metric", "error", "message"),
    [
        (float("nan"), ValueError, "metric: must be finite, got nan"),
        ("0.5", TypeError, "metric: must be a number or (correct, total), got '0.5'"),
        (True, TypeError, "metric: must be a number or (correct, total), got True"),
        ((5, 4), ValueError, "metric: counts must be 0 <= correct <= total, got (5, 4)"),
        ((0, 0), ValueError, "metric: counts must be 0 <= correct <= total, got (0, 0)"),
        ((0.5, 1), TypeError, "metric: counts must be two integers (correct, total), got (0.5, 1)"),
    ],
)
def test_metrics_of_other_kinds_are_rejected(metric, error, message):
    with pytest.raises(error, match=re.escape(message)):
        QScheduler().step(metric)


def test_standard_errors_and_smoothing_need_one_total():
    for scheduler in (QScheduler(threshold=1.0, threshold_mode="se"), QScheduler(smoothing=0.5)):
        scheduler.step((5, 10))
        with pytest.raises(ValueError, match="the total must stay 10, got 11"):
            scheduler.step((5, 11))
    with pytest.raises(TypeError, match=r"'se' needs \(correct, total\), got 0.5"):
        QScheduler(threshold=1.0, threshold_mode="se").step(0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"q0": 0}, "schedule: q0 must be an integer of at least 1, got 0"),
        ({"q0": 65}, "schedule: q_max must be an integer of at least 65, got 64"),
        ({"factor": 1.0}, "schedule: factor must be above 1, got 1.0"),
        ({"factor": float("inf")}, "schedule: factor must be a finite number, got inf"),
        ({"patience": 0}, "schedule: patience must be an integer of at least 1, got 0"),
        ({"patience": 2.5}, "schedule: patience must be an integer of at least 1, got 2.5"),
        ({"cooldown": -1}, "schedule: cooldown must be an integer of at least 0, got -1"),
        ({"threshold": -0.1}, "schedule: threshold must not be negative, got -0.1"),
        ({"threshold_mode": "absolute"}, "threshold_mode must be abs, rel, se, got 'absolute'"),
        (
            {"threshold_mode": "se"},
            "counts standard errors, at least 1/16, got 0.005; 1.0 is usual",
        ),
        ({"mode": "maximum"}, "schedule: mode must be max or min, got 'maximum'"),
        ({"smoothing": 1.0}, "schedule: smoothing must be 0 <= s < 1, got 1.0"),
        ({"threshold": 1.0, "threshold_mode": "se", "smoothing": 0.5}, "'se' takes no smoothing"),
        ({"ladder": (8, 8, 16)}, "ladder must ascend and hold q0 = 8, got [8, 8, 16]"),
        ({"ladder": (4, 16)}, "schedule: ladder must ascend and hold q0 = 8, got [4, 16]"),
    ],
)
def test_settings_out_of_range_are_rejected(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        QScheduler(**arguments)
