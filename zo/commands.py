"""What `zo evaluate`, `zo adapt` and `zo bench` do; `zo.cli` says how they are called.

Every command takes the parsed arguments, prints, and returns an exit code.
"""

import argparse
import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from npusim import Graph, Session, save
from npusim.command_line import DONE, load_model
from npusim.head import until_logits

from .adapt import adapt
from .batch import Source
from .bench import BenchOptions, StepTime, bench
from .classifier import find_classifier
from .data import Dataset, load, split, to_input
from .evaluate import Evaluation, evaluate
from .loss import cross_entropy_loss
from .moments import measure_statistics, stored_statistics
from .options import Reuse
from .origin import Origin, origin_of
from .prng import shuffle
from .progress import bar
from .train_command import normalization

PARTS = ("validation", "train", "all")
ONE_NAT = 1 << 16
MILLISECONDS = 1000


def evaluate_command(arguments: argparse.Namespace) -> int:
    """`zo evaluate`"""
    graph = until_logits(load_model(arguments.model, arguments))
    part, dataset = _part(arguments, graph)
    session = Session(graph, threads=arguments.threads)
    found = _evaluation(session, dataset)
    if arguments.json:
        print(json.dumps({"part": part, **found._asdict(), "accuracy": found.accuracy}, indent=2))
    else:
        print(f"{part}: accuracy {found.accuracy:.4f} ({found.correct} of {found.total}), "
              f"loss {found.loss / found.total / ONE_NAT:.4f}")  # fmt: skip
    return DONE


def adapt_command(arguments: argparse.Namespace) -> int:
    """`zo adapt`"""
    graph = load_model(arguments.model, arguments)
    found = normalization(arguments)
    session = Session(graph, threads=arguments.threads)
    statistics = stored_statistics(graph)
    if arguments.source is not None:
        source = to_input(load(arguments.source), graph, found)
        statistics = measure_statistics(session, _some(source, arguments).images())
    if not statistics:
        raise ValueError(
            f"{arguments.model}: must hold statistics of its source, got none; name images of the "
            "old look with --source"
        )
    target = to_input(load(arguments.data), graph, found)
    result = adapt(session, _some(target, arguments).images(), statistics)
    save(session.snapshot(), arguments.output)
    if arguments.json:
        print(json.dumps({**result._asdict(), "model": str(arguments.output)}, indent=2))
    else:
        for name, count in result.adapted.items():
            print(f"{name}: {count} of {result.channels[name]} channels adapted")
        print(f"{result.forwards:,} forwards of an image; written {arguments.output}")
    return DONE


def bench_command(arguments: argparse.Namespace) -> int:
    """`zo bench`"""
    graph = until_logits(load_model(arguments.model, arguments))
    options = BenchOptions(
        tuple(arguments.trainable or (find_classifier(graph).weights,)),
        arguments.batch, arguments.threads, arguments.limit,
    )  # fmt: skip
    found = bench(graph, options, tuple(arguments.q))
    if arguments.json:
        print(json.dumps(_bench_report(options, found), indent=2))
        return DONE
    console = Console()
    console.print(f"one step, batch {options.batch}, trained: {', '.join(options.trainable)}; "
                  "milliseconds")  # fmt: skip
    for mode, times in found.items():
        console.print(_bench_table(mode, times))
    return DONE


def _part(arguments: argparse.Namespace, graph: Graph) -> tuple[str, Dataset]:
    """The images to evaluate: the part that the model did not train on, unless told otherwise."""
    origin = origin_of(graph)
    part = arguments.part or ("all" if origin is None else "validation")
    found = normalization(arguments)
    if found is None and origin is not None:
        found = origin.normalization
    dataset = load(arguments.data)
    if part != "all":
        dataset = _drawn(dataset, part, origin)
    return f"{dataset.name}, {part}", to_input(dataset, graph, found)


def _drawn(dataset: Dataset, part: str, origin: Origin | None) -> Dataset:
    if origin is None:
        raise ValueError(
            f"--part {part}: needs a model that zo train made, which remembers its images, got "
            "another; use --part all"
        )
    parts = split(dataset, (origin.train, origin.validation), origin.seed)
    return parts[0 if part == "train" else 1]


def _evaluation(session: Session, dataset: Dataset) -> Evaluation:
    classifier = find_classifier(session.graph)
    loss = cross_entropy_loss(classifier.scale, classifier.classes, classifier.logits)
    source = Source(session, dataset, classifier, Reuse(prefix=False))
    with bar("evaluating") as advance:
        return evaluate(source, loss, advance)


def _some(dataset: Dataset, arguments: argparse.Namespace) -> Dataset:
    """As many images as asked for, drawn by the seed."""
    order = shuffle(arguments.seed, 0, len(dataset))
    return dataset.take(order[: arguments.images])


def _bench_report(options: BenchOptions, found: Mapping[str, list[StepTime]]) -> Mapping[str, Any]:
    modes = {
        mode: [
            {"q": t.q, **t.parts._asdict(), "measured": t.measured, "paper": t.paper} for t in times
        ]
        for mode, times in found.items()
    }
    return {"batch": options.batch, "trainable": options.trainable, "unit": "s", "reuse": modes}


def _bench_table(mode: str, times: list[StepTime]) -> Table:
    table = Table(title=f"reuse: {mode}", title_justify="left", box=None, pad_edge=False)
    for header in ("q", *times[0].parts._fields, "sum", "measured", "paper"):
        table.add_column(header, justify="right", no_wrap=True)
    for t in times:
        cells = (*t.parts, sum(t.parts), t.measured, t.paper)
        table.add_row(str(t.q), *("" if c is None else _milliseconds(c) for c in cells))
    return table


def _milliseconds(seconds: float) -> str:
    """Three decimals below 100 ms, none above."""
    value = MILLISECONDS * seconds
    return f"{value:.3f}" if value < 100 else f"{value:,.0f}"
