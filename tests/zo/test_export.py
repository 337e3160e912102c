"""Training exported to C: after every step the bits are zo's, and a run ends where zo's ends."""

import re
import zlib
from dataclasses import replace

import numpy as np
import pytest
from c_projects import BUILDS, Program, flip_lowest_bit
from training_tasks import digits_task, head_task

import zo
from npusim import Accumulator, ModelError, Session
from npusim.export import TARGETS
from npusim.head import with_features
from zo.export import Device, Task, export_training
from zo.export.changed import changed_bytes
from zo.export.samples import samples
from zo.loss import ErrorCount

BY_NAME = {build.name: build for build in BUILDS}
HERE = ["gcc", pytest.param("gcc-sanitized", marks=pytest.mark.builds)]
SEED = 2**40 + 5
HEAD, BELOW = ("head", "head/bias"), ("stem", "depthwise", "depthwise/bias")
RUNS = {
    "head": (HEAD[:1], {}),
    "head and bias": (HEAD, {"momentum": 0.0, "rule": "nearest", "k": 4}),
    "below": (BELOW, {}),
    "exact": (HEAD, {"exact_head": True}),
    "joint": ((*BELOW, *HEAD), {"exact_head": True}),
    "joint, head frozen below": (("pointwise", *HEAD), {"exact_head": True, "k": 2}),
    "saturated": (BELOW, {"perturbation": "saturate", "k": 3}),
    "central": (HEAD, {"estimator": "central", "k": 2, "decay": "constant"}),
    "paper": (HEAD, {"lr_scaling": "none", "space": "integer", "recalibrate": False}),
    "stochastic": (HEAD, {"rule": "stochastic", "lr": 0.05}),
    "hadamard": (HEAD[:1], {"estimator": "hadamard"}),
    "declared": (HEAD[:1], {}),
    "split_half": (HEAD, {}),
    "split_half, saturated": (HEAD, {"perturbation": "saturate", "k": 2}),
    "coefficients": (HEAD[:1], {"estimator": "centred"}),
    "dead_zone": (("stem", *HEAD), {"exact_head": True}),
    "cost_aware": (HEAD[:1], {}),
    "cost_aware, below": (BELOW, {"estimator": "centred"}),
    "cost_aware, signs": (("stem", *HEAD), {"exact_head": True, "estimator": "sign"}),
}
COSTS = {q: 10**12 * q + 23 * 10**9 for q in (2, 4, 8)}
"""So that q rises and falls."""
THRESHOLDS = {"split_half": 0.5, "coefficients": 1.5, "dead_zone": 0.3}
ORDINARY = {("declared", "gcc"), ("split_half", "gcc"), ("hadamard", "gcc"),
            ("coefficients", "gcc"), ("joint", "gcc"), ("saturated", "m55-mve")}  # fmt: skip
BUILT = {("head", "m55-mve"), ("below", "clang-sanitized"), ("joint", "gcc-sanitized"),
         ("saturated", "m55-scalar")}  # fmt: skip


def options(settings, **changes):
    """Settings of a short run."""
    method = zo.Method(**settings)
    return zo.Options(**{"epochs": 3, "batch": 20, "seed": SEED, "method": method} | changes)


def schedule(name=""):
    """q rises after every epoch, or goes as declared."""
    if name == "declared":
        return zo.Declared({0: 2, 1: 5, 2: 3})
    measure = name.split(",")[0]
    if measure == "cost_aware":
        return zo.CostAware(2, q_max=8, costs=COSTS)
    if measure in THRESHOLDS:
        return zo.Gate(measure, 2, q_max=8, threshold=THRESHOLDS[measure])
    return zo.QScheduler(q0=2, q_max=8, patience=1, threshold=1.0)


def task_of(name, train=60):
    """What is trained: the digit reader, on images moved by one pixel."""
    trainable, settings = RUNS[name]
    task = digits_task(train=train)
    graph = with_features(task.graph) if settings.get("exact_head") else task.graph
    return Task(graph, trainable, task.train, task.validation)


def exported(name, target="host", checked=3, keep=False):
    """A run as a C project."""
    device = Device(target, checked, keep)
    return export_training(task_of(name), "digits", schedule(name), options(RUNS[name][1]), device)


