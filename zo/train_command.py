"""`zo train`: from a model file and pictures to a trained model, with its records."""

import argparse
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from npusim import Graph, Session, save
from npusim.command_line import DONE, NEGATIVE, load_model
from npusim.head import until_logits, with_features
from npusim.images import Normalization

from .classifier import find_classifier
from .data import DataError, Dataset, load, split, to_input
from .features import default_folder
from .history import write_csv
from .new_head import HeadOptions, Reading, attach_head
from .options import POLICIES, Hooks, Method, Options, Reuse
from .origin import Origin, with_origin
from .plot import figures, save_run
from .progress import bar, print_epoch
from .schedule import Constant, QScheduler, Schedule
from .train import Result, train
from .warm_up import WarmUp

VALIDATION_SHARE = 5
"""One image in so many validates, where the parts' sizes are not given."""


class Task(NamedTuple):
    """A graph that ends at its logits, and the images it is trained and validated on."""

    graph: Graph
    train: Dataset
    validation: Dataset
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
        options = _options(arguments, folder, hooks)
        result = train(
            session, task.train, task.validation, scheduler=_schedule(arguments), options=options
        )
    _write(result, task, folder)
    if arguments.json:
        print(json.dumps(_report(result, folder), indent=2))
    else:
        _print_end(result, folder)
    return NEGATIVE if result.stopped == "interrupted" else DONE


def normalization(arguments: argparse.Namespace) -> Normalization | None:
    """What --mean and --std say together; ValueError for one without the other."""
    if (arguments.mean is None) != (arguments.std is None):
        raise ValueError("--mean and --std: must be given together, got one of them")
    if arguments.mean is None:
        return None
    return Normalization(tuple(arguments.mean), tuple(arguments.std))


def _task(arguments: argparse.Namespace) -> Task:
    """Open model and data, draw the parts, and put a new head on where --classes asks for one."""
    graph = load_model(arguments.model, arguments)
    dataset = load(arguments.data)
    found = normalization(arguments)
    origin = Origin(*_counts(arguments, len(dataset)), arguments.seed, found)
    parts = split(dataset, (origin.train, origin.validation), origin.seed)
    with bar("pictures") as advance:
        learned, held_out = (to_input(part, graph, found).held(advance) for part in parts)
    if arguments.classes is None:
        return Task(until_logits(graph), learned, held_out, origin)
    if arguments.classes != len(dataset.classes):
        raise DataError(
            f"{dataset.name}: --classes must be the {len(dataset.classes)} of the data, "
            f"got {arguments.classes}"
        )
    with bar("features") as advance:
        reading = Reading(arguments.threads, _folder(arguments), advance)
        warm = WarmUp(accuracy=arguments.warm_up, batch=arguments.batch)
        options = HeadOptions(arguments.seed, warm, arguments.k)
        graph, head = attach_head(graph, learned, held_out, options, reading)
    if not arguments.json:
        print(f"new head: {len(dataset.classes)} classes, float warm-up to "
              f"{head.accuracy:.3f} in {head.steps} steps")  # fmt: skip
    return Task(graph, learned, held_out, origin)


def _counts(arguments: argparse.Namespace, images: int) -> tuple[int, int]:
    """Images of both parts: as given, else all, one in five to validate."""
    validation = arguments.validation or max(1, images // VALIDATION_SHARE)
    return arguments.train or images - validation, validation


def _folder(arguments: argparse.Namespace) -> Path | None:
    """Where features are kept: --features, `none` for nowhere, else the user's cache."""
    if arguments.features is None:
        return default_folder()
    return None if str(arguments.features) == "none" else Path(arguments.features)


def _schedule(arguments: argparse.Namespace) -> Schedule:
    if arguments.q is not None:
        return Constant(arguments.q)
    return QScheduler(
        arguments.q0, arguments.factor, arguments.patience,
        q_max=arguments.q_max, threshold=arguments.threshold,
    )  # fmt: skip


def _options(arguments: argparse.Namespace, folder: Path, hooks: Hooks) -> Options:
    return Options(
        epochs=arguments.epochs,
        batch=arguments.batch,
        seed=arguments.seed,
        stop_after=arguments.stop_after,
        method=_method(arguments),
        reuse=Reuse(not arguments.no_prefix_reuse, not arguments.no_sign_reuse, _folder(arguments)),
        checkpoint=folder / "checkpoint.npz",
        resume=arguments.resume,
        hooks=hooks,
    )


def _method(arguments: argparse.Namespace) -> Method:
    """The policy's method with the options that were given."""
    start = POLICIES[arguments.policy]
    names = ("estimator", "k", "perturbation", "rule", "momentum", "lr", "lr_scaling", "decay",
             "space")  # fmt: skip
    given = {n: getattr(arguments, n) for n in names if getattr(arguments, n) is not None}
    recalibrate = start.recalibrate and not arguments.no_recalibration
    return replace(start, exact_head=arguments.exact_head, recalibrate=recalibrate, **given)


def _write(result: Result, task: Task, folder: Path) -> None:
    """model.h5, history.csv and curves.png."""
    save(with_origin(result.graph, task.origin), folder / "model.h5")
    write_csv(result.history, folder / "history.csv")
    save_run(result.history, task.train.name, folder / "curves.png")


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
