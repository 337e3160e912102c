"""`zo export-c`: on-device training of a model as a C project."""

import argparse
import json
import shlex
from pathlib import Path

from npusim import Graph
from npusim.c_syntax import identifier
from npusim.command_line import DONE, c_name, counting_number, load_model
from npusim.export import TARGETS
from npusim.export.folder import require_empty
from npusim.head import until_logits, with_features
from npusim.progress_bar import bar

from ..classifier import find_classifier
from ..data import load, split, to_input
from ..export import Device, Project, Task, export_training
from ..options import Options as Settings
from .arguments import DATA, JSON, MODEL, PIXELS, Command, Options, normalization
from .schedule_options import SAMPLES, TITLE, chosen_schedule
from .train_checks import check_classes, check_own_trainable
from .train_options import METHOD, RUN, chosen_method

MANUAL = """\
Write a model and its training as C99: the network and its kernels, what `zo
train` does as a loop in C, labelled images as one piece of memory, a program
around them, and a self-test, which holds the loss, weights, residuals and
momentum of every step against what zo computes here.

Weights are copied from flash when training begins. The forward pass is behind
function pointers, so that a network compiled for an NPU can take the place of
the kernels. DIR must be new or empty; its README.md says how to build, and what
goes into flash and RAM.

MODEL is a model file, or the folder of a run of `zo train`. It must end at the
classes of the data.
"""

EXAMPLES = """\
examples:
  zo export-c run/ --data EuroSAT_RGB.zip --output out/ --train 200
  make -C out check
  zo export-c model.tflite --data pictures/ --trainable head stem --q 8 \\
              --target qemu-m55 --output m55/

"""

TRAIN_IMAGES, VALIDATION_IMAGES = 256, 128
"""How many images go with a project, unless told otherwise; they are built into the program."""
_LEFT_OUT = ("--warm-up", "--no-prefix-reuse", "--no-sign-reuse")


def run(arguments: argparse.Namespace) -> int:
    """`zo export-c`"""
    require_empty(arguments.output)
    path: Path = arguments.model
    if path.is_dir():
        arguments.model = path / "model.h5"
    schedule, options = chosen_schedule(arguments), _options(arguments)
    graph = until_logits(load_model(arguments.model, arguments))
    check_own_trainable(graph, arguments, options.method)
    task = _task(graph, arguments)
    name = arguments.name or identifier(path.stem)
    checked = min(arguments.check_epochs, options.epochs)
    device = Device(arguments.target, checked, arguments.keep_features)
    project = export_training(task, name, schedule, options, device)
    project.write(arguments.output)
    if arguments.json:
        print(json.dumps(_facts(project, arguments), indent=2))
    else:
        _print(project, arguments)
    return DONE


def _options(arguments: argparse.Namespace) -> Settings:
    return Settings(epochs=arguments.epochs, batch=arguments.batch, seed=arguments.seed,
                    stop_after=arguments.stop_after, method=chosen_method(arguments))  # fmt: skip


def _task(graph: Graph, arguments: argparse.Namespace) -> Task:
    dataset = load(arguments.data)
    check_classes(dataset, graph, None)
    found = normalization(arguments, graph)
    parts = split(dataset, _sizes(arguments, len(dataset)), arguments.seed)
    with bar("pictures") as advance:
        learned, held_out = (to_input(part, graph, found).held(advance) for part in parts)
    head = find_classifier(graph)
    trainable = arguments.trainable or [head.weights]
    shown = with_features(graph) if arguments.exact_head else graph
    return Task(shown, trainable, learned, held_out)


def _sizes(arguments: argparse.Namespace, images: int) -> tuple[int, int]:
    """Images of both parts: as given, else as many as a small device holds, one third to check."""
    validation = arguments.validation or min(VALIDATION_IMAGES, max(1, images // 3))
    return arguments.train or min(TRAIN_IMAGES, images - validation), validation


def _facts(project: Project, arguments: argparse.Namespace) -> dict[str, object]:
    model, trajectory = project.model, project.trajectory
    return {
        "folder": str(arguments.output),
        "target": arguments.target,
        "name": model.prefix,
        "flash_bytes": model.flash_bytes + project.training.tables,
        "samples_bytes": len(project.files["samples.bin"]),
        "arena_bytes": model.plan.arena_bytes,
        "writable_bytes": model.writable_bytes,
        "training_bytes": sum(project.training.memory.values()),
        "checked": {
            "steps": len(trajectory.steps),
            "epochs": [{"q": e.q, "correct": e.correct, "total": e.total}
                       for e in trajectory.epochs],
        },
        "files": sorted(project.files),
    }  # fmt: skip


def _print(project: Project, arguments: argparse.Namespace) -> None:
    model, training = project.model, project.training
    ram = model.plan.arena_bytes + model.writable_bytes + sum(training.memory.values())
    print(f"{arguments.output}: training of {model.prefix}, for {arguments.target}")
    print(f"flash   {model.flash_bytes + training.tables:>11,} bytes of weights and tables, "
          "besides code")  # fmt: skip
    print(f"samples {len(project.files['samples.bin']):>11,} bytes")
    print(f"RAM     {ram:>11,} bytes: arena, trained weights, momentum, a batch")
    print(f"checked {len(project.trajectory.steps):>11,} steps")
    print(f"next: make -C {shlex.quote(str(arguments.output))} check")


_TASK: Options = {
    "model": {**MODEL, "help": ".tflite or .h5 file, or the folder of a run"},
    "--data": DATA,
    "--output": {"type": Path, "required": True, "metavar": "DIR",
                 "help": "folder to write, new or empty"},
    "--target": {"choices": tuple(TARGETS), "default": "host",
                 "help": "what the program runs on (default: host)"},
    "--name": {"type": c_name, "metavar": "NAME",
               "help": "in front of the C names, instead of the model's file name"},
    "--train": {"type": counting_number, "metavar": "N",
                "help": f"training images, drawn by the seed; {TRAIN_IMAGES} or all"},
    "--validation": {"type": counting_number, "metavar": "N",
                     "help": f"validation images; {VALIDATION_IMAGES} or one in three"},
    "--check-epochs": {"type": counting_number, "default": 1, "metavar": "N",
                       "help": "how many epochs the self-test trains; 1"},
    "--keep-features": {"action": "store_true",
                        "help": "memory for what frozen layers give of every image, so that they "
                        "run once"},
    **PIXELS,
    "--json": JSON,
}  # fmt: skip

COMMAND = Command(
    "export-c",
    "write a model and its training as a C project, with a self-test",
    MANUAL,
    EXAMPLES,
    "not used",
    {
        "": _TASK,
        "the run": {k: RUN[k] for k in ("--epochs", "--batch", "--stop-after", "--seed")},
        TITLE: {k: v for k, v in SAMPLES.items() if k != "--measure-costs"},
        "the method": {k: v for k, v in METHOD.items() if k not in _LEFT_OUT},
    },
    run,
)