def marks(*case):
    if case in ORDINARY:
        return []
    return pytest.mark.builds if case in BUILT else pytest.mark.full


@pytest.mark.parametrize(
    ("name", "build"),
    [
        pytest.param(name, build, marks=marks(name, build.name), id=f"{name}-{build.name}")
        for name in RUNS
        for build in BUILDS
    ],
)  # fmt: skip
def test_every_step_is_zos(name, build, tmp_path):
    project = exported(name, build.target)
    program = Program(project, build, tmp_path)
    assert [e.q for e in project.trajectory.epochs][2:] != [2, 2] or "exact" in name
    assert program.check().endswith("self-test: 0 of 9 steps and 0 of 4 epochs differ\n")


@pytest.fixture(scope="module", params=HERE)
def below_program(request, tmp_path_factory):
    """A program that trains below the head."""
    project = exported("below", checked=1)
    return Program(project, BY_NAME[request.param], tmp_path_factory.mktemp("below"))


def test_a_run_ends_with_zos_weights(below_program):
    program = below_program
    task = task_of("below")
    session = Session(task.graph, trainable=task.trainable, threads=1)
    result = zo.train(session, task.train, task.validation, scheduler=schedule(),
                      options=options(RUNS["below"][1]))  # fmt: skip
    said = program.done("./model", "out.bin").splitlines()

    assert [line.split()[5] for line in said] == [str(e.correct) for e in result.history]
    assert any(epoch.events for epoch in result.history)
    assert (program.folder / "out.bin").read_bytes() == changed_bytes(session)


def test_program_and_train_go_on_from_each_others_states(below_program, tmp_path):
    """A run that Python begins, C goes on with, and Python ends from C's state."""
    program = below_program.copied(tmp_path)

    def train(file, **hooks):
        task = task_of("below")
        session = Session(task.graph, trainable=task.trainable, threads=1)
        chosen = options(
            RUNS["below"][1], checkpoint=tmp_path / file, resume=True, hooks=zo.Hooks(**hooks)
        )
        return session, zo.train(session, task.train, task.validation, scheduler=schedule(),
                                 options=chosen)  # fmt: skip

    whole, _ = train("whole.zor")
    with pytest.raises(InterruptedError):
        train("run.zor", on_epoch=stop_at(1))
    begun = (tmp_path / "run.zor").read_bytes()
    said = program.done("./model", "out.bin", "run.zor").splitlines()
    assert [line.split()[1] for line in said] == ["1", "2", "3"]
    assert (tmp_path / "out.bin").read_bytes() == changed_bytes(whole)
    assert (tmp_path / "run.zor").read_bytes() == (tmp_path / "whole.zor").read_bytes() != begun
    ended, result = train("run.zor")
    assert changed_bytes(ended) == changed_bytes(whole)
    assert [e.epoch for e in result.history] == [3]


def test_program_goes_on_with_the_costs_of_the_state(tmp_path):
    """The table may have been made by a clock; a program holds the one it was exported with."""
    program = Program(exported("cost_aware", checked=1), BY_NAME["gcc"], tmp_path)
    task, saved = task_of("cost_aware"), dict.fromkeys(COSTS, 10**9)

    def train(file, costs, **hooks):
        session = Session(task.graph, trainable=task.trainable, threads=1)
        chosen = options({}, checkpoint=tmp_path / file, resume=True, hooks=zo.Hooks(**hooks))
        zo.train(session, task.train, task.validation, options=chosen,
                 scheduler=zo.CostAware(2, q_max=8, costs=costs))  # fmt: skip
        return changed_bytes(session)

    whole = train("whole.zor", saved)
    with pytest.raises(InterruptedError):
        train("run.zor", lambda rungs: saved, on_epoch=stop_at(1))
    begun = (tmp_path / "run.zor").read_bytes()
    program.done("./model", "out.bin", "run.zor")
    assert (tmp_path / "out.bin").read_bytes() == whole
    assert (tmp_path / "run.zor").read_bytes() == (tmp_path / "whole.zor").read_bytes() != begun

    program.done("./model", "other.bin")
    assert (tmp_path / "other.bin").read_bytes() == train("other.zor", COSTS) != whole
    damaged = with_number(begun, 9 + 14, 0)  # the cost of a step with the least q
    (tmp_path / "bad.zor").write_bytes(damaged)
    said = program.done("./model", "out.bin", "bad.zor", status=2)
    assert said == "bad.zor: must be the whole state of this run\n"


