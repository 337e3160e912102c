"""`zo reproduce`: a table or figure of the method's comparison, from model and images."""

import argparse
import json
import platform
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

import npusim
from npusim.command_line import DONE, counting_number, load_model
from npusim.progress_bar import bar

from ..data import load, to_input
from ..features import default_folder
from ..plots import figures
from ..reproduce.bank import Bank, make_bank, split_rows
from ..reproduce.cell import Outcome
from ..reproduce.execute import run_cell
from ..reproduce.experiment import Experiment, Plan, Row
from ..reproduce.tables import EXPERIMENTS, STUDIES
from ..reproduce.write import write
from .arguments import DATA, JSON, MODEL, OUTPUT, PIXELS, Command, given_inputs, normalization
from .cells import QUICK_IMAGES, results_of, thinned
from .study import run_study

MANUAL = """\
Compare ways to train a classifier without gradients, as the tables of QScheduler
(arXiv 2607.18802) do and further ones that its review asked for. The frozen part
of the model runs once for every image; its features are kept on disk. Then each
row is trained for every seed, which decides the split, the first weights and all
signs.

Finished runs are kept in DIR/runs: a second call goes on where the first one
stopped, on any number of workers, to the same numbers.

T11 and T14 take the shipped digit reader where no model is given, and put a new
head on one that is; T12 needs neither model nor images.
"""

QUICK = Plan(seeds=2, epochs=4, quick=True)
BATCH = 64
TITLES = {name: e.title for name, e in EXPERIMENTS.items()} | {
    name: study.title for name, study in STUDIES.items()
}
NAMES = sorted(TITLES, key=lambda name: (name[0], int(name[1:])))


def run(arguments: argparse.Namespace) -> int:
    """`zo reproduce`"""
    figures()  # a missing matplotlib shows now, not after the runs
    if arguments.name in STUDIES:
        return run_study(STUDIES[arguments.name], arguments, _plan(arguments))
    experiment, folder = EXPERIMENTS[arguments.name], arguments.output
    if arguments.model is None or arguments.data is None:
        raise ValueError(
            f"{experiment.name}: --model and --data must be given, got {given_inputs(arguments)}"
        )
    bank = _bank(arguments)
    plan = _plan(arguments)._replace(steps=max(1, len(split_rows(bank, 0)[0]) // BATCH))
    results = results_of(experiment.runs(plan), (run_cell, Outcome), (bank, bank.digest), arguments)
    rows = write(experiment, plan, results, folder, _notes(bank, plan))
    if arguments.json:
        print(json.dumps([row._asdict() for row in rows], indent=2))
    else:
        _print(experiment, rows, folder)
    return DONE


COMMAND = Command(
    "reproduce",
    "a table of the method's comparison, from model and images",
    MANUAL
    + "\n"
    + "\n".join(f"  {name:4} {TITLES[name]}" for name in NAMES)
    + "\n",
    """\
examples:
  npusim quantize mobilenet_v2.npz --data EuroSAT_RGB.zip --input-size 64 \\
                  --output m64.h5
  zo reproduce T4 --model m64.h5 --data EuroSAT_RGB.zip --workers 2 --output T4/

""",
    "not used",
    {
        "": {
            "name": {
                "choices": NAMES, "metavar": "NAME",
                "help": "which, see above",
            },
            "--model": {**MODEL, "required": False},
            "--data": {**DATA, "required": False},
            "--output": OUTPUT,
            "--seeds": {"type": counting_number, "metavar": "N", "help": "runs of each row; 5"},
            "--epochs": {"type": counting_number, "metavar": "N", "help": "of a run; 60"},
            "--augment": {
                "type": counting_number, "default": 4, "metavar": "N",
                "help": "flipped and cropped variants of each image; 4",
            },
            "--quick": {
                "action": "store_true",
                "help": f"{QUICK_IMAGES:,} images, {QUICK.seeds} seeds, {QUICK.epochs} epochs",
            },
            "--workers": {
                "type": counting_number, "default": 1, "metavar": "N",
                "help": "processes on this machine; 1",
            },
            "--scheduler": {
                "metavar": "ADDRESS", "help": "of a Dask scheduler, such as tcp://10.0.0.1:8786",
            },
            **PIXELS,
            "--json": JSON,
        }
    },
    run,
)  # fmt: skip


def _bank(arguments: argparse.Namespace) -> Bank:
    graph = load_model(arguments.model, arguments)
    found = normalization(arguments, graph)
    dataset = thinned(load(arguments.data), arguments.quick)
    with bar("pictures") as advance:
        dataset = to_input(dataset, graph, found).held(advance)
    with bar("features") as advance:
        return make_bank(graph, dataset, arguments.augment, default_folder(), advance)


def _plan(arguments: argparse.Namespace) -> Plan:
    base = QUICK if arguments.quick else Plan()
    return base._replace(
        seeds=arguments.seeds or base.seeds, epochs=arguments.epochs or base.epochs
    )


def _notes(bank: Bank, plan: Plan) -> list[str]:
    return [
        f"{bank.source}: {len(bank.labels):,} images of {len(bank.classes)} classes, "
        f"{bank.variants} variants of each; bank {bank.digest[:12]}.",
        f"At most {plan.epochs} epochs of {plan.steps} steps of {BATCH} images.",
        f"npusim {npusim.__version__}, {platform.machine()}, Python {platform.python_version()}.",
    ]


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
