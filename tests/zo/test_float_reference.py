"""The float32 reference: its network, its step against plain Python, what it refuses."""

import math
import re
from dataclasses import replace

import numpy as np
import pytest
from naive import training as naive
from training_tasks import (
    CLASSES,
    FEATURE_SCALE,
    FEATURE_ZERO_POINT,
    FEATURES,
    HEAD_STREAM,
    WEIGHT_SCALES,
    digits_task,
    head_task,
    interrupt_after,
)

import zo
from npusim import ModelError, Node, Session, floats
from npusim.layer_error import made_real
from zo.float_reference.network import FloatNetwork, dequantized

SEED, BATCH = 2**33 + 5, 4


def test_the_network_runs_as_its_float_graph():
    task = digits_task(20, 10)
    codes = task.train.images()
    network = FloatNetwork(task.graph, ["depthwise", "head"])
    graph = dequantized(task.graph)
    real = made_real(codes, task.graph.tensors[task.graph.inputs[0]])
    expected = floats.run(graph, real)
    assert np.array_equal(network.logits(network.prefix(codes)), expected)
    # int8 rounds: nine in ten logits lie within two codes of the real ones
    logits = task.graph.tensors[task.graph.outputs[0]]
    int8 = made_real(Session(task.graph, threads=1).run(codes), logits)
    scale = float(logits.quantization.scale[0])
    assert np.mean(np.abs(int8 - np.clip(expected, -128 * scale, 127 * scale)) < 2 * scale) > 0.9


def test_changed_constants_are_those_of_the_trained_graph():
    task = digits_task(10, 10)
    network = FloatNetwork(task.graph, ["head"])
    network.constants["head"] = network.constants["head"] * np.float32(0.5)
    prefix = network.prefix(task.train.images())
    real = made_real(task.train.images(), task.graph.tensors[task.graph.inputs[0]])
    assert np.array_equal(network.logits(prefix), floats.run(network.trained(), real))


