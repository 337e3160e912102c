"""A training run as a folder of C: model, kernels, training, samples, a program, a README."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from npusim import Graph, Session
from npusim.constants import find_constant
from npusim.export.folder import write_folder
from npusim.export.model import Model, model_of
from npusim.export.program import filled_template
from npusim.export.project import model_files
from npusim.export.targets import TARGETS, target_files

from ..data import Dataset
from ..options import Options
from ..prepare import prepare
from ..run import Run
from ..run_state import run_state_size
from ..schedule import Schedule
from ..sources import c_sources
from .network import network_of
from .readme import readme
from .samples import samples
from .settings import require_twins
from .training import Training, changed_arrays, training
from .trajectory import Trajectory, record, self_test_header

TEMPLATES = Path(__file__).resolve().parents[1] / "c" / "targets"


@dataclass(frozen=True)
class Project:
    """An exported run.

    model        as C
    training     as C
    trajectory   of its first epochs
    files        path in the folder -> text or bytes
    """

    model: Model
    training: Training
    trajectory: Trajectory
    files: Mapping[str, str | bytes]

    def write(self, folder: Path) -> None:
        """Write the files; ValueError when the folder holds anything."""
        write_folder(folder, self.files)


@dataclass(frozen=True)
class Task:
    """What is trained.

    graph                ends at its logits; with what the head reads as second output where the
                         head's exact gradient is taken above trained layers
    trainable            names of its tensors
    train, validation    images as the graph takes them
    """

    graph: Graph
    trainable: Sequence[str]
    train: Dataset
    validation: Dataset


class Device(NamedTuple):
    """What a run is exported for.

    target    one of npusim.export.TARGETS
    checked   how many epochs the self-test trains
    keep      memory for what frozen layers give of every image, so that they run once
    """

    target: str = "host"
    checked: int = 1
    keep: bool = False


HOST = Device()


def export_training(
    task: Task, name: str, schedule: Schedule, options: Options, device: Device = HOST
) -> Project:
    """A run of zo that has not begun, as a C program for a device.

    name      in front of all names that other files see: a C identifier
    raises    ValueError, TypeError, ModelError where something does not fit, or has no twin in C
    """
    session = Session(task.graph, trainable=task.trainable)
    run = prepare(session, task.train, task.validation, schedule, options)
    require_twins(run)
    graph = session.snapshot()  # codes have been clipped to their rails
    model = _model(graph, task.trainable, name, run)
    found = training(model, run, network_of(model, run, device.keep))
    trajectory = record(run, device.checked)
    files: dict[str, str | bytes] = {
        "README.md": readme(model, found, run, device.target, graph),
        **model_files(model, graph),
        **_training_files(model, found, run_state_size(run), TARGETS[device.target].program),
        **{f"zo/{path.name}": path.read_text("utf-8") for path in c_sources()},
        **target_files(device.target),
        **target_files(device.target, TEMPLATES),
        "samples.bin": samples(model.graph, task.train, task.validation),
        "self_test.h": self_test_header(trajectory, model),
    }
    return Project(model, found, trajectory, files)


def _model(graph: Graph, trainable: Sequence[str], name: str, run: Run) -> Model:
    """With what training changes writable; the logits' scale may double, whatever is trained."""
    session = Session(graph, trainable=trainable, threads=1)
    indices = [find_constant(session.graph, t) for t in trainable]
    classifier, recalibrates = run.step.classifier, run.options.method.recalibrate
    head = [classifier.node] if classifier is not None and recalibrates else []
    return model_of(session.graph, name, indices, head)


def _training_files(
    model: Model, found: Training, state_bytes: int, program: bool
) -> dict[str, str]:
    """The run, and what no run changes; main.c where there is a program around it."""
    files = sorted(path for path in TEMPLATES.iterdir() if path.is_file())
    templates = {path.name: path.read_text("utf-8") for path in files}
    if not program:
        del templates["main.c"]
    marks = {
        "@NAME@": model.prefix,
        "@MACRO@": model.names.macro,
        "@CHANGED@": str(changed_arrays(model)),
        "@STATE@": str(state_bytes),
    }
    filled = {name: filled_template(text, marks) for name, text in templates.items()}
    return {
        f"{model.prefix}_training.h": filled.pop("training.h"),
        f"{model.prefix}_training.c": found.source,
        **filled,
    }
