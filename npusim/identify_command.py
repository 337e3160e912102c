"""`npusim identify`: which arithmetic a device uses."""

import argparse
import json
from pathlib import Path

import numpy as np

from .command_line import DONE, JSON, NEGATIVE, PIXELS, SOURCES, Command, load_model
from .commands import model_inputs
from .diff import Side, open_path
from .diff.fit import LAYOUTS
from .diff_command import repeated, under
from .graph import Graph
from .identify import Report, Suggestion, identify, suggest
from .identify.listing import as_dict
from .neural_art.stored import PROFILE as NEURAL_ART
from .tensor_files import write_outputs

MANUAL = """\
Find the arithmetic that explains a device's tensors: for every operator the
rounding rule, how its scale is computed, the accumulator, the rule for ties of
Neural-ART's stages (and s0 of every layer), the conventions for zero points and
padding.

DUMP is what `npusim diff` takes as B: a folder of .npy or raw .bin, a .npz or a
golden file. Every node is computed from the dump's own inputs, so one wrong
layer does not hide the others, under every hypothesis that npusim has for its
operator. One differing element excludes a hypothesis. What is left is named,
with the number of elements that decided, and the profiles that combine it.

  decided      one rule gives every code, or several that were proven to give
               equal codes on every input
  undecided    several rules give every code; another input may tell them apart
  unexplained  no hypothesis gives every code; the nearest is named
  mixed        the nodes of an operator follow different rules
  not judged   tensors are missing

"decided by" counts the elements that exclude the nearest rule that is excluded.

--suggest-input writes an input that tells apart what is left: run it on the
device, dump again, and identify that dump. --profile and --accumulator do not
count here: all are tried. Where it is Neural-ART, the command that finds what
to give each layer stands at the end.
"""

EXAMPLES = """\
examples:
  npusim identify dumps/ --model model.tflite
  npusim identify dumps/ --model model.tflite --input x.npy
  npusim identify dumps/ --model model.tflite --suggest-input x2.npy
  npusim identify golden.h5 --model model.tflite --json | jq .profiles

"""


def run(arguments: argparse.Namespace) -> int:
    """`npusim identify`: NEGATIVE when a node or an operator is not explained."""
    graph = load_model(arguments.model, arguments)
    side = open_path(arguments.dump, arguments.order)
    if side is None:
        raise ValueError(f"{arguments.dump}: must be a dump of a device or a golden file, got a "
                         "model; dump its tensors with npusim run --trace")  # fmt: skip
    inputs = _inputs(graph, arguments)
    report = identify(side, graph, inputs, arguments.dump_layout)
    suggestion = _suggested(graph, report, side, arguments)
    if arguments.json:
        print(json.dumps(as_dict(report, suggestion), indent=2))
    else:
        from .identify.table import is_neural_art, page  # rich is loaded only where it is used

        print(page(report, suggestion), end="")
        if is_neural_art(report):
            options = list(repeated(arguments))
            print("to find what to give each layer:")
            print(f"  {under(NEURAL_ART, arguments.model, arguments.dump, options)}")
    return DONE if report.explained else NEGATIVE


def _inputs(graph: Graph, arguments: argparse.Namespace) -> dict[str, np.ndarray]:
    """The model's inputs, where they are named."""
    if arguments.input is None and arguments.random is None:
        return {}
    if arguments.input is not None and arguments.random is not None:
        raise ValueError("inputs: must be named by --input or --random, not by both")
    found = model_inputs(graph, arguments)
    types = {graph.tensors[i].name: graph.tensors[i].dtype for i in graph.inputs}
    for name, values in found.items():
        if values.dtype != types[name]:
            raise ValueError(f"input {name}: must be {types[name]}, as the device took it, got "
                             f"{values.dtype}")  # fmt: skip
    return dict(found)


def _suggested(
    graph: Graph, report: Report, side: Side, arguments: argparse.Namespace
) -> Suggestion | None:
    """The suggestion, written; None where none is wanted or nothing is open."""
    path = arguments.suggest_input
    if path is None:
        return None
    if path.suffix.lower() not in (".npy", ".npz"):
        raise ValueError(f"{path}: suggested input must be .npy or .npz, got "
                         f"{path.suffix or 'no suffix'}")  # fmt: skip
    found = suggest(graph, report)
    if found is not None:
        write_outputs(path, found.inputs)
    return found


COMMAND = Command(
    "identify",
    "find the arithmetic that explains a device's tensors",
    MANUAL,
    EXAMPLES,
    "a node, or an operator as a whole, is not explained",
    {
        "": {
            "dump": {"type": Path, "metavar": "DUMP", "help": "what the device computed"},
            "--model": {
                "type": Path, "metavar": "MODEL", "required": True,
                "help": "what it ran, .tflite or .h5",
            },
            "--order": {
                "type": Path, "metavar": "FILE",
                "help": "the dump's files in order, one a line, each with its tensor's name "
                        "behind it or not",
            },
            "--dump-layout": {
                "choices": LAYOUTS,
                "help": "of dumps of rank 4; by their shapes if not given, else NHWC",
            },
            "--suggest-input": {
                "type": Path, "metavar": "FILE",
                "help": "write an input that tells apart the rules that are left: .npy, or "
                        ".npz for several inputs",
            },
            "--json": JSON,
        },
        "the model's input, where the dump does not hold it": {**SOURCES, **PIXELS},
    },
    run,
)  # fmt: skip
