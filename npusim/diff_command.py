"""`npusim diff`: where a device departs from its model first, and why."""

import argparse
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .command_line import (
    DONE,
    JSON,
    NEGATIVE,
    PIXELS,
    SOURCES,
    Command,
    Options,
    load_model,
)
from .commands import model_inputs
from .diff import Report, Side, diff, of_golden, open_path
from .diff.compare import batches_in
from .diff.fit import LAYOUTS
from .diff.gate import Excess, Limit, excesses, parse_gate
from .diff.inputs import inputs_in
from .diff.listing import as_dict, csv_text
from .diff.parameters import assembled
from .golden import Golden, record
from .golden.record import as_recorded, graph_hash
from .graph import Graph
from .neural_art.stored import PROFILE as NEURAL_ART
from .plurals import counted

MANUAL = """\
Compare what a device computed (B) with what it should have computed (A), name
the first tensor that departs, and the likely cause.

A and B are golden files, models (run now, on the other side's inputs or on
--input or --random), .npz files, or folders of dumps: .npy, or raw .bin in the
model's types. Dumps are matched to tensors by name (003_conv2d_0.npy is the
output of conv2d_0), then by order and shape; what was assumed is said.

Where the model is known (A is one, or --model names it), every tensor that
differs is also judged from B's own inputs: the node is run on them by A's
rules. One early fault then does not hide the rest:
  equal      the same on both sides
  departs    not what the node makes of B's inputs: a fault of its own
  inherited  differs, but is what the node makes of B's inputs
  follows    differs behind a departure; without a model nobody knows more
  unfit      another shape or type

Columns: differ, share; max and mean of the differences in codes; bias, +1
where all are upwards; own, elements that differ from what B's inputs give.

What departs is also made under every other profile, on Neural-ART with every
s0. A profile that explains it better is named, with the command to compare by
it; --write-parameters then writes all that the board has to be given.

Tensors with names of more than 24 characters are called by the nodes that make
them; --json and --csv have the whole names.

--gate lets a device that is known to differ pass: every tensor may differ, from
what B's inputs give, by that much (total_max_lsb: from A's tensor).
"""

EXAMPLES = """\
examples:
  npusim diff model.tflite dumps/ --input x.npy
  npusim diff golden.h5 dumps/ --model model.tflite --html report.html
  npusim diff golden.h5 other.h5 --model model.tflite --json | jq .first
  npusim diff model.tflite board/ --gate max_lsb=1,share=0.04
  npusim diff model.tflite board/ --profile neural-art \\
              --write-parameters board.json

"""

OPTIONS: Options = {
    "a": {"type": Path, "metavar": "A", "help": "what is right: golden file, model, dumps"},
    "b": {"type": Path, "metavar": "B", "help": "what is compared with it"},
    "--model": {
        "type": Path,
        "metavar": "MODEL",
        "help": "A's model, when A is a golden file or dumps",
    },
    "--order": {
        "type": Path,
        "metavar": "FILE",
        "help": "B's files in order, one a line, each with its tensor's name behind it or not",
    },
    "--dump-layout": {
        "choices": LAYOUTS,
        "help": "of dumps of rank 4; by their shapes if not given, else NHWC",
    },
    "--gate": {
        "metavar": "LIMITS",
        "help": "figures that every tensor may reach, such as max_lsb=1,share=0.04",
    },
    "--csv": {"type": Path, "metavar": "FILE", "help": "write a line per tensor"},
    "--html": {"type": Path, "metavar": "FILE", "help": "write a page with maps"},
    "--write-parameters": {
        "type": Path,
        "metavar": "FILE",
        "help": "of profile neural-art: write what was given and what explains B, all that "
        "--parameters takes",
    },
    "--json": JSON,
}


class Opened(NamedTuple):
    """The sides, A's model where it is known, and what was assumed."""

    a: Side
    b: Side
    graph: Graph | None
    notes: tuple[str, ...] = ()


def run(arguments: argparse.Namespace) -> int:
    """`npusim diff`: NEGATIVE when the sides differ by more than the gate allows."""
    gate = parse_gate(arguments.gate) if arguments.gate is not None else ()
    opened = _open(arguments)
    if arguments.write_parameters is not None:
        _check_has_parameters(opened.graph)
    report = diff(opened.a, opened.b, opened.graph, arguments.dump_layout)
    report = replace(report, notes=(*opened.notes, *report.notes),
                     again=_again(report, opened, arguments))  # fmt: skip
    stopped = list(excesses(report, gate))
    _write(report, gate, stopped, arguments)
    _write_parameters(report, opened, arguments)
    passed = not stopped if gate else report.equal
    return DONE if passed else NEGATIVE


