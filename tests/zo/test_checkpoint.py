"""Checkpoints: a run that was killed goes on to the same bits; damage and changes are refused."""

import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from training_tasks import digits_task, head_task, interrupt_after

import zo
from npusim import Session
from npusim.head import with_features

TESTS = Path(__file__).resolve().parents[1]
EPOCHS = 6


def with_streams(first):
    """The task whose tensors draw other signs."""
    task = head_task(seed=4, rail=120)
    tensors = tuple(replace(t, stream=first + i) for i, t in enumerate(task.graph.tensors))
    return task._replace(graph=replace(task.graph, tensors=tensors))


def with_images(change):
    """The task with other pixels and the same labels."""
    task = head_task(seed=4, rail=120)
    return task._replace(train=task.train.map(change))


def run(folder, task=None, epochs=EPOCHS, trainable=("head",), **changes):
    task = task or head_task(seed=4, rail=120)
    session = Session(task.graph, trainable=trainable, threads=1)
    schedule = zo.QScheduler(q0=2, q_max=8, patience=1)
    changes = {"batch": 8, "checkpoint": folder / "run.npz", "resume": True, **changes}
    result = zo.train(session, task.train, task.validation, scheduler=schedule, epochs=epochs,
                      **changes)  # fmt: skip
    return result, session


def state(folder):
    """Every array of the checkpoint, and its numbers without the seconds."""
    with np.load(folder / "run.npz") as file:
        return {name: file[name].tobytes() for name in file.files if name != "meta"}


def history(result):
    return [(*e[:8], e.events) for e in result.history]


@pytest.mark.usefixtures("isa")
def test_resumed_run_ends_with_the_same_bits(tmp_path):
    whole, _ = run(tmp_path / "whole")
    stopped, _ = run(tmp_path / "parts", hooks=interrupt_after(3 * 6 + 4))
    assert stopped.stopped == "interrupted"
    assert len(stopped.history) == 4
    resumed, session = run(tmp_path / "parts")
    assert history(resumed) == history(whole)
    assert state(tmp_path / "parts") == state(tmp_path / "whole")
    assert any(e.events for e in whole.history)
    assert len({e.q for e in whole.history}) > 2
    assert resumed.graph == whole.graph
    assert np.array_equal(session.weights["head"], whole.graph.tensor("head").data)


def test_resumed_run_of_several_tensors_ends_with_the_same_bits(tmp_path):
    task = digits_task(48, 30)
    task = task._replace(graph=with_features(task.graph))
    chosen = {"trainable": ("stem", "stem/bias", "head", "head/bias"), "batch": 16, "epochs": 3,
              "method": zo.Method(exact_head=True, k={"stem": 3})}  # fmt: skip
    whole, _ = run(tmp_path / "whole", task, **chosen)
    run(tmp_path / "parts", task, hooks=interrupt_after(5), **chosen)
    resumed, _ = run(tmp_path / "parts", task, **chosen)
    assert history(resumed) == history(whole)
    assert state(tmp_path / "parts") == state(tmp_path / "whole")


PROGRAM = """
import sys, time
from pathlib import Path
sys.path[:0] = sys.argv[2:]
import zo
from test_checkpoint import run

def tell(done, total):
    print(done, flush=True)
    time.sleep(0.01)

run(Path(sys.argv[1]), hooks=zo.Hooks(on_step=tell))
"""


def kill_somewhere(folder, random):
    """Go on with the run in another process, and kill it within a few steps or on its way to disk.

    returns   whether the process was still at work
    """
    arguments = [sys.executable, "-c", PROGRAM, str(folder), str(TESTS), str(TESTS / "zo")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE) as process:
        for _ in range(random.integers(1, 15)):
            if not process.stdout.readline():
                break
        time.sleep(random.uniform(0, 0.015))
        process.kill()
    assert process.returncode in (0, -signal.SIGKILL)
    return process.returncode != 0


@pytest.mark.parametrize("kills", [3, pytest.param(50, marks=pytest.mark.full)])
def test_killed_runs_go_on_to_the_same_bits(tmp_path, kills):
    whole, _ = run(tmp_path / "whole")
    random, runs = np.random.default_rng(kills), 0
    while kills:
        runs += 1
        killed = tmp_path / f"killed {runs}"
        while kills and kill_somewhere(killed, random):
            kills -= 1
        resumed, _ = run(killed)
        assert history(resumed) == history(whole)
        assert state(killed) == state(tmp_path / "whole")
        assert [path.name for path in killed.iterdir()] == ["run.npz"]


def test_what_a_killed_process_left_goes_with_the_next_save(tmp_path):
    run(tmp_path, epochs=1)
    litter = tmp_path / ".run.npz.0123456789abcdef.part"
    others = tmp_path / ".other.npz.0123456789abcdef.part"
    for path in (litter, others):
        path.write_bytes(b"half")
    run(tmp_path, resume=False)
    assert sorted(path.name for path in tmp_path.iterdir()) == [others.name, "run.npz"]


