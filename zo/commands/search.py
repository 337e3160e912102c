"""`zo search`: learning rates of an experiment's methods, by Optuna, each with equal trials."""

import argparse
import json
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from npusim.command_line import DONE, counting_number
from npusim.progress_bar import bar

from ..reproduce.cell import Cell, Outcome
from ..reproduce.execute import run_cell
from ..reproduce.rates import RATES_FILE, summary, write_rates
from ..reproduce.search import Found, Search, search_rates
from ..reproduce.store import Store
from ..reproduce.tables import EXPERIMENTS
from .arguments import SEED, Command
from .cells import outcomes
from .experiment_options import EXPERIMENT, NAMES, bank_of, notes_of, plan_of

DATABASE = "trials.db"
MANUAL = """\
Find the learning rate of every method of an experiment of zo reproduce by
Bayesian search, with as many trials for each. Rows that differ only in how q is
chosen are one method and share a rate; a trial trains all of them. Trials are
judged on validation images alone, and the first is the rate without a search.

Trials are kept in a database: a second call goes on where the first one
stopped, and several at the same time share the work. DIR/T1.md and T1.csv show
the space, the trials and the best rates; zo reproduce --rates takes
DIR/rates.json.
"""


def run(arguments: argparse.Namespace) -> int:
    """`zo search`"""
    folder = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    bank = bank_of(arguments)
    plan = plan_of(arguments, bank)
    search = Search(EXPERIMENTS[arguments.name], plan, arguments.trials, arguments.seed)
    store = Store(folder / "runs", bank.digest, Outcome)

    def train(cells: Sequence[Cell]) -> list[tuple[Cell, Outcome]]:
        return outcomes(cells, run_cell, bank, store, lambda done, total: None)

    storage = arguments.storage or str(folder / DATABASE)
    with bar("trials") as advance:
        found = search_rates(search, bank, storage, train, advance)
    write_rates(search, found, folder, notes_of(bank, plan))
    if arguments.json:
        print(json.dumps([_plain(one) for one in found], indent=2))
    else:
        _print(found)
        print(f"written {folder / 'T1'}.csv, .md and {folder / RATES_FILE}")
    return DONE


COMMAND = Command(
    "search",
    "learning rates of a table's methods, with equal trials for each",
    MANUAL + NAMES,
    """\
examples:
  zo search T9 --model m64.h5 --data EuroSAT_RGB.zip --output T1/
  zo search T9 --model m64.h5 --data eurosat --storage s.db --output T1/ &
  zo search T9 --model m64.h5 --data eurosat --storage s.db --output T1/

""",
    "not used",
    {
        "": {
            **EXPERIMENT,
            "--trials": {
                "type": counting_number, "default": 20, "metavar": "N",
                "help": "of each method, those of earlier calls included; 20",
            },
            "--storage": {
                "metavar": "FILE",
                "help": "database of trials, or a URL as SQLAlchemy takes it; "
                        f"DIR/{DATABASE} if not given",
            },
            "--seed": SEED,
        }
    },
    run,
)  # fmt: skip


def _plain(found: Found) -> dict[str, object]:
    low, high = found.family.space
    return {"method": found.family.name, "of": found.family.unit, "low": low, "high": high,
            "trials": [trial._asdict() for trial in found.trials],
            "rate": found.best.rate, "accuracy": found.best.accuracy}  # fmt: skip


def _print(found: list[Found]) -> None:
    table = Table(title="T1: learning rates", title_justify="left")
    for name in ("", "searched", "trials", "best", "val. %", "at first"):
        table.add_column(name, justify="right" if name else "left")
    for one in found:
        name, _, _, space, trials, rate, accuracy, _, first = summary(one)
        table.add_row(name, space, trials, rate, accuracy, first)
    Console().print(table)
