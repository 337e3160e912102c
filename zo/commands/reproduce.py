"""`zo reproduce`: a table or figure of the method's comparison, from model and images."""

import argparse
import json
import platform
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import npusim
from npusim.command_line import DONE, counting_number, load_model
from npusim.progress_bar import bar

from ..data import Dataset, load, to_input
from ..features import default_folder
from ..plots import figures
from ..prng import shuffle
from ..reproduce.bank import Bank, make_bank, split_rows
from ..reproduce.cell import Cell, Outcome
from ..reproduce.experiment import Experiment, Plan, Row
from ..reproduce.spread import run_cells
from ..reproduce.store import Store
from ..reproduce.tables import EXPERIMENTS
from ..reproduce.write import write
from .arguments import DATA, JSON, MODEL, OUTPUT, PIXELS, Command, normalization

MANUAL = """\
Compare ways to train a classifier without gradients, as the tables of
QScheduler (arXiv 2607.18802) do, and some that they leave out. The frozen part
of the model runs once for every image; its features are kept on disk. Then each
row is trained for every seed, which decides the split, the first weights and
all signs.

Finished runs are kept in DIR/runs: a second call goes on where the first one
stopped, on any number of workers, to the same numbers.
"""

QUICK = Plan(seeds=2, epochs=4)
QUICK_IMAGES = 2000
BATCH = 64


def run(arguments: argparse.Namespace) -> int:
    """`zo reproduce`"""
    figures()  # a missing matplotlib shows now, not after the runs
    experiment, folder = EXPERIMENTS[arguments.name], arguments.output
    bank = _bank(arguments)
    plan = _plan(arguments, bank)
    store = Store(folder / "runs", bank.digest)
    results = _results(experiment.runs(plan), bank, store, arguments)
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
    + "\n".join(f"  {e.name:4} {e.title}" for e in EXPERIMENTS.values())
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
            "name": {"choices": sorted(EXPERIMENTS), "metavar": "NAME", "help": "which, see above"},
            "--model": {**MODEL, "required": True},
            "--data": DATA,
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
    dataset = _images(load(arguments.data), arguments.quick)
    with bar("pictures") as advance:
        dataset = to_input(dataset, graph, found).held(advance)
    with bar("features") as advance:
        return make_bank(graph, dataset, arguments.augment, default_folder(), advance)


def _images(dataset: Dataset, quick: bool) -> Dataset:
    if not quick or len(dataset) <= QUICK_IMAGES:
        return dataset
    return dataset.take(np.sort(shuffle(0, 0, len(dataset))[:QUICK_IMAGES]))


def _plan(arguments: argparse.Namespace, bank: Bank) -> Plan:
    base = QUICK if arguments.quick else Plan()
    steps = max(1, len(split_rows(bank, 0)[0]) // BATCH)
    return Plan(arguments.seeds or base.seeds, arguments.epochs or base.epochs, steps)


def _results(
    cells: Sequence[Cell], bank: Bank, store: Store, arguments: argparse.Namespace
) -> list[tuple[Cell, Outcome]]:
    """The outcome of every cell, from disk or run now."""
    found = {i: outcome for i, cell in enumerate(cells) if (outcome := store.find(cell))}
    missing = [cell for i, cell in enumerate(cells) if i not in found]
    places = {id(cell): i for i, cell in enumerate(cells)}
    with bar("runs") as advance:
        advance(len(found), len(cells))

        def done(cell: Cell, outcome: Outcome) -> None:
            store.keep(cell, outcome)
            found[places[id(cell)]] = outcome
            advance(len(found), len(cells))

        run_cells(missing, bank, done, arguments.workers, arguments.scheduler)
    return [(cell, found[i]) for i, cell in enumerate(cells)]


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
