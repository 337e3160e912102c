"""The `npusim` command: inspect, run, convert and record models; find where a device departs."""

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import (
    __version__,
    check_command,
    commands,
    demo_command,
    diff_command,
    explain_command,
    export_command,
    golden_command,
    identify_command,
    locate_command,
    multiplier_command,
    quantize_command,
)
from .command_line import (
    EXIT_STATUS,
    JSON,
    MODEL,
    PIXELS,
    SOURCES,
    Options,
    Parser,
    add_command,
    add_model_options,
    counting_number,
    execute,
)
from .profiles import PROFILES

MANUAL = """\
Run INT8 neural networks bit for bit as a named reference does, on any machine.

A model is a .tflite file or npusim's own .h5. What "bit for bit" means is the
model's profile, tflm unless the file or --profile says otherwise:

{profiles}

`npusim diff` says where a device departs from a model, and which profile is
likelier; `npusim identify` asks which arithmetic it uses; `npusim explain`
shows one code step by step.
"""

INSPECT = """\
Show what a model is, without running it: inputs and outputs, and for every
node its output, rounding rule, multiply-accumulates, weights and kernel.

For every node that sums products, `bound` is the largest magnitude any partial
sum can reach, whatever the input, and `bits` the narrowest accumulator that
holds it. Where the accumulator is wide enough nothing can overflow; where it
is not, the kernel that sums in the documented order is chosen, and the exit
status is 1.

Under profile neural-art every parameter is listed, given (by --parameters) or
derived; of one that was given, and does not follow from the rest, what does.
"""

INSPECT_EXAMPLES = """\
examples:
  npusim inspect model.tflite
  npusim inspect model.tflite --input-size 96
  npusim inspect model.tflite --accumulator 24:saturate
  npusim inspect model.tflite --profile neural-art --parameters board.json
  npusim inspect model.tflite --json | jq .totals.macs

"""

RUN = """\
Run a model and show its outputs, each with the SHA-256 of its codes: two
machines that print one digest computed the same bits.

Inputs are codes of the input's type or real numbers, which are quantised by
the profile's rule. Pictures (and arrays of uint8 pixels) are resized to the
input by Pillow's bilinear filter; their pixels become the input's codes in
order, or, with --mean and --std, (pixel/255 - mean)/std, quantised. Of 16 bits
a channel the upper 8 are taken; EXIF turns a picture upright; transparent
pixels are refused, since no background is right for every network. A model
that was trained with such a normalisation, or with named classes, has stored
them: they are used where --mean and --std, or --labels, are not given.
"""

RUN_EXAMPLES = """\
examples:
  npusim run model.tflite --random 1
  npusim run model.tflite --input cat.jpg --top 5 --labels labels.txt
  npusim run model.tflite --input x.npy --output y.npy --threads 2
  npusim run model.tflite --input set.npz:images --trace layers/
  npusim run model.tflite --input cat.jpg --mean 0.485 0.456 0.406 \\
                          --std 0.229 0.224 0.225

"""

CONVERT = """\
Write a model as .h5, npusim's own format: the whole graph, with its profile and
where it came from, readable in any HDF5 viewer. Equal graphs give equal bytes.
"""

CONVERT_EXAMPLES = """\
examples:
  npusim convert model.tflite model.h5
  npusim convert model.tflite small.h5 --input-size 96x128
  npusim convert model.h5 narrow.h5 --accumulator 20:saturate

"""

RUN_OPTIONS: Options = {
    "--output": {"type": Path, "metavar": "FILE", "help": "write the outputs: .npy or .npz"},
    "--trace": {
        "type": Path,
        "metavar": "DIR",
        "help": "write every tensor as .npy, and index.json, into an empty folder",
    },
    "--raw-sums": {
        "type": Path,
        "metavar": "DIR",
        "help": "write every node's sums without bias as .npy, and index.json",
    },
    "--top": {
        "type": counting_number,
        "metavar": "K",
        "help": "show the K highest classes of every image",
    },
    "--labels": {
        "type": Path,
        "metavar": "FILE",
        "help": "names of the classes for --top, one a line, as many as there are",
    },
    **PIXELS,
    "--threads": {
        "type": counting_number,
        "metavar": "N",
        "help": "spread images over N threads; one per processor if not given",
    },
}


COMMANDS = tuple(
    module.COMMAND
    for module in (
        check_command,
        multiplier_command,
        quantize_command,
        explain_command,
        golden_command,
        diff_command,
        identify_command,
        export_command,
        locate_command,
        demo_command,
    )
)


def main(argv: Sequence[str] | None = None) -> int:
    """The command; returns its exit code."""
    return execute(parser(), argv)


def parser() -> argparse.ArgumentParser:
    """The command's grammar and manual."""
    profiles = "\n".join(f"  {p.name:<16} {p.reference}" for p in PROFILES.values())
    about = MANUAL.format(profiles=profiles)
    manual = Parser(prog="npusim", description=about, epilog="npusim COMMAND --help tells more")
    manual.add_argument("--version", action="version", version=f"npusim {__version__}")
    parsers = manual.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _add_inspect(parsers)
    _add_run(parsers)
    _add_convert(parsers)
    for command in COMMANDS:
        add_command(parsers, command)
    return manual


def _add_inspect(parsers: Any) -> None:
    inspect = parsers.add_parser(
        "inspect",
        help="show a model's nodes, costs and accumulators",
        description=INSPECT,
        epilog=INSPECT_EXAMPLES + EXIT_STATUS.format("an accumulator is not proven wide enough"),
    )
    _complete(inspect, commands.inspect)


def _add_run(parsers: Any) -> None:
    run = parsers.add_parser(
        "run",
        help="run a model and show, write or trace its tensors",
        description=RUN,
        epilog=RUN_EXAMPLES + EXIT_STATUS.format("not used"),
    )
    _add(run.add_mutually_exclusive_group(required=True), SOURCES)
    _add(run, RUN_OPTIONS)
    _complete(run, commands.run)


def _add_convert(parsers: Any) -> None:
    convert = parsers.add_parser(
        "convert",
        help="write a model in npusim's own format",
        description=CONVERT,
        epilog=CONVERT_EXAMPLES + EXIT_STATUS.format("not used"),
    )
    _complete(convert, commands.convert)
    convert.add_argument("output", type=Path, metavar="OUTPUT", help=".h5 file to write")


def _complete(parser: argparse.ArgumentParser, command: Callable[..., int]) -> None:
    """What every command takes."""
    parser.set_defaults(command=command)
    _add(parser, {"model": MODEL, "--json": JSON})
    add_model_options(parser)


def _add(parser: Any, options: Options) -> None:
    for name, settings in options.items():
        parser.add_argument(name, **settings)
