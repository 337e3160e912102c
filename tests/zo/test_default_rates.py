"""Default learning rates: each rule against its formula, and what `lr` overrides."""

import numpy as np
import pytest
from training_tasks import FEATURE_SCALE, FEATURE_ZERO_POINT, FEATURES, digits_task, head_task

import zo
from npusim import Session
from zo.cost_aware import DIRECTIONS
from zo.default_rates import EXACT_HEAD_RATE, HEAD_RATE
from zo.loss import cross_entropy_loss
from zo.prepare import prepare
from zo.prng import signs
from zo.rate import LearningRate

RUNGS = (4, 8, 16)
SCHEDULE = {0: 4, 1: 8, 2: 16}


def prepared(task, trainable=("head",), **method):
    session = Session(task.graph, trainable=trainable, threads=1)
    options = zo.Options(epochs=3, batch=16, seed=5, method=zo.Method(**method))
    return prepare(session, task.train, task.validation, zo.Declared(SCHEDULE), options)


def assert_rate(run, name, lr, scaling="linear"):
    """The tensor's integer rates are those of this lr."""
    (t,) = (t for t in run.step.group.tensors if t.name == name)
    steps = 3 * (len(run.train) // 16)
    expected = LearningRate(lr, scaling).rates(t.scales, RUNGS, RUNGS[0], steps)
    for q in RUNGS:
        for mine, theirs in zip(run.step.rates[name].at(q, 1), expected.at(q, 1), strict=True):
            assert mine.tolist() == theirs.tolist()


def mean_square_norm(task):
    """Mean ||x||^2 of the head task's inputs."""
    codes = task.train.images().reshape(-1, FEATURES).astype(int) - FEATURE_ZERO_POINT
    return (codes**2).sum() / len(codes) * float(np.float32(FEATURE_SCALE)) ** 2


def test_head_rate_is_proportional_to_q_over_the_norm():
    task = head_task(seed=1)
    assert_rate(prepared(task), "head", 0.006 * 4 / mean_square_norm(task))


def test_exact_head_rate_does_not_follow_q():
    task = head_task(seed=1)
    run = prepared(task, ("head", "head/bias"), exact_head=True)
    for name in ("head", "head/bias"):
        assert_rate(run, name, 2.0 / mean_square_norm(task), "none")


@pytest.mark.parametrize(("k", "floor"), [(1, True), (6, False)])
def test_rate_below_the_head_moves_a_code_by_a_sixteenth(k, floor):
    task = digits_task(48, 20)
    session = Session(task.graph, trainable=["stem"], threads=1)
    stem, scale = session.weights["stem"], task.graph.tensor("stem").quantization.scale
    logits = task.graph.tensor("logits").quantization.scale[0]
    loss, codes = cross_entropy_loss(float(logits), 10), stem.clip(k - 127, 127 - k)
    images, labels = task.train.images(), task.train.labels

    def nats(z):
        stem[...] = codes + k * z
        return loss(session.run(images), labels) / 65536 / len(labels)

    stream, base = task.graph.tensor("stem").stream, nats(np.int8(0))
    draws = (signs(5, 2**32 - 1, i, stream, stem.size).reshape(stem.shape) for i in range(16))
    difference = np.sqrt(np.mean([(nats(z) - base) ** 2 for z in draws]))
    assert (difference < 0.08) == floor
    step = np.mean(scale.astype(np.float64) ** 2)
    lr = k * step * np.sqrt(4) / 16 / max(difference, 0.08)
    assert_rate(prepared(task, ["stem"], k=k), "stem", float(lr))


def test_difference_has_a_floor():
    silent = zo.UserLoss(lambda outputs, labels: 0, per_image=1)
    run = prepared(digits_task(48, 20), ["stem"], loss=silent)
    scale = run.step.group.tensors[0].scales
    assert_rate(run, "stem", sum(s * s for s in scale) / len(scale) * 2 / 16 / 0.08)


def test_sign_counts_one_nat_for_the_head_too():
    run = prepared(head_task(seed=1), estimator="sign")
    scale = run.step.group.tensors[0].scales
    assert_rate(run, "head", sum(s * s for s in scale) / len(scale) * 2 / 16)


def test_given_rates_come_first():
    assert_rate(prepared(head_task(seed=1), lr=0.25), "head", 0.25)
    task = head_task(seed=1)
    run = prepared(task, ("head", "head/bias"), lr={"head/bias": 0.5})
    assert_rate(run, "head/bias", 0.5)
    assert_rate(run, "head", 0.006 * 4 / mean_square_norm(task))


def test_a_given_rate_is_for_the_first_epoch_of_a_falling_q():
    task = head_task(seed=1)
    session = Session(task.graph, trainable=["head"])
    options = zo.Options(batch=8, method=zo.Method(lr=0.01))
    run = prepare(session, task.train, task.validation, zo.Declared({0: 16, 1: 4}), options)
    first = LearningRate(0.01).rates(run.step.group.tensors[0].scales, (4, 16), 16, 360)
    for q in (4, 16):
        found, expected = run.step.rates["head"].pairs[q], first.pairs[q]
        assert all(np.array_equal(a, b) for a, b in zip(found, expected, strict=True))


def test_the_schedule_that_goes_by_costs_counts_the_ratio_of_the_rates():
    assert round(EXACT_HEAD_RATE / HEAD_RATE) == DIRECTIONS
