"""`zo train`: from a model file and pictures to a trained model, with its records."""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from npusim import Graph, Session, save
from npusim.command_line import DONE, NEGATIVE, load_model
from npusim.head import until_logits, with_features, with_head
from npusim.plurals import counted
from npusim.progress_bar import bar

from ..classifier import find_classifier
from ..clock import step_clock
from ..data import Dataset, load, split, to_input
from ..history import write_csv, write_lines
from ..moments import enough_images, measure_statistics, store_statistics
from ..new_head import HeadOptions, Reading, attach_head
from ..options import Hooks
from ..plots import figures, save_run
from ..result import Result
from ..train import train
from ..warm_up import WarmUp
from .arguments import Command, normalization
from .origin import Origin, fingerprint, with_interruption, with_origin
from .progress import print_epoch, timed
from .run_folder import CURVES, HISTORY, MODEL, TABLE, check_folder
from .schedule_options import SAMPLES, TITLE, chosen_schedule
from .train_checks import check_classes, check_trainable
from .train_options import (
    METHOD,
    RUN,
    TASK,
    chosen_options,
    chosen_variants,
    features_folder,
    part_sizes,
)
from .train_report import print_end, report

MANUAL = """\
Train tensors of an int8 model on labelled pictures.

With --classes the model gets a new classifier, in place of its last layer, or
behind its features if it ends in a pool: a float warm-up takes it a little
above chance, then its weights become int8 with head-room, and everything from
there on is integers. Without it the model's own classifier is kept, and the
data must have its classes.

The loss is cross-entropy of the int8 logits. By default q forward passes with
perturbed weights estimate the gradient, and q grows when accuracy stagnates
(QScheduler); --exact-head trains the classifier by its exact gradient instead,
together with zeroth order for layers below it. Features of layers before the
first trained one are computed once per image and kept on disk.

Writes into the folder: model.h5, history.jsonl and .csv (a line an epoch),
curves.png, checkpoint.npz; zo report makes a page of them.
Ctrl-C stops after the present step and writes the model as it then is, with its
accuracy; the history has whole epochs only. --resume goes on from the last
whole epoch, to the same bits as without the interruption. Every option must be
given again as it was, --epochs among them: the learning rate falls along a
cosine of that length.

The model keeps the class names, which of the images it was trained on, and the
statistics of its layers on them, which zo adapt goes by.
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
    folder, seconds = arguments.output, dict[str, float]()
    check_folder(folder, arguments.resume, arguments.overwrite)
    schedule, options = chosen_schedule(arguments), chosen_options(arguments)
    graph = _model(arguments)
    check_trainable(graph, arguments, options.method)
    task = _task(graph, arguments, seconds)
    graph = with_features(task.graph) if arguments.exact_head else task.graph
    trainable = arguments.trainable or [find_classifier(task.graph).weights]
    session = Session(graph, trainable=trainable, threads=arguments.threads)
    if arguments.measure_costs:
        clock = step_clock(graph, trainable, task.train, options, arguments.threads)
        schedule = chosen_schedule(arguments, clock)
    with timed(seconds, "training"), bar("training") as advance:
        hooks = Hooks(None if arguments.json else print_epoch, advance)
        result = train(session, task.train, task.validation, scheduler=schedule,
                       options=replace(options, hooks=hooks))  # fmt: skip
    with timed(seconds, "statistics"):
        _write(result, task, arguments)
    if arguments.json:
        print(json.dumps(report(result, seconds, folder), indent=2))
    else:
        print_end(result, seconds, folder)
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
        TITLE: SAMPLES,
        "the method": METHOD,
    },
    run,
)


def _model(arguments: argparse.Namespace) -> Graph:
    """The graph, with a place for the new classifier where there is to be one."""
    graph = load_model(arguments.model, arguments)
    return graph if arguments.classes is None else with_head(graph, arguments.classes)


def _task(graph: Graph, arguments: argparse.Namespace, seconds: dict[str, float]) -> Task:
    """Open the data, draw the parts, and put a new head on where --classes asks for one."""
    found = normalization(arguments, graph)
    dataset = load(arguments.data)
    check_classes(dataset, graph, arguments.classes)
    sizes = part_sizes(arguments, len(dataset))
    parts = split(dataset, sizes, arguments.seed)
    with timed(seconds, "pictures"), bar("pictures") as advance:
        learned, held_out = (to_input(part, graph, found).held(advance) for part in parts)
        data = fingerprint(dataset)
        learned = chosen_variants(arguments, learned)
    origin = Origin(*sizes, arguments.seed, data, dataset.classes, found)
    task = Task(graph, learned, held_out, Path(arguments.data).resolve().name, origin)
    if arguments.classes is None:
        return task._replace(graph=until_logits(graph))
    with timed(seconds, "new head"):
        return _with_new_head(task, arguments)


def _with_new_head(task: Task, arguments: argparse.Namespace) -> Task:
    warm = WarmUp(batch=arguments.batch)
    if arguments.warm_up is not None:
        warm = warm._replace(accuracy=arguments.warm_up)
    with bar("features") as advance:
        reading = Reading(arguments.threads, features_folder(arguments), advance)
        options = HeadOptions(arguments.seed, warm, arguments.k)
        graph, head = attach_head(task.graph, task.train, task.validation, options, reading)
    if not arguments.json:
        print(f"new head: {len(task.origin.classes)} classes, float warm-up to "
              f"{head.accuracy:.3f} in {counted(head.steps, 'step')}")  # fmt: skip
    return task._replace(graph=graph)


def _write(result: Result, task: Task, arguments: argparse.Namespace) -> None:
    """The model with the statistics that `zo adapt` goes by, the history and its picture."""
    folder: Path = arguments.output
    images = task.train.drawn(enough_images(result.graph), arguments.seed).images()
    session = Session(result.graph, threads=arguments.threads)
    graph = store_statistics(result.graph, measure_statistics(session, images))
    interrupted = result.stopped == "interrupted"
    graph = with_interruption(graph, result.correct if interrupted else None)
    folder.mkdir(parents=True, exist_ok=True)  # no epoch was whole, so no checkpoint made it
    save(with_origin(graph, task.origin), folder / MODEL)
    write_lines(result.history, folder / HISTORY)
    write_csv(result.history, folder / TABLE)
    save_run(result.history, task.data, folder / CURVES)
