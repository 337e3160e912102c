"""`npusim export-c`: a model as a C project."""

import argparse
import json
import shlex
from pathlib import Path

from .c_syntax import identifier
from .command_line import DONE, JSON, MODEL, PIXELS, SOURCES, Command, c_name, load_model
from .commands import check_source, model_inputs
from .export import TARGETS, Project, export_c
from .export.folder import require_empty
from .plurals import counted

MANUAL = """\
Write a model as readable C99: weights and graph as constant data, one function
that runs it in memory you give it, the kernels it uses, a program around them,
and a self-test of what npusim computes from --input, or from random codes.

DIR must be new or empty: nothing is ever overwritten. Its README.md says how
to build, what goes into flash and RAM, and where the model comes from. Equal
models and options give equal files.

C has every rule that computes in integers. A model with another, such as one
of profile xnnpack, is refused; the message names the node.
"""

EXAMPLES = """\
examples:
  npusim export-c model.tflite --output out/
  make -C out check
  npusim export-c model.tflite --output m55/ --target qemu-m55 --input x.npy
  npusim export-c model.tflite --output out/ --input-size 96 --name detector

"""


def run(arguments: argparse.Namespace) -> int:
    """`npusim export-c`"""
    require_empty(arguments.output)
    if arguments.input is None and arguments.random is None:
        arguments.random = 0
    check_source(arguments)
    graph = load_model(arguments.model, arguments)
    name = arguments.name or identifier(arguments.model.stem)
    project = export_c(graph, name, model_inputs(graph, arguments), arguments.target)
    project.write(arguments.output)
    if arguments.json:
        print(json.dumps(_facts(project, arguments), indent=2))
    else:
        _print(project, arguments)
    return DONE


def _facts(project: Project, arguments: argparse.Namespace) -> dict[str, object]:
    model = project.model
    return {
        "folder": str(arguments.output),
        "target": arguments.target,
        "name": model.prefix,
        "profile": model.graph.profile,
        "nodes": len(model.graph.nodes),
        "input_bytes": model.input_bytes,
        "output_bytes": model.output_bytes,
        "flash_bytes": model.flash_bytes,
        "arena_bytes": model.plan.arena_bytes,
        "scratch_bytes": model.scratch_bytes,
        "files": sorted(project.files),
    }


def _print(project: Project, arguments: argparse.Namespace) -> None:
    model = project.model
    print(f"{arguments.output}: {model.prefix}, {counted(len(model.graph.nodes), 'node')}, "
          f"profile {model.graph.profile}, for {arguments.target}")  # fmt: skip
    print(f"flash   {model.flash_bytes:>11,} bytes of weights and parameters, besides code")
    print(f"arena   {model.plan.arena_bytes:>11,} bytes of RAM")
    print(f"next: make -C {shlex.quote(str(arguments.output))} check")


COMMAND = Command(
    "export-c",
    "write a model as a C project, with a self-test",
    MANUAL,
    EXAMPLES,
    "not used",
    {
        "": {
            "model": MODEL,
            "--output": {
                "type": Path, "required": True, "metavar": "DIR",
                "help": "folder to write, new or empty",
            },
            "--target": {
                "choices": tuple(TARGETS), "default": "host",
                "help": "what the program runs on (default: host)",
            },
            "--name": {
                "type": c_name, "metavar": "NAME",
                "help": "in front of the C names, instead of the model's file name",
            },
            "--json": JSON,
        },
        "inputs of the self-test": {**SOURCES, **PIXELS},
    },
    run,
)  # fmt: skip
