"""What the `npusim` commands do; `npusim.cli` says how they are called.

Every command takes the parsed arguments, prints, and returns an exit code.
"""

import argparse
import hashlib
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from . import Session
from .command_line import DONE, NEGATIVE, load_model
from .describe import describe
from .formats import save
from .graph import Graph
from .headroom import accumulator
from .images import Normalization
from .origin import class_names
from .plurals import counted
from .ranking import Rank, ranking, read_labels
from .tensor_files import (
    random_inputs,
    read_inputs,
    summary,
    write_outputs,
    write_sums,
    write_trace,
)

SMALL = 16
"""An image's output of at most so many numbers is printed whole."""
SHOWN_IMAGES = 10

Arrays = Mapping[str, np.ndarray]


def inspect(arguments: argparse.Namespace) -> int:
    """`npusim inspect`: NEGATIVE when an accumulator is not proven wide enough."""
    description = describe(load_model(arguments.model, arguments))
    file = _file(arguments.model)
    if arguments.json:
        _print_json({"file": file, **description.as_dict()})
    else:
        from .describe_page import page  # rich is loaded only where it is used

        print(page(description, file=file), end="")
    return NEGATIVE if description.unproven else DONE


def run(arguments: argparse.Namespace) -> int:
    """`npusim run`"""
    graph = load_model(arguments.model, arguments)
    labels = _labels(graph, arguments)
    inputs = model_inputs(graph, arguments)
    session = Session(graph, threads=arguments.threads)
    outputs = _outputs(session, inputs, arguments)
    if arguments.output is not None:
        write_outputs(arguments.output, outputs)
    ranks = {
        name: ranking(codes, graph.tensor(name), arguments.top, labels)
        for name, codes in outputs.items()
        if arguments.top
    }
    if arguments.json:
        _print_json({"file": _file(arguments.model), **_report(graph, inputs, outputs, ranks)})
    else:
        _print_outputs(graph, outputs, ranks)
    return DONE


def convert(arguments: argparse.Namespace) -> int:
    """`npusim convert`"""
    path = arguments.output
    if path.suffix.lower() != ".h5":
        raise ValueError(f"{path}: output must be .h5, got {path.suffix or 'no suffix'}")
    if not path.parent.is_dir():
        raise ValueError(f"{path}: output must lie in a folder that exists, got {path.parent}")
    graph = load_model(arguments.model, arguments)
    save(graph, path)
    data = path.read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    if arguments.json:
        _print_json({"file": str(path), "profile": graph.profile, "nodes": len(graph.nodes),
                     "bytes": len(data), "sha256": digest})  # fmt: skip
    else:
        nodes = counted(len(graph.nodes), "node")
        print(f"{path}: {nodes}, profile {graph.profile}, {len(data):,} bytes")
        print(f"sha256  {digest}")
    return DONE


def _file(path: Path) -> dict[str, Any]:
    """Name, length and digest of the model file itself, whatever it was made from."""
    data = path.read_bytes()
    return {"name": path.name, "bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}


def _labels(graph: Graph, arguments: argparse.Namespace) -> Sequence[str]:
    """Names of the classes: of the file that was given, else those the model was trained with."""
    if arguments.labels is None:
        return class_names(graph)
    if arguments.top is None:
        raise ValueError("--labels: must name the classes that --top shows, got no --top")
    return read_labels(arguments.labels)


def check_source(arguments: argparse.Namespace) -> None:
    """Refuse anything but one source of inputs."""
    if (arguments.input is None) == (arguments.random is None):
        raise ValueError("inputs: must be named by --input or --random, one of them")


def model_inputs(graph: Graph, arguments: argparse.Namespace) -> Arrays:
    """A model's inputs by name, as the options --input, --random, --mean and --std say."""
    if (arguments.mean is None) != (arguments.std is None):
        raise ValueError("--mean and --std: must be given together, got one of them")
    if arguments.random is not None and arguments.mean is not None:
        raise ValueError("--random: must come without --mean and --std, which are for pixels")
    if arguments.random is not None:
        return random_inputs(graph, arguments.random)
    normalization = None
    if arguments.mean is not None:
        normalization = Normalization(tuple(arguments.mean), tuple(arguments.std))
    return read_inputs(arguments.input, graph, normalization)


def _outputs(session: Session, inputs: Arrays, arguments: argparse.Namespace) -> Arrays:
    """The outputs by name; on the way, raw sums and the trace where they are wanted."""
    if arguments.raw_sums is not None:
        count = write_sums(arguments.raw_sums, session.raw_sums(inputs), session.graph)
        print(
            f"{arguments.raw_sums}: sums of {counted(count, 'node')}, listed in index.json",
            file=sys.stderr,
        )
    names = [session.graph.tensors[i].name for i in session.graph.outputs]
    if arguments.trace is not None:
        tensors = dict(session.trace(inputs))
        count = write_trace(arguments.trace, tensors, session.graph)
        print(
            f"{arguments.trace}: {counted(count, 'tensor')}, listed in index.json", file=sys.stderr
        )
        return {name: tensors[name] for name in names}
    results = session.run(inputs)
    return results if isinstance(results, dict) else {names[0]: results}


def _report(
    graph: Graph, inputs: Arrays, outputs: Arrays, ranks: Mapping[str, list[list[Rank]]]
) -> dict[str, Any]:
    tensors = [
        {**summary(graph.tensor(name), codes),
         **({"top": [[rank._asdict() for rank in image] for image in ranks[name]]}
            if name in ranks else {})}
        for name, codes in outputs.items()
    ]  # fmt: skip
    given = [summary(graph.tensor(name), array) for name, array in inputs.items()]
    return {"model": graph.name, "profile": graph.profile,
            "accumulator": asdict(accumulator(graph)),
            "inputs": given, "outputs": tensors}  # fmt: skip


def _print_outputs(graph: Graph, outputs: Arrays, ranks: Mapping[str, list[list[Rank]]]) -> None:
    for name, codes in outputs.items():
        facts = summary(graph.tensor(name), codes)
        print(f"{name}: {facts['dtype']} {'x'.join(map(str, facts['shape']))}")
        print(f"sha256  {facts['sha256']}")
        if name in ranks:
            _print_ranks(ranks[name])
        elif codes[0].size <= SMALL:
            _print_codes(codes)


def _print_ranks(images: list[list[Rank]]) -> None:
    for number, ranks in enumerate(images):
        for rank in ranks:
            label = "" if rank.label is None else f"  {rank.label}"
            print(f"{number:>6}  class {rank.number:<5} code {rank.code:<5g} "
                  f"value {rank.value:<10.6g}{label}".rstrip())  # fmt: skip


def _print_codes(codes: np.ndarray) -> None:
    for number, row in enumerate(codes[:SHOWN_IMAGES].reshape(-1, codes[0].size)):
        print(f"{number:>6}  " + " ".join(f"{code:g}" for code in row))
    if len(codes) > SHOWN_IMAGES:
        print(f"        and {len(codes) - SHOWN_IMAGES} more images; --output writes all")


def _print_json(facts: Mapping[str, Any]) -> None:
    print(json.dumps(facts, indent=1))
