"""Cost: what is counted is what is done."""

import numpy as np
import pytest
from training_tasks import digits_task

import zo
from npusim import Session
from npusim.head import with_features
from zo import prng
from zo.cost import Cost
from zo.prepare import prepare
from zo.trainable import Trainable


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


@pytest.mark.parametrize(
    "method",
    [
        zo.Method(),
        zo.Method(estimator="central"),
        zo.Method(exact_head=True),
        zo.Method(exact_head=True, estimator="central"),
        zo.Method(perturbation="saturate"),
        zo.Method(exact_head=True, perturbation="saturate"),
    ],
    ids=lambda method: f"{method.estimator} {method.perturbation} {method.exact_head}",
)
@pytest.mark.parametrize(
    "trainable", [("head",), ("head", "head/bias"), ("pointwise", "pointwise/bias", "head")]
)
def test_signs_and_bytes_are_those_of_the_step(method, trainable, monkeypatch):
    """Signs are counted where NumPy draws them, bytes where codes are brought into effect."""
    monkeypatch.setenv("NPUSIM_ISA", "numpy")
    task = digits_task(32, 10)
    session = Session(with_features(task.graph), trainable=trainable, threads=1)
    options = zo.Options(epochs=1, batch=16, method=method)
    run = prepare(session, task.train, task.validation, zo.Constant(3), options)
    drawn, written, fill, write = [], [], prng.fill_signs, Trainable.write

    def counted_fill(stream, sample, first, z):
        drawn.append(z.size)
        fill(stream, sample, first, z)

    def counted_write(t):
        written.append(t.state.codes.size * (1 if t.form is None else 4))
        write(t)

    monkeypatch.setattr(prng, "fill_signs", counted_fill)
    monkeypatch.setattr(Trainable, "write", counted_write)
    run.train_step(0, np.arange(16))
    assert run.cost.random_bits == sum(drawn)
    assert run.cost.bytes_written == sum(written)
