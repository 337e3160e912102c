"""Training in C is training in Python: recorded runs of zo, repeated step by step.

The forward passes are played back; codes in effect at each pass, and codes, residuals, momentum and
loss after each step must be equal.
"""

from functools import cache

import numpy as np
import pytest
from training_tasks import digits_task

import zo
from c.agreement import differences, unchecked
from c.cases.arguments import status
from c.cases.step import call, record, start
from c.records import Case
from npusim import Graph, Node, Quantization, Session, Tensor
from npusim.head import with_features
from zo.data import in_memory
from zo.loss import ErrorCount

SEED = 2**40 + 5
HEAD, BELOW = ("head", "head/bias"), ("stem", "depthwise", "depthwise/bias")
RUNS = {
    "one sided": (HEAD, {}),
    "centred": (HEAD, {"estimator": "centred"}, 2),
    "central": (HEAD, {"estimator": "central", "k": 2}),
    "saturated": (HEAD, {"perturbation": "saturate", "k": 3}),
    "nearest": (HEAD, {"rule": "nearest", "momentum": 0.0, "k": 4}),
    "stochastic": (HEAD, {"rule": "stochastic", "space": "integer"}),
    "threshold": (HEAD, {"rule": "threshold", "decay": "constant"}),
    "sign": (HEAD, {"rule": "sign", "lr_scaling": "none"}),
    "signs of differences": (HEAD, {"estimator": "sign", "lr": 0.01}),
    "hadamard": (HEAD, {"estimator": "hadamard", "k": 3}, 5),
    "errors": (HEAD, {"loss": ErrorCount(10), "k": 2}),
    "exact": (HEAD, {"exact_head": True}),
    "below": (BELOW, {}),
    "below, central": (BELOW, {"estimator": "central"}),
    "below, saturated": (BELOW, {"perturbation": "saturate", "k": 3}),
    "joint": ((*BELOW, *HEAD), {"exact_head": True}),
    "joint, saturated": (("stem", *HEAD), {"exact_head": True, "perturbation": "saturate"}),
}


def begin(trainable, settings, schedule, train, batch, epochs):
    """A run of the digit reader before its first step."""
    method = zo.Method(**settings)
    task = digits_task(train=train)
    graph = with_features(task.graph) if method.exact_head else task.graph
    session = Session(graph, trainable=trainable, threads=1)
    options = zo.Options(epochs=epochs, batch=batch, seed=SEED, method=method)
    return start(session, (task.train, task.validation), schedule, options)


@cache
def short_run(name):
    """Five steps, with scales that have doubled before."""
    trainable, settings, *q = RUNS[name]
    run = begin(trainable, settings, zo.Constant(*q or (3,)), 40, 8, 2)
    for t in run.step.group.tensors:
        t.state.doublings[:] = np.random.default_rng(SEED).integers(0, 3, t.state.doublings.size)
    return call(run, record(run, 5))


@pytest.mark.parametrize("name", RUNS)
def test_steps_match_python(zo_code, runner, name):
    assert differences(zo_code.declarations, runner, [short_run(name)]) == []


def wide_head(classes=150, features=6):
    """A head with more channels and biases than a step takes at once, and images for it."""
    rng = np.random.default_rng(SEED)
    codes = rng.integers(-40, 41, (classes, features)).astype(np.int8)
    bias = rng.integers(-2000, 2000, classes).astype(np.int32)
    scale, zeros = rng.uniform(0.001, 0.01, classes).astype(np.float32), np.zeros(classes, np.int64)
    tensors = (
        Tensor("x", (1, 1, 1, features), "int8", "input",
               Quantization(np.array([0.03]), np.array([-20]))),
        Tensor("head", codes.shape, "int8", "constant", Quantization(scale, zeros, 0), codes, 1),
        Tensor("head/bias", bias.shape, "int32", "constant",
               Quantization(scale * np.float32(0.03), zeros, 0), bias, 2),
        Tensor("logits", (1, classes), "int8", "activation",
               Quantization(np.array([0.05]), np.array([0]))),
    )  # fmt: skip
    attributes = {"activation": "none", "keep_dims": False}
    node = Node("fully_connected", "fully_connected_0", (0, 1, 2), (3,), attributes)
    x = rng.integers(-128, 128, (24, 1, 1, features)).astype(np.int8)
    labels = rng.integers(0, classes, len(x))
    data = in_memory("random", x, labels, tuple(map(str, range(classes))))
    return Graph("wide head", tensors, (node,), (0,), (3,)), data


