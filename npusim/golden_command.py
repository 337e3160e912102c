"""`npusim golden`: record a run of a model as a golden file, and as test vectors in C."""

import argparse
import hashlib
import json
from pathlib import Path

from .command_line import (
    DONE,
    JSON,
    MODEL,
    PIXELS,
    SOURCES,
    Command,
    counting_number,
    load_model,
)
from .commands import check_source, model_inputs
from .golden import Golden, record, to_bytes
from .golden.c_vectors import write_c_vectors
from .golden.file import save
from .golden.record import GIVEN
from .plurals import counted

NAMED = 4

MANUAL = """\
Record one run of a model: every tensor, the profile and accumulator, and the
parameters each node computed with, labelled derived or given. Equal runs give
equal bytes. `npusim diff` compares a device with it.

--c-header writes, for every layer with weights, its geometry, weights, bias,
multipliers, input and expected output as a C header, and a main.c that calls
your kernels and compares. The arithmetic is yours; the numbers are here.
"""

EXAMPLES = """\
examples:
  npusim golden model.tflite --input x.npy --output g.h5
  npusim golden model.tflite --random 1 --output g.h5 --accumulator 24:saturate
  npusim golden model.tflite --random 1 --c-header vectors/

"""


def run(arguments: argparse.Namespace) -> int:
    """`npusim golden`"""
    check_source(arguments)
    if arguments.output is None and arguments.c_header is None:
        raise ValueError("output: must be named by --output, --c-header or both, got neither")
    if arguments.output is not None and arguments.output.suffix.lower() != ".h5":
        raise ValueError(f"{arguments.output}: golden file must be .h5, got "
                         f"{arguments.output.suffix or 'no suffix'}")  # fmt: skip
    graph = load_model(arguments.model, arguments)
    golden = record(graph, model_inputs(graph, arguments), arguments.threads)
    facts: dict[str, object] = {"profile": golden.profile, "nodes": len(golden.nodes),
                                "given": _given(golden)}  # fmt: skip
    if arguments.output is not None:
        save(golden, arguments.output)
        data = to_bytes(golden)
        facts |= {"file": str(arguments.output), "bytes": len(data),
                  "sha256": hashlib.sha256(data).hexdigest()}  # fmt: skip
    if arguments.c_header is not None:
        layers, left_out = write_c_vectors(arguments.c_header, graph, golden)
        facts |= {"folder": str(arguments.c_header), "layers": layers, "left_out": left_out}
    if arguments.json:
        print(json.dumps(facts, indent=2))
    else:
        _print(facts, len(list(golden.sequence())))
    return DONE


COMMAND = Command(
    "golden",
    "record a run of a model: every tensor and parameter",
    MANUAL,
    EXAMPLES,
    "not used",
    {
        "": {
            "model": MODEL,
            **SOURCES,
            **PIXELS,
            "--output": {"type": Path, "metavar": "FILE", "help": "golden file to write, .h5"},
            "--c-header": {
                "type": Path, "metavar": "DIR",
                "help": "write test vectors in C into an empty folder",
            },
            "--threads": {
                "type": counting_number, "metavar": "N",
                "help": "spread images over N threads; one per processor if not given",
            },
            "--json": JSON,
        }
    },
    run,
)  # fmt: skip


def _given(golden: Golden) -> dict[str, list[str]]:
    """By node: parameters that do not follow from shapes and scales."""
    found = {
        node.name: [name for name, p in node.parameters.items() if p.origin == GIVEN]
        for node in golden.nodes
    }
    return {name: names for name, names in found.items() if names}


def _print(facts: dict, tensors: int) -> None:
    if "file" in facts:
        nodes = counted(facts["nodes"], "node")
        print(f"{facts['file']}: {counted(tensors, 'tensor')} of {nodes}, "
              f"profile {facts['profile']}, {facts['bytes']:,} bytes")  # fmt: skip
        print(f"sha256  {facts['sha256']}")
        listed = [f"{node} {', '.join(names)}" for node, names in facts["given"].items()]
        if listed:
            more = (
                f"; and of {counted(len(listed) - NAMED, 'more node')}"
                if len(listed) > NAMED
                else ""
            )
            print(f"given   {'; '.join(listed[:NAMED])}{more}; all else is derived")
    if "folder" in facts:
        print(f"{facts['folder']}: vectors.h, main.c and {counted(len(facts['layers']), 'layer')}; "
              "main.c says how to build")  # fmt: skip
        if facts["left_out"]:
            print(f"left out, without multiplier and shift under profile {facts['profile']}: "
                  f"{', '.join(facts['left_out'])}")  # fmt: skip