def with_number(state, k, value):
    """The state with another number of its head, its checksum right."""
    at = 8 * (1 + k)
    body = (state[:at] + value.to_bytes(8, "little") + state[at + 8 :])[8:]
    return state[:4] + zlib.crc32(body).to_bytes(4, "little") + body


@pytest.fixture(scope="module", params=HERE)
def head_program(request, tmp_path_factory):
    """A program that trains the head; the state of the run at its end stands beside it."""
    program = Program(exported("head"), BY_NAME[request.param], tmp_path_factory.mktemp("head"))
    program.done("./model", "out.bin", "whole.zor")
    return program


def stop_at(epoch):
    def stop(found):
        if found.epoch == epoch:
            raise InterruptedError

    return stop


@pytest.mark.parametrize(
    "damage",
    [
        lambda state: b"",
        lambda state: state[:-1],
        lambda state: state + b"\0",
        lambda state: state[:-1] + bytes([state[-1] ^ 1]),
        lambda state: with_number(state, 1, 6),  # the seed
        lambda state: with_number(state, 5 + 4, 4),  # the epoch
        lambda state: with_number(state, 5 + 4 + 2, 7),  # the exponent
        lambda state: with_number(state, 5 + 4 + 3, 3),  # q
    ],
)
def test_program_refuses_states_that_are_not_this_runs(damage, head_program):
    program, folder = head_program, head_program.folder
    data = damage((folder / "whole.zor").read_bytes())
    (folder / "bad.zor").write_bytes(data)
    said = program.done("./model", "out.bin", "bad.zor", status=2)
    assert said == "bad.zor: must be the whole state of this run\n"
    assert (folder / "bad.zor").read_bytes() == data


def link_samples(program, data):
    """Put other samples into a program."""
    (program.folder / "samples.bin").write_bytes(data)
    (program.folder / "region.o").unlink()
    program.done("make", "-s", *program.build.variables)


def test_self_test_finds_another_sample(head_program, tmp_path):
    program = head_program.copied(tmp_path)
    data = bytearray((tmp_path / "samples.bin").read_bytes())
    data[-64 * 100 - 30] ^= 64  # in the last training image
    link_samples(program, data)
    said = program.done("./model", status=1)
    assert "first difference in step " in said
    assert "self-test: 0 of" not in said


def test_self_test_names_a_wrong_constant_and_counts_steps_and_epochs_apart(head_program, tmp_path):
    program = head_program.copied(tmp_path)
    flip_lowest_bit(tmp_path / "digits_weights.c", "digits_fully_connected_0_weights_initial")
    program.done("make", "-s", *program.build.variables)
    said = program.done("./model", status=1).splitlines()
    assert said[0] == "self-test: constant fully_connected_0_weights differs"
    steps, epochs = re.fullmatch(
        r"self-test: (\d+) of 9 steps and (\d+) of 4 epochs differ", said[-1]
    ).groups()
    assert int(steps) == 9
    assert 0 <= int(epochs) <= 4


@pytest.mark.parametrize(
    ("name", "build"),
    [
        ("head", "gcc"),
        pytest.param("head", "clang-sanitized", marks=pytest.mark.builds),
        pytest.param("joint, head frozen below", "clang-sanitized", marks=pytest.mark.full),
    ],
)
def test_kept_features_change_nothing(name, build, tmp_path):
    project = exported(name, keep=True)
    program = Program(project, BY_NAME[build], tmp_path)
    assert program.check().endswith("self-test: 0 of 9 steps and 0 of 4 epochs differ\n")
    images = {"train_kept": 60, "validation_kept": 100}
    assert {k: project.training.memory[k] % v for k, v in images.items()} == dict.fromkeys(
        images, 0
    )
    assert "| the same, of all images | RAM, `.bss` |" in project.files["README.md"]


