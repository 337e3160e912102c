"""Early stopping: its count, what restarts it, its state."""

import json

import pytest

from zo.early_stopping import EarlyStopping
from zo.schedule import QScheduler


def test_early_stopping_counts_epochs_without_a_better_metric():
    stopping = EarlyStopping(3)
    metrics = [(50, 100), (50, 100), (51, 100), (51, 100), 0.51, (50, 100), (1, 100)]
    assert [stopping.step(m, 8) for m in metrics] == [False] * 5 + [True, True]


def test_early_stopping_restarts_when_q_rises():
    # A scheduler of patience 5 that climbs from 8 to 1024 stagnates for 35 epochs.
    scheduler, stopping = QScheduler(q_max=1024), EarlyStopping(patience=30)
    stops = [stopping.step(0.5, scheduler.step(0.5)) for _ in range(70)]

    assert stops.index(True) == 35 + 30
    assert scheduler.q == 1024


def test_early_stopping_continues_from_its_state():
    first, second = EarlyStopping(3), EarlyStopping(3)
    for metric in (0.5, 0.6, 0.6):
        assert not first.step(metric, 8)
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))

    assert [second.step(metric, 8) for metric in (0.6, 0.59)] == [False, True]


def test_early_stopping_rejects_no_patience():
    with pytest.raises(ValueError, match="patience must be an integer of at least 1, got 0"):
        EarlyStopping(0)