def test_finished_run_is_not_trained_again(tmp_path):
    whole, _ = run(tmp_path)
    again, _ = run(tmp_path)
    assert again.history == whole.history
    assert again.stopped == "epochs"


def test_without_resume_the_checkpoint_is_replaced(tmp_path):
    run(tmp_path)
    fresh, _ = run(tmp_path, resume=False, seed=9)
    other, _ = run(tmp_path / "other", seed=9)
    assert history(fresh) == history(other)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"epochs": 7},
            r"epochs \(--epochs\) must be as saved, 6, got 7; the rate's "
            "cosine is as long as the run, so a "
            "longer run starts anew$",
        ),
        (
            {"seed": 1, "method": zo.Method(rule="nearest")},
            r"seed \(--seed\) must be as saved, 0, got 1; rule \(--rule\) must be as saved, "
            '"error_feedback", got "nearest"; use the saved setting or start without resume$',
        ),
        ({"seed": 1}, r"seed \(--seed\) must be as saved, 0, got 1"),
        (
            {"method": zo.Method(rule="nearest")},
            r'rule \(--rule\) must be as saved, "error_feedback", got "nearest"; '
            "use the saved setting or "
            "start without resume$",
        ),
        (
            {"method": zo.Method(k={"head": 2})},
            r'k \(--k\) must be as saved, 1, got {"head": 2}; use',
        ),
        (
            {"method": zo.Method(exact_head=True)},
            r"exact_head \(--exact-head\) must be as saved, false, got true; set exact_head as it "
            "was or start without resume$",
        ),
        ({"task": head_task(seed=5)}, r"model \(--model\) must be as saved"),
        ({"task": with_streams(9)}, r"trained tensors \(--trainable\) must be as saved"),
        (
            {"task": with_images(np.invert)},
            r"training images \(--data, --train, --augment\) must be as saved",
        ),
    ],
)
def test_resume_rejects_another_run(tmp_path, changes, message):
    run(tmp_path)
    with pytest.raises(ValueError, match=rf"run\.npz: {message}"):
        run(tmp_path, **changes)


def test_resume_rejects_another_schedule(tmp_path):
    run(tmp_path)
    task = head_task(seed=4, rail=120)
    session = Session(task.graph, trainable=["head"], threads=1)
    with pytest.raises(ValueError, match="schedule: patience must be as saved, 1, got 4"):
        zo.train(session, task.train, task.validation, epochs=EPOCHS, batch=8,
                 scheduler=zo.QScheduler(q0=2, q_max=8, patience=4),
                 checkpoint=tmp_path / "run.npz", resume=True)  # fmt: skip


@pytest.mark.parametrize("length", [0, 1, 100, -1, -200])
def test_resume_rejects_a_damaged_file(tmp_path, length):
    run(tmp_path)
    path = tmp_path / "run.npz"
    path.write_bytes(path.read_bytes()[:length])
    with pytest.raises(ValueError, match=r"run\.npz: must be a whole checkpoint, got .*start with"):
        run(tmp_path)


@pytest.mark.parametrize(
    "damage",
    [
        lambda plain: plain.pop("format"),
        lambda plain: plain.update(settings=None),
        lambda plain: plain["numbers"].pop("history"),
        lambda plain: plain["numbers"].update(history=[]),
        lambda plain: plain["numbers"].update(scheduler={"settings": 1}),
        lambda plain: plain["numbers"].update(stopping=7),
    ],
)
def test_resume_rejects_damaged_numbers_and_changes_no_weight(tmp_path, damage):
    _, session = run(tmp_path)
    path = tmp_path / "run.npz"
    with np.load(path) as file:
        stored = dict(file)
    plain = json.loads(stored["meta"].tobytes())
    damage(plain)
    stored["meta"] = np.frombuffer(json.dumps(plain).encode(), np.uint8)
    np.savez(path, **stored)
    task = head_task(seed=4, rail=120)
    session = Session(task.graph, trainable=["head"], threads=1)
    with pytest.raises(ValueError, match=r"must be a whole checkpoint, got|a state holds"):
        zo.train(session, task.train, task.validation, epochs=EPOCHS, batch=8, checkpoint=path,
                 scheduler=zo.QScheduler(q0=2, q_max=8, patience=1), resume=True)  # fmt: skip
    assert np.array_equal(session.weights["head"], task.graph.tensor("head").data)


def test_resume_rejects_arrays_of_another_shape(tmp_path):
    run(tmp_path)
    path = tmp_path / "run.npz"
    with np.load(path) as file:
        stored = {name: file[name][:-1] if name == "head:codes" else file[name] for name in file}
    np.savez(path, **stored)
    with pytest.raises(ValueError, match=r"head:codes must be int8 \(120,\), got int8 \(119,\)"):
        run(tmp_path)


def test_resume_rejects_pickles(tmp_path):
    np.savez(tmp_path / "run.npz", meta=np.array([object()]))
    with pytest.raises(ValueError, match="must be a whole checkpoint, got ValueError"):
        run(tmp_path)
