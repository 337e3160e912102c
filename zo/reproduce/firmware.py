"""A training run as a program on QEMU's Cortex-M55: its bytes in memory, instructions, results."""

import tempfile
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from npusim import Session
from npusim.export.folder import write_folder
from npusim.export.qemu import Counted, build_counter, count_instructions
from npusim.export.sections import CPUS, LIBRARY, Sections, linked_sections
from npusim.export.tools import run

from ..export import Device, Project, Task, export_training
from ..export.changed import changed_bytes
from ..history import Epoch
from ..interrupt import whole
from ..options import Options
from ..schedule import Schedule
from ..train import train

TARGET, NAME = "qemu-m55", "model"
ENTRIES = ("zo_train", f"{NAME}_load_training", f"{NAME}_training")
"""What a firmware calls."""
START, EVALUATION = "zo_run_start", "zo_evaluate"
STEP, END = "zo_run_train_step", "zo_run_finish_epoch"
MARKS = (START, EVALUATION, STEP, END)


class Deployment(NamedTuple):
    """A run that is exported.

    task       what is trained
    schedule   makes its schedule, before the first epoch
    options    of the run
    keep       memory for what frozen layers give of every image, so that they run once
    """

    task: Task
    schedule: Callable[[], Schedule]
    options: Options
    keep: bool = False


class Ran(NamedTuple):
    """A whole run of the exported program, beside the same run in Python.

    image       instructions of the frozen layers, an image; 0 where they do not run once
    steps       instructions of each step, with its q
    changed     bytes that the run could change
    different   of them, that are not Python's
    stack       bytes that the program went deep
    """

    image: float
    steps: tuple[tuple[int, int], ...]
    changed: int
    different: int
    stack: int


class Linked(NamedTuple):
    """Memory of the exported run, in bytes.

    sections   of what a firmware links
    samples    labelled images in flash
    arena      of the sections' RAM, activations of one image
    features   of the sections' RAM, what the head reads of a batch, beside `arena`
    trained    weights that are trained
    """

    sections: Sections
    samples: int
    arena: int
    features: int
    trained: int


def run_in_qemu(deployment: Deployment) -> Ran:
    """Train to the end in QEMU and in Python.

    raises   OSError where a tool or the program fails
    """
    task, options = deployment.task, deployment.options
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / NAME
        project = _export(deployment, 1)
        _build(project, folder)
        program = folder / f"{NAME}.elf"
        counted = count_instructions(program, (NAME, "out.bin"), build_counter(folder), MARKS)
        written = (folder / "out.bin").read_bytes()
    session = Session(task.graph, trainable=task.trainable, threads=1)
    result = whole(train(session, task.train, task.validation, scheduler=deployment.schedule(),
                         options=options))  # fmt: skip
    expected = changed_bytes(session)
    images = len(task.train) + len(task.validation)
    image = frozen_instructions(counted) / images if deployment.keep else 0
    steps = step_instructions(counted, result.history, options.steps_per_epoch(len(task.train)))
    return Ran(image, steps, len(expected), differing(written, expected), counted.stack)


def differing(written: bytes, expected: bytes) -> int:
    """Bytes that are not as expected, missing ones and those too many among them."""
    apart = sum(a != b for a, b in zip(written, expected, strict=False))
    return apart + abs(len(written) - len(expected))


def frozen_instructions(counted: Counted) -> int:
    """Between a run's start and its first evaluation: the frozen layers of every image."""
    (first, before), (second, after) = counted.passed[:2]
    if (first, second) != (START, EVALUATION):
        raise ValueError(f"{NAME}: must start and evaluate first, got {first}, {second}")
    return after - before


def step_instructions(
    counted: Counted, history: tuple[Epoch, ...], steps: int
) -> tuple[tuple[int, int], ...]:
    """(q, instructions) of every step: from its entry to what comes behind it.

    steps    of an epoch
    raises   ValueError where the program had not as many steps as the history
    """
    passed = counted.passed
    found = [passed[i + 1][1] - count for i, (name, count) in enumerate(passed) if name == STEP]
    qs = [epoch.q for epoch in history[1:] for _ in range(steps)]
    if len(found) != len(qs):
        raise ValueError(f"{NAME}: must train {len(qs)} steps in QEMU, got {len(found)}")
    return tuple(zip(qs, found, strict=True))


def link(deployment: Deployment) -> Linked:
    """Build the run's parts and link what a firmware calls; OSError where a tool fails."""
    with tempfile.TemporaryDirectory() as name:
        folder, project = Path(name) / NAME, _export(deployment, 0)
        project.write(folder)
        library = Path(name) / LIBRARY
        library.write_bytes(_library(_sources(project)))
        sections = linked_sections(folder, ENTRIES, CPUS["mve"], library)
    samples = len(project.files["samples.bin"])
    trained = sum(array.values.size for array in project.model.arrays
                  if array.writable and array.kind == "weights")  # fmt: skip
    features = project.training.memory.get("features", 0)
    return Linked(sections, samples, project.model.plan.arena_bytes, features, trained)


def _export(deployment: Deployment, checked: int) -> Project:
    task, schedule, options, keep = deployment
    return export_training(task, NAME, schedule(), options, Device(TARGET, checked, keep))


def _build(project: Project, folder: Path) -> None:
    project.write(folder)
    (folder / LIBRARY).write_bytes(_library(_sources(project)))
    run(["make", "-s", "-o", LIBRARY, f"{NAME}.elf"], cwd=folder)


def _sources(project: Project) -> tuple[tuple[str, str | bytes], ...]:
    """The files that the kernels' library is made of."""
    wanted = ("Makefile", "kernels/", "zo/")
    return tuple((name, text) for name, text in project.files.items() if name.startswith(wanted))


@lru_cache(maxsize=4)
def _library(sources: tuple[tuple[str, str | bytes], ...]) -> bytes:
    """libkernels.a of these files: many projects share their kernels."""
    files: Mapping[str, str | bytes] = dict(sources)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / NAME
        write_folder(folder, files)
        run(["make", "-s", f"CPU={CPUS['mve']}", LIBRARY], cwd=folder)
        return (folder / LIBRARY).read_bytes()
