"""Training runs: equal to naive integers, and the same bits however they are computed."""

import hashlib
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from training_tasks import (
    CLASSES,
    FEATURES,
    LOGIT_SCALE,
    digits_task,
    head_task,
    run_to_end,
)

import zo
from npusim import Accumulator, Session
from npusim.head import with_features
from zo.cost import Cost
from zo.data import in_memory
from zo.loss import UserLoss, squared_error_loss

TESTS = Path(__file__).resolve().parents[1]
FC = "fully_connected_0"


def bits(result, session):
    """Everything of a run that must be reproducible, as one hash; cost depends on reuse."""
    digest = hashlib.sha256()
    for name in session.trainable:
        digest.update(session.weights[name].tobytes())
    for r in session.requantization.values():
        digest.update(r.shift.tobytes())
    digest.update(repr([(*e[:7], e.events) for e in result.history]).encode())
    return digest.hexdigest()


def trained_bits(task, schedule, **changes):
    return bits(*run_to_end(task, schedule, **changes))


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("estimator", ["one_sided", "centred", "central"])
def test_reuse_changes_no_bit(estimator):
    task = head_task(seed=1)
    schedule = {0: 2, 1: 4}
    method = zo.Method(estimator=estimator)
    results = [
        trained_bits(
            task,
            zo.Declared(schedule),
            method=method,
            epochs=3,
            batch=8,
            reuse=zo.Reuse(prefix=prefix, signs=signs),
        )
        for prefix in (True, False)
        for signs in (True, False)
    ]
    assert len(set(results)) == 1


def test_reuse_of_prefixes_changes_no_bit_below_the_head():
    task = digits_task(64, 40)
    chosen = {"trainable": ("down", "pointwise"), "epochs": 2, "batch": 16}
    stored, whole = (
        trained_bits(task, zo.Constant(3), reuse=zo.Reuse(prefix=prefix), **chosen)
        for prefix in (True, False)
    )
    assert stored == whole


@pytest.mark.parametrize("task", [head_task(seed=1), digits_task(64, 40)], ids=["head", "digits"])
def test_prefixes_that_do_not_fit_are_made_for_each_batch(task, monkeypatch):
    chosen = {"trainable": (task.graph.nodes[-1].name,), "epochs": 2, "batch": 8}
    expected = trained_bits(task, zo.Constant(4), **chosen)
    monkeypatch.setattr("zo.batch.MAX_STORED_BYTES", 0)
    monkeypatch.setattr("zo.batch.frozen_rows", None)
    assert trained_bits(task, zo.Constant(4), **chosen) == expected


def test_threads_change_no_bit():
    task = digits_task(96, 70)
    one, two = (
        trained_bits(
            task, zo.Constant(3), trainable=("stem", "head"), threads=threads, epochs=2, batch=32
        )
        for threads in (1, 2)
    )
    assert one == two


