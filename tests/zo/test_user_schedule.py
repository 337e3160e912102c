"""Functions as schedules."""

import json
import re

import pytest
from training_tasks import head_task, run_to_end

import zo


def two_more(epoch, metric):
    return min(2 + 2 * epoch, 6)


def test_a_function_chooses_q():
    schedule = zo.UserSchedule(two_more, (2, 4, 6))
    result, _ = run_to_end(head_task(seed=1), schedule, epochs=4, batch=8)
    assert [e.q for e in result.history] == [0, 2, 4, 6, 6]


def test_a_function_is_given_epochs_and_counts():
    seen = []

    def watch(epoch, metric):
        seen.append((epoch, metric))
        return 3

    result, _ = run_to_end(head_task(seed=1), zo.UserSchedule(watch, (3,)), epochs=2, batch=8)
    assert seen == [(e.epoch, (e.correct, e.total)) for e in result.history[1:]]


def test_states_continue():
    first, second = (zo.UserSchedule(two_more, (2, 4, 6)) for _ in range(2))
    first.step((1, 2))
    second.load_state_dict(json.loads(json.dumps(first.state_dict())))
    assert (second.q, second.step((1, 2))) == (4, 6)
    with pytest.raises(ValueError, match="schedule: rungs must be as saved"):
        zo.UserSchedule(two_more, (2, 4)).load_state_dict(first.state_dict())


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: zo.UserSchedule(two_more, ()), "schedule: rungs must ascend, got ()"),
        (lambda: zo.UserSchedule(two_more, (4, 2)), "schedule: rungs must ascend, got (4, 2)"),
        (lambda: zo.UserSchedule(two_more, (2, 4), 3), "q0: must give one of the rungs (2, 4)"),
        (lambda: zo.UserSchedule(two_more, (2, 8)).step(0.5), "two_more: must give one of"),
    ],
)  # fmt: skip
def test_rungs_that_do_not_fit_are_rejected(make, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        make()
