"""Cost: what is counted is what is done."""

import numpy as np
import pytest
from training_tasks import digits_task

import zo
from npusim import Session
from npusim.head import with_features
from zo.cost import Cost
from zo.prepare import prepare


def test_costs_add_up():
    assert Cost(1, 2, 3, 4).plus(Cost(10, 20, 30, 40), times=3) == Cost(31, 62, 93, 124)


@pytest.mark.parametrize("estimator", ["one_sided", "centred", "central", "sign"])
@pytest.mark.parametrize(
    ("trainable", "exact"), [(("stem",), False), (("stem", "head"), True), (("head",), True)]
)
def test_forwards_are_those_of_the_session(estimator, trainable, exact, monkeypatch):
    task, ran = digits_task(32, 10), []
    graph = with_features(task.graph)
    session = Session(graph, trainable=trainable, threads=1)
    options = zo.Options(
        epochs=1, batch=16, method=zo.Method(estimator=estimator, exact_head=exact)
    )
    run = prepare(session, task.train, task.validation, zo.Constant(3), options)
    once, run_from = run.cost, session.run_from
    monkeypatch.setattr(session, "run_from", lambda x: ran.append(len(x)) or run_from(x))
    run.train_step(0, np.arange(16))
    macs = session.macs_from_prefix
    assert once == Cost(macs=32 * (session.macs - macs))
    assert run.cost.forwards == len(ran)
    assert run.cost.macs - once.macs == sum(ran) * macs