@pytest.mark.parametrize("exact", [False, True], ids=["zeroth order", "exact"])
def test_steps_of_a_wide_head_match_python(zo_code, runner, exact):
    graph, data = wide_head()
    session = Session(graph, trainable=["head", "head/bias"], threads=1)
    options = zo.Options(epochs=1, batch=8, seed=SEED, method=zo.Method(exact_head=exact))
    run = start(session, (data, data), zo.Constant(3), options)
    assert differences(zo_code.declarations, runner, [call(run, record(run, 3))]) == []


@pytest.mark.parametrize("name", RUNS)
def test_every_part_of_the_state_is_checked(zo_code, name):
    assert unchecked(zo_code.declarations, short_run(name)) == set()


def refused(settings, change):
    """A call that must answer with a status, and leave everything as it was."""
    run = begin(HEAD, settings, zo.Constant(3), 40, 8, 2)
    before = call(run, record(run, 1))
    given = {**before.arguments, "codes": np.zeros(9, np.int64)}
    expected = {path: np.zeros_like(value) for path, value in before.expected.items()
                if path in ("states", "losses")}  # fmt: skip
    for i, tensor in enumerate(given["tensors"]):
        state = tensor["state"]
        for name in ("codes", "residual", "momentum", "doublings"):
            expected[f"tensors.{i}.state.{name}"] = state[name]
    change(given)
    return Case(before.function, given, expected)


def few_samples(given):
    given["draws"][0]["q"] = 1
    for tensor in given["tensors"]:
        tensor["rates"]["rungs"] = np.array([1], np.int32)


def unknown_q(given):
    given["draws"][0]["q"] = 4


def unknown_label(given):
    given["tape"]["labels"][-1] = 10


def no_samples(given):
    given["draws"][0]["q"] = 0
    for tensor in given["tensors"]:
        tensor["rates"]["rungs"] = np.array([0], np.int32)


def wide_step(given):
    given["tensors"][1]["k"] = 64


REFUSALS = {
    "BAD_SAMPLES": ({"estimator": "centred"}, few_samples),
    "BAD_RATE": ({}, unknown_q),
    "BAD_LABEL": ({}, unknown_label),
    "BAD_SAMPLES, none": ({}, no_samples),
    "BAD_STEP": ({"estimator": "central"}, wide_step),
}


@pytest.mark.parametrize("reason", REFUSALS)
def test_impossible_steps_change_nothing(zo_code, runner, reason):
    case = refused(*REFUSALS[reason])
    expected = {**case.expected, "return": status(reason.split(",")[0])}
    assert differences(zo_code.declarations, runner, [case._replace(expected=expected)]) == []


@cache
def long_run(trainable, k, lr):
    """200 steps in four parts; between them an epoch ends, scales double and q rises."""
    schedule = zo.QScheduler(q0=2, q_max=8, patience=1, threshold=1.0)
    run = begin(trainable, {"k": k, "lr": lr}, schedule, 200, 4, 4)
    calls = []
    for _ in range(4):
        calls.append(call(run, record(run, 50)))
        run.finish_epoch(0, 0.0)
    return calls, [epoch.q for epoch in run.history], [e for h in run.history for e in h.events]


@pytest.mark.parametrize(
    ("trainable", "k", "lr"), [(HEAD, 2, 0.02), (BELOW, 2, None)], ids=["head", "below"]
)
def test_two_hundred_steps_match_python(zo_code, runner, trainable, k, lr):
    calls, q, doublings = long_run(trainable, k, lr)
    assert q == [0, 2, 2, 4, 8]
    assert doublings
    # Each part starts from what Python reached, where C's part before it ended.
    assert differences(zo_code.declarations, runner, calls) == []
