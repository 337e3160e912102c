"""`zo reproduce`: a table or figure of the method's comparison, from model and images."""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from npusim.command_line import DONE, counting_number
from npusim.progress_bar import bar

from ..plots import figures
from ..reproduce.experiment import Experiment, Plan, Row
from ..reproduce.families import tuned
from ..reproduce.rates import read_rates
from ..reproduce.store import Store
from ..reproduce.tables import EXPERIMENTS
from ..reproduce.write import write
from .arguments import Command
from .experiment_options import EXPERIMENT, NAMES, bank_of, notes_of, outcomes, plan_of

MANUAL = """\
Compare ways to train a classifier without gradients, as the tables of
QScheduler (arXiv 2607.18802) do, and some that they leave out. The frozen part
of the model runs once for every image; its features are kept on disk. Then each
row is trained for every seed, which decides the split, the first weights and
all signs.

Finished runs are kept in DIR/runs: a second call goes on where the first one
stopped, on any number of workers, to the same numbers.
"""


def run(arguments: argparse.Namespace) -> int:
    """`zo reproduce`"""
    figures()  # a missing matplotlib shows now, not after the runs
    experiment, folder, notes = EXPERIMENTS[arguments.name], arguments.output, []
    if arguments.rates is not None:
        rates = read_rates(arguments.rates, experiment.name)
        experiment = tuned(experiment, rates)
        listed = ", ".join(f"{method} {rate:.3g}" for method, rate in rates.items())
        notes = [f"Rates of `zo search`, {arguments.rates.name}: {listed}."]
    experiment.cells(Plan())  # rates of other methods show now, not after the features
    bank = bank_of(arguments)
    plan = plan_of(arguments, bank)
    plan = plan._replace(seeds=arguments.seeds or plan.seeds)
    store = Store(folder / "runs", bank.digest)
    with bar("runs") as advance:
        results = outcomes(experiment.runs(plan), bank, store, advance, arguments.workers,
                           arguments.scheduler)  # fmt: skip
    rows = write(experiment, plan, results, folder, [*notes_of(bank, plan), *notes])
    if arguments.json:
        print(json.dumps([row._asdict() for row in rows], indent=2))
    else:
        _print(experiment, rows, folder)
    return DONE


COMMAND = Command(
    "reproduce",
    "a table of the method's comparison, from model and images",
    MANUAL + NAMES,
    """\
examples:
  npusim quantize mobilenet_v2.npz --data EuroSAT_RGB.zip --input-size 64 \\
                  --output m64.h5
  zo reproduce T4 --model m64.h5 --data EuroSAT_RGB.zip --workers 2 --output T4/
  zo search T9 --model m64.h5 --data EuroSAT_RGB.zip --output T1/
  zo reproduce T9 --model m64.h5 --data EuroSAT_RGB.zip --rates T1/rates.json \\
                  --output T9/

""",
    "not used",
    {
        "": {
            **EXPERIMENT,
            "--seeds": {"type": counting_number, "metavar": "N", "help": "runs of each row; 5"},
            "--rates": {
                "type": Path, "metavar": "FILE", "help": "rates.json of zo search; else zo's own",
            },
            "--workers": {
                "type": counting_number, "default": 1, "metavar": "N",
                "help": "processes on this machine; 1",
            },
            "--scheduler": {
                "metavar": "ADDRESS", "help": "of a Dask scheduler, such as tcp://10.0.0.1:8786",
            },
        }
    },
    run,
)  # fmt: skip


def _print(experiment: Experiment, rows: Sequence[Row], folder: Path) -> None:
    table = Table(title=f"{experiment.name}: {experiment.title}", title_justify="left")
    for name in ("", "validation %", "test %", "forwards", "paper %"):
        table.add_column(name, justify="right" if name else "left")
    for row in rows:
        test, paper = ("" if value is None else f"{value:.1f}" for value in (row.test, row.paper))
        table.add_row(row.label, f"{row.final:.1f} ± {row.deviation:.1f}", test,
                      f"{row.forwards:,.0f}", paper)  # fmt: skip
    Console().print(table)
    print(f"written {folder / experiment.name}.csv, .md, .png")