@pytest.mark.parametrize("trainable", [HEAD[:1], HEAD])
def test_an_exact_head_reads_features_that_are_the_images(trainable, tmp_path):
    """Of a graph that is a head alone, nothing is frozen, and no layer makes its features."""
    graph, *parts = head_task(seed=1)
    settings = options({"exact_head": True})
    project = export_training(Task(graph, trainable, *parts), "head", schedule(), settings)
    program = Program(project, BY_NAME["gcc-sanitized"], tmp_path)
    assert program.check().endswith("self-test: 0 of 2 steps and 0 of 2 epochs differ\n")


def test_samples_that_do_not_fit_are_refused(head_program, tmp_path):
    program = head_program.copied(tmp_path)
    long = (tmp_path / "samples.bin").read_bytes() + bytes(10_000)
    # another kind of images; too few or too many to train on, or to validate with
    for place, number in ((4, 65), (8, 19), (8, 61), (12, 0), (12, 101)):
        data = bytearray(long)
        data[place : place + 4] = number.to_bytes(4, "little")
        link_samples(program, data)
        assert program.done("./model", status=2) == "samples: must be those of this network\n"


def test_samples_hold_labels_and_codes():
    task = head_task(seed=1, images=5)
    data = samples(task.graph, task.train, task.validation)
    head = np.frombuffer(data[4:16], "<u4").tolist()
    labels = np.frombuffer(data[16:36], "<u2")
    assert (data[:4], head) == (b"ZOS1", [24, 5, 5])
    assert labels.tolist() == [*task.train.labels, *task.validation.labels]
    assert data[36:48] == bytes(12)
    images = np.concatenate([task.train.images(), task.validation.images()])
    assert data[48:] == images.tobytes()


@pytest.mark.parametrize("target", TARGETS)
def test_equal_runs_give_equal_files(target):
    once, again = (exported("joint", target, checked=1) for _ in range(2))
    assert once.files == again.files


def test_where_nothing_is_frozen_images_are_read_in_place():
    project = export_training(
        Task(digits_task(train=60).graph, ("stem",), *digits_task(train=60)[1:]), "digits",
        schedule(), options({}),
    )  # fmt: skip
    assert ".frozen = NULL" in project.files["digits_training.c"]
    assert "live" not in project.training.memory


def test_memory_is_what_the_readme_says():
    project = exported("head")
    assert project.training.memory["tensor_0_momentum"] == 4 * 640
    assert project.training.memory["live"] == 20 * 64
    assert exported("head and bias", checked=1).training.memory["tensor_1_unit"] == 4 * 10
    text = project.files["README.md"]
    assert "| momentum | RAM, `.bss` | 2,560 |" in text
    assert "| `head` | `fully_connected_0` | 640 | zeroth order, k = 1 |" in text
    assert "`samples.bin` holds 60 training and 100 validation images." in " ".join(text.split())


def refused(task, schedule, chosen):
    with pytest.raises((ValueError, ModelError)) as error:
        export_training(task, "digits", schedule, chosen)
    return str(error.value)


def test_rejects_what_c_does_not_have():
    task = task_of("head")
    assert refused(task, schedule(), options({"loss": ErrorCount(10)})) == (
        "export: loss must be cross-entropy of the logits in C, got ErrorCount"
    )


@pytest.mark.parametrize(
    ("schedule", "message"),
    [
        (zo.UserSchedule(max, (2,)), "schedule must be one of QScheduler, Gate, CostAware, Const"),
        (zo.CostAware(2, q_max=2, costs={2: 2**63}), f"costs must be below 2^63 in C, got {2**63}"),
        (zo.QScheduler(factor=1.2345678901), "factor must be a fraction of integers below 2^31"),
        (zo.Gate("dead_zone", threshold=1 / 3), "threshold must be a fraction of integers"),
    ],
)  # fmt: skip
def test_rejects_schedules_that_c_does_not_have(schedule, message):
    assert refused(task_of("head"), schedule, options({})).startswith(f"export: {message}")


def test_rejects_an_accumulator_that_may_end_a_run():
    task = task_of("head")
    graph = replace(task.graph, accumulator=Accumulator(22, "error"))
    message = refused(replace(task, graph=graph), schedule(), options({}))
    assert message.endswith(
        "accumulator must wrap or saturate for training in C, got error; choose another with "
        "--accumulator"
    )
