"""`zo train`: from a model file and pictures to a trained model, with its records."""

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from npusim import Graph, Session, save
from npusim.command_line import DONE, NEGATIVE, load_model
from npusim.head import until_logits, with_features

from ..classifier import find_classifier
from ..data import DataError, Dataset, load, split, to_input
from ..history import write_csv
from ..new_head import HeadOptions, Reading, attach_head
from ..options import Hooks
from ..train import Result, train
from ..warm_up import WarmUp
from .arguments import Command, normalization
from .origin import Origin, with_origin
from .plot import figures, save_run
from .progress import bar, print_epoch
from .train_options import (
    METHOD,
    RUN,
    SAMPLES,
    TASK,
    chosen_options,
    chosen_schedule,
    features_folder,
    part_sizes,
)

MANUAL = """\
Train tensors of an int8 model on labelled pictures.

With --classes the model's classifier is replaced: a float warm-up takes the new
one a little above chance, then its weights become int8 with head-room, and
everything from there on is integers. Without it the model's own classifier is
kept, and the data must have its classes.

The loss is cross-entropy of the int8 logits. By default q forward passes with
perturbed weights estimate the gradient, and q grows when accuracy stagnates
(QScheduler); --exact-head trains the classifier by its exact gradient instead,
together with zeroth order for layers below it. Features of layers before the
first trained one are computed once per image and kept on disk.

Writes into the folder: model.h5, history.csv, curves.png, checkpoint.npz.
Ctrl-C stops after the present step and keeps what was done; --resume goes on
from the last whole epoch, to the same bits as without the interruption.
"""

EXAMPLES = """\
examples:
  zo train --model mobilenet_v2.tflite --data EuroSAT_RGB.zip --classes 10 \\
           --input-size 96 --train 4000 --validation 1000 --output run/
  zo train --model m.h5 --data pictures/ --trainable stem head --exact-head \\
           --q 16 --output run/
  zo train --model nchw.tflite --data EuroSAT_RGB.zip --classes 10 \\
           --mean 0.485 0.456 0.406 --std 0.229 0.224 0.225 --output run/

"""


class Task(NamedTuple):
    """A graph that ends at its logits, and the images it is trained and validated on.

    data     name of their file or folder, for the picture
    origin   how they were cut and read
    """

    graph: Graph
    train: Dataset
    validation: Dataset
    data: str
    origin: Origin


def run(arguments: argparse.Namespace) -> int:
    """`zo train`: NEGATIVE when Ctrl-C ended it; what was done is kept."""
    figures()  # a missing matplotlib shows now, not after the training
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    task = _task(arguments)
    graph = with_features(task.graph) if arguments.exact_head else task.graph
    trainable = arguments.trainable or [find_classifier(task.graph).weights]
    session = Session(graph, trainable=trainable, threads=arguments.threads)
    with bar("training") as advance:
        hooks = Hooks(None if arguments.json else print_epoch, advance)
        schedule, options = chosen_schedule(arguments), chosen_options(arguments, folder, hooks)
        result = train(session, task.train, task.validation, scheduler=schedule, options=options)
    _write(result, task, folder)
    if arguments.json:
        print(json.dumps(_report(result, folder), indent=2))
    else:
        _print_end(result, folder)
    return NEGATIVE if result.stopped == "interrupted" else DONE


COMMAND = Command(
    "train",
    "train a model on labelled pictures",
    MANUAL,
    EXAMPLES,
    "stopped by Ctrl-C; what was done is written",
    {
        "": TASK,
        "the run": RUN,
        "samples: q is fixed by --q, else it grows when accuracy stagnates": SAMPLES,
        "the method": METHOD,
    },
    run,
)


def _task(arguments: argparse.Namespace) -> Task:
    """Open model and data, draw the parts, and put a new head on where --classes asks for one."""
    graph = load_model(arguments.model, arguments)
    dataset = load(arguments.data)
    found = normalization(arguments)
    origin = Origin(*part_sizes(arguments, len(dataset)), arguments.seed, found)
    data = Path(arguments.data).resolve().name
    parts = split(dataset, (origin.train, origin.validation), origin.seed)
    with bar("pictures") as advance:
        learned, held_out = (to_input(part, graph, found).held(advance) for part in parts)
    if arguments.classes is None:
        return Task(until_logits(graph), learned, held_out, data, origin)
    if arguments.classes != len(dataset.classes):
        raise DataError(
            f"{dataset.name}: --classes must be the {len(dataset.classes)} of the data, "
            f"got {arguments.classes}"
        )
    with bar("features") as advance:
        reading = Reading(arguments.threads, features_folder(arguments), advance)
        warm = WarmUp(accuracy=arguments.warm_up, batch=arguments.batch)
        options = HeadOptions(arguments.seed, warm, arguments.k)
        graph, head = attach_head(graph, learned, held_out, options, reading)
    if not arguments.json:
        print(f"new head: {len(dataset.classes)} classes, float warm-up to "
              f"{head.accuracy:.3f} in {head.steps} steps")  # fmt: skip
    return Task(graph, learned, held_out, data, origin)


def _write(result: Result, task: Task, folder: Path) -> None:
    """model.h5, history.csv and curves.png."""
    save(with_origin(result.graph, task.origin), folder / "model.h5")
    write_csv(result.history, folder / "history.csv")
    save_run(result.history, task.data, folder / "curves.png")


def _q_path(result: Result) -> list[tuple[int, int]]:
    """(first epoch, q) of every q in turn."""
    path: list[tuple[int, int]] = []
    for epoch in result.history[1:]:
        if epoch.q and (not path or path[-1][1] != epoch.q):
            path.append((epoch.epoch, epoch.q))
    return path


def _report(result: Result, folder: Path) -> Mapping[str, Any]:
    last = result.history[-1]
    return {
        "stopped": result.stopped,
        "epochs": last.epoch,
        "accuracy": {
            "start": result.history[0].accuracy,
            "end": result.accuracy,
            "mean of last ten epochs": result.final,
            "best": result.best,
        },
        "correct": last.correct,
        "images": last.total,
        "q": [{"from epoch": epoch, "q": q} for epoch, q in _q_path(result)],
        "cost": last.cost._asdict(),
        "seconds": last.seconds,
        "clipped": result.moved,
        "model": str(folder / "model.h5"),
    }


def _print_end(result: Result, folder: Path) -> None:
    last = result.history[-1]
    path = ", ".join(f"{q} from epoch {epoch}" for epoch, q in _q_path(result)) or "not used"
    why = {"stagnant": ", stopped early", "interrupted": ", interrupted"}.get(result.stopped, "")
    print(f"epochs       {last.epoch}{why}")
    print(f"accuracy     {result.history[0].accuracy:.4f} before, {result.accuracy:.4f} after "
          f"({last.correct} of {last.total}); mean of the last ten epochs {result.final:.4f}, "
          f"best {result.best:.4f}")  # fmt: skip
    print(f"q            {path}")
    print(f"cost         {last.cost.forwards:,} forwards, {last.cost.macs:,} MACs, "
          f"{last.cost.random_bits:,} random bits, {last.cost.bytes_written:,} bytes written, "
          f"{last.seconds:.1f} s")  # fmt: skip
    for name, count in result.moved.items():
        print(f"clipped      {count} codes of {name}, to leave room for perturbations")
    print(f"written      {folder / 'model.h5'}, history.csv, curves.png, checkpoint.npz")