class PlainRun:
    """A head in Python floats, its codes real."""

    def __init__(self, task, q, method):
        self.q, self.method = q, method
        self.codes = [float(c) for c in task.graph.tensor("head").data.reshape(-1)]
        self.scales = [float(np.float32(s)) for s in WEIGHT_SCALES]
        x = task.train.images().reshape(-1, FEATURES).astype(int)
        scale = float(np.float32(FEATURE_SCALE))
        self.x = [[(int(v) - FEATURE_ZERO_POINT) * scale for v in row] for row in x]
        bias = task.graph.tensor("head/bias").data
        bias_scales = np.array(WEIGHT_SCALES, np.float32) * FEATURE_SCALE
        self.bias = [int(b) * float(s) for b, s in zip(bias, bias_scales, strict=True)]
        self.labels = task.train.labels.tolist()
        self.momentum = [0.0] * len(self.codes)

    def loss(self, rows, codes):
        total = 0.0
        for row in rows:
            logits = [
                self.bias[c] + self.scales[c] * sum(
                    codes[c * FEATURES + i] * x for i, x in enumerate(self.x[row])
                )
                for c in range(CLASSES)
            ]  # fmt: skip
            largest = max(logits)
            total += math.log(sum(math.exp(v - largest) for v in logits)) + largest
            total -= logits[self.labels[row]]
        return total

    def step(self, t, steps):
        epoch, i = divmod(t, len(self.x) // BATCH)
        rows = naive.shuffle(SEED, epoch, len(self.x))[i * BATCH : (i + 1) * BATCH]
        n, k, base = len(self.codes), self.method.k, self.loss(rows, self.codes)
        draw = naive.hadamard if self.method.estimator == "hadamard" else naive.signs
        z = [draw(SEED, t, sample, HEAD_STREAM, n) for sample in range(self.q)]

        def moved(sample, direction):
            codes = [w + direction * k * s for w, s in zip(self.codes, z[sample], strict=True)]
            return self.loss(rows, codes)

        plus, c = [moved(i, 1) for i in range(self.q)], []
        mean = sum(plus) / self.q
        for i, loss in enumerate(plus):
            c.append({
                "central": lambda i=i, loss=loss: (loss - moved(i, -1)) / 2 / self.q,
                "centred": lambda loss=loss: (loss - mean) / (self.q - 1),
                "sign": lambda loss=loss: math.copysign(BATCH, loss - base) / self.q,
            }.get(self.method.estimator, lambda loss=loss: (loss - base) / self.q)())  # fmt: skip
        decay = (1 + math.cos(math.pi * min(1023, 1024 * t // steps) / 1024)) / 2
        for w in range(n):
            gradient = sum(c[i] * z[i][w] for i in range(self.q)) / (BATCH * k)
            self.momentum[w] = 29491 / 32768 * self.momentum[w] + gradient
            rate = self.method.lr / self.scales[w // FEATURES] ** 2 * decay
            self.codes[w] -= rate * self.momentum[w]


@pytest.mark.parametrize("alone", [True, False])
@pytest.mark.parametrize("estimator", ["one_sided", "centred", "central", "sign", "hadamard"])
def test_steps_match_plain_python(estimator, alone, monkeypatch):
    if not alone:  # every sample is a forward pass
        monkeypatch.setattr(FloatNetwork, "head_input", None)
    task = head_task(seed=3, images=16)
    method = zo.Method(estimator=estimator, lr=0.0002, k=2)
    session = Session(task.graph, trainable=["head"], threads=1)
    result = zo.train_float32(session, task.train, task.validation, scheduler=zo.Constant(3),
                              method=method, seed=SEED, batch=BATCH, epochs=2)  # fmt: skip
    plain = PlainRun(task, 3, method)
    for t in range(8):
        plain.step(t, 8)
    scales = np.repeat(plain.scales, FEATURES)
    actual = result.graph.tensor("head").data.reshape(-1) / scales
    before = task.graph.tensor("head").data.reshape(-1)
    # Rates have 16 bits and weights 24: the steps agree to a few parts in 10,000.
    moved = np.abs(np.array(plain.codes) - before).max()
    assert moved > 0.5
    assert np.abs(actual - plain.codes).max() < 5e-4 * moved


def test_the_session_stays_as_it_is():
    task = head_task(seed=3, rail=127)
    session = Session(task.graph, trainable=["head"], threads=1)
    zo.train_float32(session, task.train, task.validation, epochs=1, batch=8)
    assert session.snapshot() == task.graph


def test_schedule_stop_and_hooks_are_those_of_a_run():
    task, seen = head_task(seed=3), []
    session = Session(task.graph, trainable=["head", "head/bias"], threads=1)
    schedule = zo.QScheduler(q0=2, q_max=4, patience=1, threshold=1.0)
    hooks = zo.Hooks(on_epoch=lambda epoch: seen.append(epoch.epoch))
    result = zo.train_float32(session, task.train, task.validation, scheduler=schedule, epochs=3,
                              batch=8, hooks=hooks)  # fmt: skip
    assert [e.q for e in result.history] == [0, 2, 2, 4]
    assert seen == [0, 1, 2, 3]
    assert result.stopped == "epochs"
    assert result.history[-1].cost.forwards == 6 * (3 + 3 + 5)
    assert result.accuracy == result.history[-1].accuracy <= result.best
    bias = task.graph.tensor("head/bias")
    before = bias.data * bias.quantization.scale
    assert not np.allclose(result.graph.tensor("head/bias").data, before)
    stopped = zo.train_float32(session, task.train, task.validation, epochs=3, batch=8,
                               hooks=interrupt_after(9))  # fmt: skip
    assert stopped.stopped == "interrupted"


def test_it_learns_what_the_int8_run_learns():
    task = head_task(seed=5, images=120)
    results = []
    for way in (zo.train, zo.train_float32):
        session = Session(task.graph, trainable=["head"], threads=1)
        results.append(way(session, task.train, task.validation, scheduler=zo.Constant(16),
                           epochs=8, batch=20))  # fmt: skip
    int8, real = results
    assert real.history[0].mean_loss == pytest.approx(int8.history[0].mean_loss, abs=0.02)
    assert real.history[-1].mean_loss < real.history[0].mean_loss / 2
    assert real.history[-1].mean_loss == pytest.approx(int8.history[-1].mean_loss, abs=0.1)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"method": zo.Method(exact_head=True)}, "float32: exact_head must be False, got True"),
        (
            {"method": zo.Method(estimator=lambda *_: None)},
            "float32: estimator must be one of zo's",
        ),
        ({"method": zo.Method(rule="sign")}, "float32: rule must be error_feedback, got sign"),
        ({"method": zo.Method(perturbation="saturate")}, "float32: perturbation must be clip, got"),
        (
            {"method": zo.Method(loss=zo.ErrorCount(5))},
            "float32: loss must be None, got zo.loss.Err",
        ),
        ({"checkpoint": "run.npz"}, "float32: checkpoint must be None, got run.npz"),
        ({"scheduler": zo.Gate("dead_zone")}, "float32: schedule must go by accuracy or epochs"),
    ],
)
def test_what_has_no_counterpart_is_refused(changes, message):
    task = head_task(seed=3)
    session = Session(task.graph, trainable=["head"], threads=1)
    with pytest.raises(ValueError, match=re.escape(message)):
        zo.train_float32(session, task.train, task.validation, batch=8, **changes)


def test_operators_without_a_float_counterpart_are_named():
    graph = head_task(seed=3).graph
    node = Node("transpose", "transpose_0", (3,), (4,), {"permutation": (0, 1)})
    output = replace(graph.tensors[3], name="p")
    graph = replace(graph, tensors=(*graph.tensors, output), nodes=(*graph.nodes, node),
                    outputs=(4,))  # fmt: skip
    with pytest.raises(ModelError, match="transpose_0"):
        dequantized(graph)
