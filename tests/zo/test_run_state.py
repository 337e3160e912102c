"""A run's state: what Python packs, takes and refuses, and where `zo.train` keeps it."""

import struct
import zlib

import pytest
from training_tasks import digits_task, head_task

import zo
from npusim import Session
from npusim.head import with_features
from zo.prepare import prepare
from zo.run_state import HEAD_BYTES, pack_run, run_state_size, unpack_run

EPOCHS = 6


def schedule(**changes):
    return zo.QScheduler(**{"q0": 2, "q_max": 8, "patience": 1} | changes)


def cost_aware(costs=None):
    """q rises and falls."""
    return zo.CostAware(2, q_max=8, costs=costs or {q: 10**12 * q + 10**11 for q in (2, 4, 8)})


def prepared(trainable=("head",), task=None, scheduler=None, **changes):
    """A run before its first step."""
    task = task or head_task(seed=4, rail=120)
    session = Session(task.graph, trainable=trainable, threads=1)
    options = zo.Options(**{"epochs": EPOCHS, "batch": 8, "seed": 2**64 - 3} | changes)
    return prepare(session, task.train, task.validation, scheduler or schedule(), options)


def trained(run, epochs):
    """The run after so many epochs."""
    run.start()
    while run.epoch < epochs:
        loss = sum(run.train_step(*batch) for batch in run.batches())
        run.finish_epoch(loss, 0.0)
    return run


def told(run):
    """The history without costs and seconds, which a state does not hold."""
    return [(*e[:7], e.events) for e in run.history]


def joint():
    """Weights and biases of two layers, the head's by its exact gradient."""
    task = digits_task(48, 30)
    task = task._replace(graph=with_features(task.graph))
    return {"trainable": ("stem", "stem/bias", "head", "head/bias"), "task": task, "batch": 16,
            "method": zo.Method(exact_head=True, k={"stem": 3})}  # fmt: skip


RUNS = {
    "head": dict,
    "smoothed": lambda: {"scheduler": schedule(smoothing=0.5, cooldown=1)},
    "constant": lambda: {"scheduler": zo.Constant(3), "stop_after": 0},
    "declared": lambda: {"scheduler": zo.Declared({0: 2, 1: 4, 3: 3})},
    "gate": lambda: {"scheduler": zo.Gate("dead_zone", 2, q_max=8, patience=2)},
    "cost_aware": lambda: {"scheduler": cost_aware()},
    "no residual, no momentum": lambda: {"method": zo.Method(rule="nearest", momentum=0.0)},
    "fixed scales": lambda: {"method": zo.PAPER},
    "errors counted": lambda: {"method": zo.Method(loss=zo.ErrorCount(5))},
    "joint": joint,
}


@pytest.mark.parametrize("name", RUNS)
def test_run_goes_on_to_the_same_bits(name):
    whole = trained(prepared(**RUNS[name]()), EPOCHS)
    stopped = pack_run(trained(prepared(**RUNS[name]()), 3))
    other = prepared(**RUNS[name]())
    unpack_run(other, stopped)
    assert pack_run(other) == stopped
    assert len(stopped) == run_state_size(other)
    trained(other, EPOCHS)
    assert pack_run(other) == pack_run(whole)
    assert told(other)[1:] == told(whole)[4:]
    assert other.step.session.snapshot() == whole.step.session.snapshot()


def test_form_is_what_the_header_says():
    run = trained(prepared(), 1)
    state = pack_run(run)
    t = run.step.group.tensors[0]
    assert state[:4] == b"ZOR1"
    assert struct.unpack_from("<I", state, 4) == (zlib.crc32(state[8:]),)
    assert struct.unpack_from("<9Q", state, 8) == (
        len(state), 2**64 - 3, EPOCHS, 8, 1, t.stream, 120, 5, 1 + 2
    )  # fmt: skip
    numbers = struct.unpack_from("<14q", state, 8 + 9 * 8)
    correct = run.history[1].correct
    assert numbers == (
        1,
        0,
        run.step.loss.exponent,
        2,
        correct,
        48,
        -1,
        48,
        0,
        0,
        correct,
        48,
        0,
        2,
    )
    arrays = (t.state.codes, t.state.residual, t.state.momentum, t.state.doublings)
    at = 8 + (9 + 14) * 8
    assert state[at:].startswith(b"".join(array.tobytes() for array in arrays))


def refusal(run, state):
    """What is said; nothing changes."""
    before = pack_run(run)
    with pytest.raises(ValueError) as error:
        unpack_run(run, state)
    assert pack_run(run) == before
    return str(error.value)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"seed": 1}, f"seed must be as saved, {2**64 - 3}, got 1"),
        ({"epochs": 7}, "epochs must be as saved, 6, got 7"),
        ({"batch": 16}, "batch must be as saved, 8, got 16"),
        ({"trainable": ("head", "head/bias")}, "trained tensors must be as saved, 1, got 2"),
        ({"trainable": ("head/bias",)}, "stream of head/bias must be as saved, 3, got 4"),
        ({"method": zo.Method(momentum=0)}, "kept arrays of head must be as saved, 3, got 1"),
    ],
)
def test_state_of_another_run_is_refused(changes, message):
    state = pack_run(trained(prepared(), 2))
    assert refusal(prepared(**changes), state) == f"run state: {message}"


