"""Two hundred steps are equal in Python, in C here, and in C on a Cortex-M55: after each of them
weights, residuals, momentum, q and loss; stopped in the middle on either side, and gone on with on
the other."""

from dataclasses import replace
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest
from c.toolchain import FIRMWARE
from c_projects import BUILDS, Program

import zo
from npusim import Session
from npusim.models import digits, digits_cnn, moved, to_int8
from zo.data import in_memory
from zo.export import Device, Task, export_training
from zo.export.trajectory import state
from zo.prepare import prepare
from zo.run_state import pack_run, unpack_run

BY_NAME = {build.name: build for build in BUILDS}
HERE, HELIUM, REST = "gcc", "m55-mve", ("clang-sanitized", "m55-scalar")
VALIDATION = 60


class Trial(NamedTuple):
    """A run, and after how many epochs it is stopped; q doubles after `patience` of them."""

    trainable: tuple[str, ...]
    epochs: int
    stop: int
    steps: int
    batch: int
    patience: int
    schedule: str = "qscheduler"


HEAD, BELOW = ("head",), ("stem", "depthwise", "depthwise/bias")
TRIALS = {
    "head": Trial(HEAD, epochs=10, stop=5, steps=20, batch=16, patience=2),
    "below": Trial(BELOW, epochs=10, stop=5, steps=20, batch=4, patience=2),
    "below, thirty": Trial(BELOW, epochs=3, stop=2, steps=10, batch=4, patience=1),
    "gate": Trial(HEAD, epochs=4, stop=2, steps=5, batch=16, patience=3, schedule="gate"),
    "declared": Trial(HEAD, epochs=4, stop=2, steps=5, batch=16, patience=0, schedule="declared"),
    "cost_aware": Trial(HEAD, epochs=4, stop=2, steps=5, batch=16, patience=0,
                         schedule="cost_aware"),
}  # fmt: skip
LIGHT = {HERE: ("head", "below, thirty", "gate", "declared", "cost_aware"), HELIUM: ("gate",)}
BUILT = {HELIUM: ("head", "cost_aware")}
"""What runs by default, and with `pytest -m builds`; the rest takes minutes."""


class Told(NamedTuple):
    """A run from one epoch to another.

    steps    steps done, q, loss, checksum of weights, residuals and momentum; of every step
    state    at its end
    """

    steps: list[tuple[int, ...]]
    state: bytes


def task_of(trial):
    """The digit reader of `zo demo`, and digits moved by one pixel."""
    found, images = digits().train, trial.batch * trial.steps
    x, labels = to_int8(moved(found.images)), found.labels.astype(np.int64)
    parts = (slice(images), slice(images, images + VALIDATION))
    made = (in_memory("digits", x[rows], labels[rows], tuple("0123456789")) for rows in parts)
    return Task(digits_cnn(), trial.trainable, *made)


def schedule(trial):
    if trial.schedule == "gate":  # noisy in every epoch, so that a stop falls between two rises
        return zo.Gate("dead_zone", 2, patience=trial.patience, q_max=16, threshold=0.01)
    if trial.schedule == "declared":
        return zo.Declared({0: 2, 1: 4, 3: 3})
    if trial.schedule == "cost_aware":
        costs = {q: 10**12 * q + 37 * 10**9 for q in (2, 4, 8, 16)}
        return zo.CostAware(2, q_max=16, costs=costs)
    return zo.QScheduler(q0=2, q_max=16, patience=trial.patience, threshold=1.0)


def options(trial):
    return zo.Options(epochs=trial.epochs, batch=trial.batch, seed=2**40 + 5)


def python(trial, until, start=None):
    """What Python does, from a state on or from the beginning."""
    task = task_of(trial)
    session = Session(task.graph, trainable=task.trainable, threads=1)
    run = prepare(session, task.train, task.validation, schedule(trial), options(trial))
    if start is not None:
        unpack_run(run, start)
    run.start()
    steps = []
    while run.epoch < until:
        for number, rows in run.batches():
            q, loss = run.scheduler.q, run.train_step(number, rows)
            steps.append((number + 1, q, loss, state(run)))
        run.finish_epoch(0, 0.0)
    return Told(steps, pack_run(run))


@cache
def parts(name):
    """The whole run, and the one that is stopped."""
    trial = TRIALS[name]
    return python(trial, trial.epochs), python(trial, trial.stop)


class InC:
    """A run exported and built, with a program that tells every step."""

    def __init__(self, trial, build, folder):
        device = Device(build.target, keep=True)
        project = export_training(task_of(trial), "digits", schedule(trial), options(trial), device)
        main = (FIRMWARE / "train_on.c").read_text("utf-8")
        self.program = Program(replace(project, files={**project.files, "main.c": main}), build,
                               folder)  # fmt: skip

    def told(self, until, start=None):
        folder, source = self.program.folder, "-"
        if start is not None:
            source = "from.zor"
            (folder / source).write_bytes(start)
        lines = self.program.done("./model", source, "to.zor", str(until)).splitlines()
        rows = [tuple(map(int, line.split())) for line in lines]
        steps = [(done, q, high << 32 | low, crc) for done, q, high, low, crc in rows]
        return Told(steps, (folder / "to.zor").read_bytes())


def cases():
    """Every trial on every build; by default those of LIGHT."""
    for build in (HERE, HELIUM, *REST):
        for name in TRIALS:
            rare = pytest.mark.builds if name in BUILT.get(build, ()) else pytest.mark.full
            marks = [] if name in LIGHT.get(build, ()) else [rare]
            yield pytest.param(name, build, marks=marks, id=f"{name}-{build}")


@pytest.mark.parametrize(("name", "build"), list(cases()))
def test_steps_are_equal_and_a_stop_changes_none(name, build, tmp_path):
    trial = TRIALS[name]
    expected, half = parts(name)
    in_c = InC(trial, BY_NAME[build], tmp_path)
    assert in_c.told(trial.epochs) == expected

    before = in_c.told(trial.stop)
    assert before == half
    after = in_c.told(trial.epochs, half.state)  # Python stopped, C goes on
    assert after.state == expected.state
    assert before.steps + after.steps == expected.steps
    onward = python(trial, trial.epochs, before.state)  # C stopped, Python goes on
    assert onward.state == expected.state
    assert before.steps + onward.steps == expected.steps


@pytest.mark.parametrize(
    ("name", "steps", "q"),
    [
        ("head", 200, [2, 2, 2, 4, 4, 8, 8, 16, 16, 16]),
        pytest.param("below", 200, [2, 2, 2, 4, 4, 8, 8, 16, 16, 16], marks=pytest.mark.full),
        ("below, thirty", 30, [2, 2, 4]),
        ("gate", 20, [2, 2, 2, 4]),
        ("declared", 20, [2, 4, 4, 3]),
        ("cost_aware", 20, [2, 16, 4, 4]),
    ],
)
def test_q_doubles_and_every_step_changes_something(name, steps, q):
    trial, (found, half) = TRIALS[name], parts(name)
    assert (len(found.steps), len(half.steps)) == (steps, trial.stop * trial.steps)
    assert [step[1] for step in found.steps[:: trial.steps]] == q
    assert len({checksum for *_, checksum in found.steps}) == steps
