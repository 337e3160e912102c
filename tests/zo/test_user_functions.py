"""Functions as estimators and update rules: equal to zo's where they say the same."""

import re

import numpy as np
import pytest
from training_tasks import head_task, run_to_end

import zo
from zo.estimate import Estimate
from zo.export import Task, export_training

CHOSEN = {"epochs": 3, "batch": 8}


def slope(base, losses, k, batch):
    """one_sided"""
    return Estimate(losses - base, losses.size * batch * k)


def whole_codes(codes, u):
    """nearest"""
    return codes.astype(np.int64) - ((u + (1 << 15)) >> 16)


def bits(**method):
    task = head_task(seed=2, rail=124)
    result, session = run_to_end(task, zo.Constant(3), method=zo.Method(**method), **CHOSEN)
    return (
        session.weights["head"].tobytes(),
        [e.loss for e in result.history],
        result.history[-1].cost,
    )


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize(
    ("own", "named"),
    [
        ({"estimator": slope}, {}),
        ({"rule": whole_codes}, {"rule": "nearest"}),
        ({"estimator": slope, "rule": whole_codes, "k": 3}, {"rule": "nearest", "k": 3}),
    ],
    ids=["estimator", "rule", "both"],
)
def test_functions_that_say_the_same_give_the_same_bits(own, named):
    assert bits(**own) == bits(**named)


def test_a_run_goes_on_with_the_function_it_began_with(tmp_path):
    task, path = head_task(seed=2), tmp_path / "run.npz"
    run_to_end(task, zo.Constant(3), method=zo.Method(rule=whole_codes), checkpoint=path, **CHOSEN)
    message = r"rule \(--rule\) must be as saved, .*whole_codes.*, got .*slope"
    with pytest.raises(ValueError, match=message):
        run_to_end(task, zo.Constant(3), method=zo.Method(rule=slope), checkpoint=path,
                   resume=True, **CHOSEN)  # fmt: skip


@pytest.mark.parametrize(
    ("method", "error", "message"),
    [
        ({"estimator": lambda *_: (np.zeros(3), 1)}, TypeError,
         "<lambda>: coefficients must be int64 (3,), got float64 (3,)"),
        ({"estimator": lambda *_: (np.zeros(2, np.int64), 1)}, TypeError,
         "<lambda>: coefficients must be int64 (3,), got int64 (2,)"),
        ({"estimator": lambda *_: (np.zeros(3, np.int64), 0)}, ValueError,
         "<lambda>: den must be an integer in 1..2^46-1, got 0"),
        ({"estimator": lambda *_: (np.full(3, 2**45), 1)}, ValueError,
         "<lambda>: the sum of |c| must stay below 2^46, got 105553116266496"),
        ({"rule": lambda codes, u: codes * 1.0}, TypeError,
         "<lambda>: new codes must be integers (120,), got float64 (120,)"),
    ],
)  # fmt: skip
def test_what_functions_give_is_checked(method, error, message):
    with pytest.raises(error, match=re.escape(message)):
        run_to_end(head_task(seed=2), zo.Constant(3), method=zo.Method(**method), **CHOSEN)


def test_new_codes_are_clamped_to_the_rails():
    method = zo.Method(rule=lambda codes, u: codes.astype(np.int64) + 10**6, k=5)
    _, session = run_to_end(head_task(seed=2), zo.Constant(3), method=method, **CHOSEN)
    assert (session.weights["head"] == 122).all()


@pytest.mark.parametrize("what", ["estimator", "rule"])
def test_c_has_no_functions_of_a_user(what):
    task = head_task(seed=2)
    options = zo.Options(method=zo.Method(**{what: slope}), batch=8)
    project = Task(task.graph, ["head"], task.train, task.validation)
    with pytest.raises(ValueError, match=f"export: {what} must be one of zo's in C, got .*slope"):
        export_training(project, "head", zo.Constant(2), options)


def test_functions_are_no_choice_of_other_settings():
    with pytest.raises(ValueError, match="method: decay must be one of cosine, constant, got"):
        zo.Method(decay=slope)


def test_bare_functions_are_sent_to_their_wrappers():
    with pytest.raises(TypeError, match=r"loss must have a bound, got .*slope; .* into UserLoss"):
        zo.Method(loss=slope)
    with pytest.raises(TypeError, match=r"scheduler must have q, .* got .*slope; .*UserSchedule"):
        run_to_end(head_task(seed=2), slope, **CHOSEN)