def test_state_without_scales_that_double_is_refused():
    state = pack_run(prepared(method=zo.Method(recalibrate=False)))
    run = prepared()
    expected = f"run state must have {run_state_size(run)} bytes for this run, got {len(state)}"
    assert refusal(run, state).replace(",", "") == expected.replace(",", "")


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda s: b"", "run state must begin with b'ZOR1', got b''"),
        (lambda s: b"PK" + s[2:], "run state must begin with b'ZOR1', got b'PKR1'"),
        (lambda s: s[:4], "run state must be whole, got 4 bytes with a wrong checksum"),
        (lambda s: s[:7], "run state must be whole, got 7 bytes with a wrong checksum"),
        (lambda s: s[:-1], "bytes with a wrong checksum"),
        (lambda s: s + b"\0", "bytes with a wrong checksum"),
        (lambda s: s[:90] + bytes([s[90] ^ 16]) + s[91:], "bytes with a wrong checksum"),
    ],
)
def test_damaged_state_is_refused(damage, message):
    state = pack_run(trained(prepared(), 2))
    assert message in refusal(prepared(), damage(state))


def with_number(state, k, value):
    """The state with another one of the fourteen numbers, its checksum right."""
    at = HEAD_BYTES + 9 * 8 + 8 * k
    body = (state[:at] + struct.pack("<q", value) + state[at + 8 :])[HEAD_BYTES:]
    return b"ZOR1" + struct.pack("<I", zlib.crc32(body)) + body


@pytest.mark.parametrize(
    ("k", "value", "message"),
    [
        (0, 7, "run state: epoch must be 0..6 and the exponent below 7, got 7 and 0"),
        (0, -1, "run state: epoch must be 0..6 and the exponent below 7, got -1 and 0"),
        (2, 7, "run state: epoch must be 0..6 and the exponent below 7, got 2 and 7"),
        (3, 3, "schedule: q must be one of (2, 4, 8), got 3"),
    ],
)
def test_impossible_numbers_are_refused(k, value, message):
    state = with_number(pack_run(trained(prepared(), 2)), k, value)
    assert refusal(prepared(), state) == message


def test_schedule_that_c_does_not_have_is_refused_before_the_first_step(tmp_path):
    task = head_task(seed=4)
    session = Session(task.graph, trainable=["head"], threads=1)
    with pytest.raises(ValueError) as error:
        zo.train(session, task.train, task.validation, scheduler=zo.UserSchedule(max, (2,)),
                 batch=8, checkpoint=tmp_path / "run.zor")  # fmt: skip
    assert str(error.value) == (
        "run state: schedule must be one of QScheduler, Gate, CostAware, Constant, Declared in C, "
        "got UserSchedule"
    )
    assert not (tmp_path / "run.zor").exists()


def test_costs_that_c_cannot_hold_are_refused():
    run = prepared(scheduler=cost_aware({2: 1, 4: 2**63 - 1, 8: 2**63}))
    with pytest.raises(ValueError) as error:
        pack_run(run)
    assert str(error.value) == f"run state: costs must be below 2^63 in C, got {2**63}"


def test_the_table_of_costs_is_the_saved_one():
    """A clock may have made another table where the run goes on."""
    saved = {2: 2**63 - 1, 4: 2**62, 8: 1}
    state = pack_run(trained(prepared(scheduler=cost_aware(saved)), 3))
    assert struct.pack("<3q", *saved.values()) in state
    run = prepared(scheduler=cost_aware(lambda rungs: {q: 10**6 * q for q in rungs}))
    unpack_run(run, state)
    assert run.scheduler.costs == saved
    assert pack_run(run) == state


def test_a_cost_below_one_is_refused():
    run = prepared(scheduler=cost_aware())
    state = with_number(pack_run(trained(prepared(scheduler=cost_aware()), 2)), 14 + 1, 0)
    assert refusal(run, state) == "costs: must have an integer above 0 for q = 4, got 0"


def train(path, task=None, epochs=EPOCHS, **changes):
    task = task or head_task(seed=4, rail=120)
    session = Session(task.graph, trainable=["head"], threads=1)
    return zo.train(session, task.train, task.validation, scheduler=schedule(), epochs=epochs,
                    **{"batch": 8, "checkpoint": path, "resume": True} | changes)  # fmt: skip


def stop_after(epochs):
    def stop(epoch):
        if epoch.epoch == epochs:
            raise InterruptedError

    return zo.Hooks(on_epoch=stop)


def test_train_goes_on_from_a_state(tmp_path):
    whole = train(tmp_path / "whole.zor")
    with pytest.raises(InterruptedError):
        train(tmp_path / "parts.zor", hooks=stop_after(3))
    resumed = train(tmp_path / "parts.zor")
    assert [e.epoch for e in resumed.history] == [3, 4, 5, 6]
    assert [e.correct for e in resumed.history[1:]] == [e.correct for e in whole.history[4:]]
    assert resumed.graph == whole.graph
    assert (tmp_path / "parts.zor").read_bytes() == (tmp_path / "whole.zor").read_bytes()
    again = train(tmp_path / "parts.zor")
    assert ([e.epoch for e in again.history], again.graph) == ([6], whole.graph)


def test_train_names_the_file_it_refuses(tmp_path):
    train(tmp_path / "run.zor")
    with pytest.raises(ValueError) as error:
        train(tmp_path / "run.zor", seed=1)
    assert str(error.value) == (
        f"{tmp_path / 'run.zor'}: run state: seed must be as saved, 0, got 1; start without resume"
    )