COMMAND = Command(
    "diff",
    "find the first tensor that departs, and why",
    MANUAL,
    EXAMPLES,
    "B differs from A by more than the gate allows",
    {"": OPTIONS, "inputs, for a model that is run now": {**SOURCES, **PIXELS}},
    run,
)


def _write(
    report: Report,
    gate: tuple[Limit, ...],
    stopped: Sequence[Excess],
    arguments: argparse.Namespace,
) -> None:
    if arguments.csv is not None:
        arguments.csv.write_text(csv_text(report), "utf-8")
    if arguments.html is not None:
        from .diff.page import html

        arguments.html.write_text(html(report, gate, stopped), "utf-8")
    if arguments.json:
        print(json.dumps(as_dict(report, gate, list(stopped)), indent=2))
    else:
        from .diff.table import page  # rich is loaded only where it is used

        print(page(report, gate, stopped), end="")


def _write_parameters(report: Report, opened: Opened, arguments: argparse.Namespace) -> None:
    """The parameters that B shows, as JSON for --parameters: a node a line."""
    path = arguments.write_parameters
    if path is None:
        return
    assert opened.graph is not None
    found = assembled(opened.graph, report)
    lines = ",\n".join(f" {json.dumps(node)}: {json.dumps(p)}" for node, p in found.items())
    path.write_text(f"{{\n{lines}\n}}\n", "utf-8")
    if not arguments.json:
        nodes = counted(len(found), "node")
        print(f"{path}: parameters of {nodes}; give them with --parameters {path}")


def _check_has_parameters(graph: Graph | None) -> None:
    if graph is None or graph.profile != NEURAL_ART:
        judged = "no model" if graph is None else f"profile {graph.profile}"
        raise ValueError("--write-parameters: B must be judged by a model with profile "
                         f"{NEURAL_ART}, got {judged}")  # fmt: skip


def _again(report: Report, opened: Opened, arguments: argparse.Namespace) -> str:
    """The command that judges B by a likelier profile; "" where there is none, or B names its own.

    A golden file is replaced by its model: what it recorded is of its profile.
    """
    found = report.likelier
    if found is None or opened.b.golden is not None:
        return ""
    assert opened.graph is not None
    model = arguments.a if opened.a.graph is not None else arguments.model
    inputs = [] if opened.a.graph is not None else _inputs_again(opened, arguments)
    return under(found.profiles[0], model, arguments.b, [*repeated(arguments), *inputs])


def under(profile: str, model: Path, dump: Path, options: Sequence[str]) -> str:
    """The command that compares a dump with what a model gives under a profile."""
    words = ["npusim", "diff", str(model), str(dump), "--profile", profile, *options]
    words += ["--write-parameters", "parameters.json"] if profile == NEURAL_ART else []
    return shlex.join(words)


def repeated(arguments: argparse.Namespace) -> Iterator[str]:
    """The options that say how a model and its dump are read, as they were given."""
    for option in ("input", "random", "mean", "std", "order", "dump_layout", "layout"):
        value = getattr(arguments, option)
        if value is not None:
            yield f"--{option.replace('_', '-')}"
            yield from map(str, value if isinstance(value, list) else [value])
    if arguments.input_size is not None:
        yield from ("--input-size", "x".join(map(str, arguments.input_size)))
    for node, rule in arguments.node_rule or ():
        yield from ("--node-rule", f"{node}={rule}")


def _inputs_again(opened: Opened, arguments: argparse.Namespace) -> Iterator[str]:
    """What a golden file says of the inputs, and a model cannot know."""
    golden, graph = opened.a.golden, opened.graph
    assert golden is not None
    assert graph is not None
    if arguments.input_size is None:
        size = _size(golden, load_model(arguments.model, arguments))
        if size is not None:
            yield from ("--input-size", "x".join(map(str, size)))
    try:
        inputs_in(opened.b, graph, arguments.dump_layout)
    except ValueError:
        yield from ("--input", "A_INPUT.npy")


def _open(arguments: argparse.Namespace) -> Opened:
    """Both sides, after the models among them have run."""
    a, b = open_path(arguments.a), open_path(arguments.b, arguments.order)
    given = arguments.input is not None or arguments.random is not None
    if given and (arguments.input is not None) == (arguments.random is not None):
        raise ValueError("inputs: must be named by --input or --random, one of them")
    if given and a is not None and b is not None:
        raise ValueError("inputs: must be for a model that is run now, got no model among A and B")
    if a is not None and a.golden is None and b is None:
        raise ValueError(f"{arguments.a}: side A must be the reference, got a {a.kind}; "
                         "swap the two")  # fmt: skip
    graphs = [
        None if side is not None else load_model(path, arguments)
        for side, path in ((a, arguments.a), (b, arguments.b))
    ]
    notes = []
    if a is None:
        assert graphs[0] is not None
        inputs, note = _inputs(graphs[0], b, "B", arguments)
        notes += note
        a = of_golden(str(arguments.a), record(graphs[0], inputs), graphs[0])
    if b is None:
        assert graphs[1] is not None
        inputs, note = _inputs(graphs[1], a, "A", arguments)
        notes += note
        b = of_golden(str(arguments.b), record(graphs[1], inputs), graphs[1])
    return Opened(a, b, _judging(a, graphs, arguments), tuple(notes))


