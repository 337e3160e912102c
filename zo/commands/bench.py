"""`zo bench`: what one training step costs on this machine."""

import argparse
import json
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

from npusim.command_line import DONE, counting_number, load_model
from npusim.head import until_logits

from ..bench import Q_RANGE, BenchOptions, StepTime, bench
from ..classifier import find_classifier
from .arguments import BATCH, JSON, MODEL, THREADS, Command

MANUAL = """\
Time one training step on this machine, part by part and for every q, with and
without reuse, beside the formula (q+1)*C_fwd + q*C_perturb.
What a column means stands below the tables.
"""

EXAMPLES = """\
examples:
  zo bench run/model.h5
  zo bench model.tflite --input-size 96 --q 1 16 64 --json

"""

COLUMNS = """
forward .. update  each part alone, for all samples
sum                of these parts
measured           the whole step; blank where it would outlast --limit
paper              (q+1)*C_fwd + q*C_perturb, without reuse of signs"""
MILLISECONDS = 1000


def run(arguments: argparse.Namespace) -> int:
    """`zo bench`"""
    graph = until_logits(load_model(arguments.model, arguments))
    options = BenchOptions(
        tuple(arguments.trainable or (find_classifier(graph).weights,)),
        arguments.batch, arguments.threads, arguments.limit,
    )  # fmt: skip
    found = bench(graph, options, tuple(arguments.q))
    if arguments.json:
        print(json.dumps(_report(options, found), indent=2))
        return DONE
    console = Console()
    console.print(f"one step, batch {options.batch}, trained: {', '.join(options.trainable)}; "
                  "milliseconds")  # fmt: skip
    for mode, times in found.items():
        console.print(_table(mode, times))
    print(COLUMNS)
    return DONE


COMMAND = Command(
    "bench",
    "what one training step costs here",
    MANUAL,
    EXAMPLES,
    "not used",
    {
        "": {
            "model": MODEL,
            "--trainable": {
                "nargs": "+", "metavar": "NAME", "help": "tensors to train; the head's weights",
            },
            "--batch": BATCH,
            "--q": {
                "type": counting_number, "nargs": "+", "default": list(Q_RANGE), "metavar": "N",
                "help": "samples a step; 1 2 4 .. 1024",
            },
            "--limit": {
                "type": float, "default": 5.0, "metavar": "SECONDS",
                "help": "longest whole step that is measured; 5",
            },
            "--threads": THREADS,
            "--json": JSON,
        }
    },
    run,
)  # fmt: skip


def _report(options: BenchOptions, found: Mapping[str, list[StepTime]]) -> Mapping[str, Any]:
    modes = {
        mode: [
            {"q": t.q, **t.parts._asdict(), "measured": t.measured, "paper": t.paper} for t in times
        ]
        for mode, times in found.items()
    }
    return {"batch": options.batch, "trainable": options.trainable, "unit": "s", "reuse": modes}


def _table(mode: str, times: list[StepTime]) -> Table:
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