@pytest.mark.parametrize("isa", ["numpy", "portable"])
def test_other_process_gives_the_same_bits(isa):
    program = (
        "import sys; sys.path[:0] = sys.argv[1:]\n"
        "from test_train import reference_bits\n"
        "print(reference_bits())"
    )
    found = subprocess.run(
        [sys.executable, "-c", program, str(TESTS), str(TESTS / "zo")],
        env={**os.environ, "NPUSIM_ISA": isa}, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert found.stdout.strip() == reference_bits()


def reference_bits():
    """A run of layers and biases, exact and by zeroth order, with scales and q that change."""
    task = digits_task(48, 30)
    graph = with_features(task.graph)
    method = zo.Method(exact_head=True, k={"stem": 3}, lr={"stem": 0.05})
    return trained_bits(
        task._replace(graph=graph), zo.QScheduler(q0=2, q_max=4, patience=1),
        trainable=("stem", "stem/bias", "down", "head", "head/bias"),
        method=method, epochs=3, batch=16, seed=11,
    )  # fmt: skip


def test_seed_decides_the_bits():
    task = head_task(seed=1)
    same, again, other = (
        trained_bits(task, zo.Constant(4), epochs=2, batch=8, seed=seed) for seed in (5, 5, 6)
    )
    assert same == again != other


def test_saturating_perturbation_matches_clipping_away_from_the_rails():
    task = head_task(seed=3)
    clipped, saturated = (
        run_to_end(
            task,
            zo.Constant(4),
            epochs=1,
            batch=8,
            method=zo.Method(perturbation=perturbation, lr=1e-4),
        )
        for perturbation in ("clip", "saturate")
    )
    assert np.abs(clipped[1].weights["head"]).max() < 100
    assert np.array_equal(clipped[1].weights["head"], saturated[1].weights["head"])
    assert not np.array_equal(clipped[1].weights["head"], task.graph.tensor("head").data)


@pytest.mark.parametrize(
    ("method", "epochs"),
    [
        (zo.Method(), 12),
        (zo.Method(exact_head=True), 12),
        (zo.Method(estimator="sign"), 24),
        (zo.Method(rule="threshold", threshold=1 / 64), 12),
        (zo.PAPER, 12),
    ],
)
def test_training_learns(method, epochs):
    task = head_task(seed=2, images=160)
    result, _ = run_to_end(task, zo.Constant(16), epochs=epochs, batch=16, method=method)
    assert result.history[0].accuracy < 0.6
    assert result.accuracy > 0.85


def test_joint_training_learns_and_gives_one_output():
    task = digits_task()
    task = task._replace(graph=with_features(task.graph))
    result, _ = run_to_end(task, zo.Constant(4), trainable=("stem", "head"), epochs=8, batch=32,
                           method=zo.Method(exact_head=True))  # fmt: skip
    assert result.history[-1].loss < result.history[0].loss * 3 // 4
    assert [result.graph.tensors[i].shape for i in result.graph.outputs] == [(1, 10)]


def test_trained_graph_repeats_the_accuracy():
    task = head_task(seed=4, rail=120)
    result, session = run_to_end(task, zo.Constant(4), epochs=6, batch=8)
    logits = Session(result.graph, threads=1).run(task.validation.images())
    assert np.mean(logits.argmax(1) == task.validation.labels) == result.accuracy
    assert any("doubled" in event for e in result.history for event in e.events)
    assert np.array_equal(logits, session.run(task.validation.images()))


def test_a_run_that_ends_keeps_its_scales():
    """Else its model would not have the accuracy that was measured before the last doubling."""
    task = head_task(seed=4, rail=126)
    tiny = zo.Method(lr=1e-12)
    once, session = run_to_end(task, zo.Constant(2), epochs=1, batch=8, method=tiny)
    assert once.history[-1].events == ()
    assert np.array_equal(session.weights["head"], task.graph.tensor("head").data.clip(-126, 126))
    twice, _ = run_to_end(task, zo.Constant(2), epochs=2, batch=8, method=tiny)
    assert [len(e.events) for e in twice.history] == [0, 1, 0]


@pytest.mark.parametrize(("stop_after", "epochs"), [(0, 3), (2, 9)])
def test_scales_follow_every_epoch_but_the_last(stop_after, epochs, monkeypatch):
    calls = []
    monkeypatch.setattr("zo.run.recalibrate_weights", lambda *given: calls.append(given) or ())
    result, _ = run_to_end(head_task(seed=4), zo.Constant(2), epochs=epochs, batch=8,
                           stop_after=stop_after, method=zo.Method(lr=1e-12))  # fmt: skip
    assert len(result.history) == 4
    assert len(calls) == 2


def test_doubled_logits_are_a_scale_of_the_trained_graph():
    task = head_task(seed=4)
    scales = [replace(t, quantization=scaled(t, 1 / 64)) if t.name == "logits" else t
              for t in task.graph.tensors]  # fmt: skip
    narrow = task._replace(graph=replace(task.graph, tensors=tuple(scales)))
    result, session = run_to_end(narrow, zo.Constant(4), epochs=4, batch=8)
    doublings = sum("logits: scale doubled" in e.events for e in result.history)
    assert doublings > 0
    found = result.graph.tensor("logits").quantization.scale[0]
    assert found == np.float32(LOGIT_SCALE / 64) * 2**doublings
    images = task.validation.images()
    assert np.array_equal(Session(result.graph, threads=1).run(images), session.run(images))


def scaled(tensor, factor):
    return replace(tensor.quantization, scale=tensor.quantization.scale * np.float32(factor))


def test_q_path_and_stop_are_recorded():
    task = head_task(seed=1)
    frozen = zo.Method(lr=1e-12)
    schedule = zo.QScheduler(q0=2, q_max=4, patience=2)
    result, _ = run_to_end(task, schedule, epochs=30, batch=8, method=frozen, stop_after=5)
    assert [e.q for e in result.history] == [0, 2, 2, 2, 4, 4, 4, 4, 4]
    assert result.stopped == "stagnant"


def test_cost_is_counted():
    task = head_task(seed=1)
    signs = CLASSES * FEATURES
    plain, reused = (
        run_to_end(task, zo.Constant(3), epochs=2, batch=8, reuse=zo.Reuse(signs=on))[0]
        for on in (False, True)
    )
    steps, macs = 2 * 6, 8 * signs
    assert plain.history[-1].cost == Cost(steps * 4, steps * 4 * macs, steps * 9 * signs,
                                          steps * 5 * signs)  # fmt: skip
    assert reused.history[-1].cost == Cost(steps * 4, steps * 4 * macs, steps * 6 * signs,
                                           steps * signs)  # fmt: skip


def test_ctrl_c_keeps_what_was_done():
    task = head_task(seed=1)

    def press(done, steps):
        if done == 9:
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.getsignal(signal.SIGINT)
    result, session = run_to_end(task, zo.Constant(3), epochs=9, batch=8,
                                 hooks=zo.Hooks(on_step=press))  # fmt: skip
    assert result.stopped == "interrupted"
    assert [e.epoch for e in result.history] == [0, 1]
    again = Session(result.graph, threads=1).run(task.validation.images())
    right = (again.reshape(len(again), -1).argmax(1) == task.validation.labels).sum()
    assert result.correct == right
    assert result.accuracy == right / len(again)
    assert signal.getsignal(signal.SIGINT) is before
    whole, _ = run_to_end(task, zo.Constant(3), epochs=9, batch=8)
    assert whole.history[1][:7] == result.history[1][:7]
    assert np.abs(session.weights["head"]).max() <= 126


def test_ctrl_c_after_the_last_step_is_told():
    def press(epoch):
        if epoch.epoch == 1:
            signal.raise_signal(signal.SIGINT)

    result, _ = run_to_end(head_task(seed=1), zo.Constant(3), epochs=1, batch=8,
                           hooks=zo.Hooks(on_epoch=press))  # fmt: skip
    assert (result.stopped, len(result.history)) == ("interrupted", 2)


def test_hooks_see_every_epoch_and_step():
    task = head_task(seed=1)
    epochs, steps = [], []
    hooks = zo.Hooks(on_epoch=epochs.append, on_step=lambda *done: steps.append(done))
    result, _ = run_to_end(task, zo.Constant(2), epochs=2, batch=20, hooks=hooks)
    assert tuple(epochs) == result.history
    assert steps == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_threshold_is_in_codes():
    task = head_task(seed=2)
    chosen = {"epochs": 1, "batch": 8}
    high, low = (
        run_to_end(task, zo.Constant(4), method=zo.Method(rule="threshold", threshold=t), **chosen)
        for t in (100.0, 2.0**-16)
    )
    assert np.array_equal(high[1].weights["head"], task.graph.tensor("head").data)
    assert not np.array_equal(low[1].weights["head"], task.graph.tensor("head").data)


def test_squared_error_can_be_trained_towards_a_row_for_each_image():
    task = head_task(seed=2, images=40)
    session = Session(task.graph, threads=1)
    rng = np.random.default_rng(0)
    codes = np.concatenate([session.run(part.images()) for part in task[1:]]).astype(int)
    codes = (codes + rng.integers(-9, 10, codes.shape)).clip(-128, 127).astype(np.int8)
    train, validation = (
        in_memory(part.name, part.images(), np.arange(40) + first)
        for part, first in ((task.train, 0), (task.validation, 40))
    )
    loss = squared_error_loss(LOGIT_SCALE, codes)
    result, _ = run_to_end(task._replace(train=train, validation=validation), zo.Constant(16),
                           epochs=6, batch=8, method=zo.Method(loss=loss, lr=2e-4))  # fmt: skip
    assert result.history[-1].loss < result.history[0].loss


def test_any_objective_can_be_trained():
    task = head_task(seed=2, images=80)

    def missing(outputs, labels):
        return int((outputs.argmax(1) != labels).sum()) << 16

    method = zo.Method(loss=UserLoss(missing, 1 << 16), recalibrate=False, lr=0.003)
    result, _ = run_to_end(task, zo.Constant(32), epochs=10, batch=40, method=method)
    assert result.best > result.history[0].accuracy


def test_sums_that_may_saturate_take_the_plain_path():
    task = head_task(seed=1)
    session = Session(task.graph, trainable=["head"], accumulator=Accumulator(16, "saturate"))
    zo.train(session, task.train, task.validation, scheduler=zo.Constant(2), epochs=1, batch=8)
    other = Session(task.graph, trainable=["head"], accumulator=Accumulator(16, "saturate"))
    zo.train(other, task.train, task.validation, scheduler=zo.Constant(2), epochs=1, batch=8,
             reuse=zo.Reuse(signs=False))  # fmt: skip
    assert np.array_equal(session.weights["head"], other.weights["head"])


def test_a_tensor_named_twice_is_trained_once():
    task = head_task(seed=1)
    once = trained_bits(task, zo.Constant(2), epochs=1, batch=8)
    result, session = run_to_end(task, zo.Constant(2), trainable=("head", FC), epochs=1, batch=8)
    assert np.array_equal(session.weights["head"], result.graph.tensor("head").data)
    assert once == bits(result, Session(result.graph, trainable=["head"], threads=1))


def test_policy_sets_the_method():
    task = head_task(seed=1)
    paper, same, ours = (
        trained_bits(task, zo.QScheduler(q0=2, q_max=4, patience=1), epochs=4, batch=8, **choice)
        for choice in ({"policy": "paper"}, {"method": zo.PAPER}, {"policy": "ours"})
    )
    assert paper == same != ours