def _inputs(
    graph: Graph, other: Side | None, side: str, arguments: argparse.Namespace
) -> tuple[Mapping[str, np.ndarray], list[str]]:
    """Inputs of a model that is run now, and where they are from unless they were named."""
    if arguments.input is not None or arguments.random is not None:
        found = model_inputs(graph, arguments)
        if other is not None:
            option = "--input" if arguments.random is None else "--random"
            _check_images(other, graph, found, option)
        return found, []
    if other is None:
        raise ValueError("inputs: must be named by --input or --random where A and B are models")
    inputs = inputs_in(other, graph, arguments.dump_layout)
    listed = ", ".join(inputs)
    return inputs, [f"{graph.name} was run on side {side}'s {listed}"]


def _check_images(other: Side, graph: Graph, inputs: Mapping[str, np.ndarray], option: str) -> None:
    """ValueError where a model would run on more or fewer images than the other side has."""
    batches = batches_in(other, graph)
    for tensor in (graph.tensors[i] for i in graph.inputs):
        given = inputs[tensor.name].shape
        images = (batches or 1) * tensor.shape[0] if tensor.shape else 0
        if batches is not None and given[1:] == tensor.shape[1:] and given[0] != images:
            raise ValueError(f"{option}: must give {counted(images, 'image')}, as {other.path} "
                             f"has, got {given[0]}")  # fmt: skip


def _judging(
    a: Side, graphs: Sequence[Graph | None], arguments: argparse.Namespace
) -> Graph | None:
    """A's model: A itself, what --model names, or B's model where A was recorded from it."""
    if a.graph is not None:
        if arguments.model is not None:
            raise ValueError(f"{arguments.a}: must be a golden file or dumps to be judged by "
                             "--model, got a model")  # fmt: skip
        return a.graph
    if a.golden is None:
        return load_model(arguments.model, arguments) if arguments.model is not None else None
    if arguments.model is not None:
        if graphs[1] is None:
            _refuse_arithmetic(a, arguments)
        graph = _recorded(_sized(arguments.model, a.golden, arguments), a.golden)
        if graph is None:
            raise ValueError(f"{arguments.model}: must be the model that {arguments.a} was "
                             "recorded from, got another")  # fmt: skip
        return graph
    if graphs[1] is None:
        _refuse_arithmetic(a, arguments)
        return None
    return _recorded(graphs[1], a.golden)


def _refuse_arithmetic(a: Side, arguments: argparse.Namespace) -> None:
    """Refuse options that would only say again, or deny, what a golden file has recorded."""
    options = {
        "--profile": arguments.profile,
        "--accumulator": arguments.accumulator,
        "--node-rule": arguments.node_rule,
    }
    for option, value in options.items():
        if value is not None:
            rule = "must be judged by the arithmetic it was recorded in"
            remedy = "to judge by another, give the model itself as A"
            raise ValueError(f"{a.path}: {rule}, got {option}; {remedy}")


def _recorded(graph: Graph, golden: Golden) -> Graph | None:
    """The graph with the arithmetic of a recorded run; None where it is not what was recorded."""
    try:
        found = as_recorded(graph, golden)
    except ValueError:
        return None
    return found if graph_hash(found) == golden.graph_sha256 else None


def _sized(path: Path, golden: Golden, arguments: argparse.Namespace) -> Graph:
    """A model read with the profile, accumulator and image size of a recorded run."""
    settings = argparse.Namespace(**vars(arguments))
    settings.profile = golden.profile
    settings.accumulator = golden.accumulator
    graph = load_model(path, settings)
    if settings.input_size is None:
        size = _size(golden, graph)
        if size is not None:
            settings.input_size = size
            # a model that cannot have the recorded size is another one, which the caller says
            with suppress(ValueError):
                return load_model(path, settings)
    return graph


def _size(golden: Golden, graph: Graph) -> tuple[int, int] | None:
    """Height and width of the recorded image where the model has another; None otherwise."""
    recorded = {t.name: t.shape for t in golden.sequence()}
    for tensor in (graph.tensors[i] for i in graph.inputs):
        shape = recorded.get(tensor.name, ())
        if len(shape) == 4 and shape[1:] != tensor.shape[1:]:
            return (shape[1], shape[2]) if graph.layout == "NHWC" else (shape[2], shape[3])
    return None
