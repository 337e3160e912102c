"""`npusim check`: do a model's sums fit the accumulator, and is any channel spoiled?"""

import argparse
import json

from . import check_headroom
from .command_line import (
    DONE,
    JSON,
    MODEL,
    NEGATIVE,
    PIXELS,
    SOURCES,
    Command,
    counting_number,
    load_model,
)
from .commands import model_inputs

MANUAL = """\
Head-room: can the sums of a model leave the accumulator, do they on your data,
and has quantisation spoiled a channel?

Without --input only what holds for every input is told: `bound` is the largest
magnitude that any sum of a node can reach, `bits` the narrowest accumulator
that holds it. With --input or --random the model runs, and for every node
  least, greatest  of all exact sums on the way; `seen`, the bits they need
  overflows        how often a sum left the accumulator: after a product, in the
                   order kernel row, kernel column, input channel; the bias is
                   the start and counts
  channels         in how many output channels, of how many
  outputs          in how many output elements
  changed          whose accumulator ended at another number than the exact sum
  constant         channels whose output was one code all the time; no finding
and, from the constants,
  bias   channels whose bias is the first or last int32, or does not fit the
         accumulator; on Neural-ART also those whose BC_c is the first or last
  dead   channels whose weights are all 0
  lost   channels with a multiplier of 0; the reason stands below the table

An accumulator that refuses (24:error) is run with exact sums, and what it would
refuse is counted. Neural-ART's sums are exact; there the stages behind them
clamp, and for every node
  t, r0, r1, p     bits that a stage may need, whatever the input. It has 16; t,
                   partial sums of 24 bits, has 24; p is a global average's
  clamped          outputs on whose way a stage clamped
  altered          outputs whose code is another one for it: a finding, as are
                   channels where no proof excludes that
--json has every channel and stage.
"""

EXAMPLES = """\
examples:
  npusim check model.tflite
  npusim check model.tflite --accumulator 20:saturate --input images.npy
  npusim check model.tflite --random 1 --accumulator 16 --json | jq .findings

"""


def run(arguments: argparse.Namespace) -> int:
    """`npusim check`: NEGATIVE when there is a finding."""
    from .headroom_page import page  # rich is loaded only where it is used
    from .progress_bar import bar

    _check_sources(arguments)
    graph, threads = load_model(arguments.model, arguments), arguments.threads
    if arguments.input is None and arguments.random is None:
        found = check_headroom(graph, threads=threads)
    else:
        inputs = model_inputs(graph, arguments)
        with bar("images") as progress:
            found = check_headroom(graph, inputs, threads=threads, progress=progress)
    if arguments.json:
        print(json.dumps({"file": str(arguments.model), **found.as_dict()}))
    else:
        print(page(found), end="")
    return NEGATIVE if found.findings else DONE


def _check_sources(arguments: argparse.Namespace) -> None:
    if arguments.input is not None and arguments.random is not None:
        raise ValueError("inputs: must be named by --input or --random, not both")
    if arguments.input is None and arguments.random is None and arguments.mean is not None:
        raise ValueError("--mean and --std: must come with --input, got none")


COMMAND = Command(
    "check",
    "find accumulators that overflow, and spoiled channels",
    MANUAL,
    EXAMPLES,
    "a sum overflows, a clamp changes a code, or may; or a channel is spoiled",
    {
        "": {
            "model": MODEL,
            **SOURCES,
            **PIXELS,
            "--threads": {
                "type": counting_number, "metavar": "N",
                "help": "spread images over N threads; one per processor if not given",
            },
            "--json": JSON,
        }
    },
    run,
)  # fmt: skip
