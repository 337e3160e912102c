"""`zo reproduce`: a table or figure of the method's comparison, from model and images."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from npusim.command_line import DONE, counting_number
from npusim.progress_bar import bar

from ..plots import figures
from ..reproduce.cell import Outcome
from ..reproduce.execute import run_cell
from ..reproduce.experiment import Experiment, Plan, Row, spread_over
from ..reproduce.families import tuned
from ..reproduce.rates import read_rates
from ..reproduce.store import Store
from ..reproduce.tables import EXPERIMENTS, STUDIES
from ..reproduce.write import write
from .arguments import DATA, MODEL, Command, given_inputs
from .cells import Spread, outcomes
from .experiment_options import EXPERIMENT, TITLES, bank_of, by_number, listed, notes_of, plan_of
from .study import run_study

MANUAL = """\
Compare ways to train a classifier without gradients, as the tables of
QScheduler (arXiv 2607.18802) do, and some that they leave out. The frozen part
of the model runs once for every image; its features are kept on disk. Then each
row is trained for every seed, which decides what trains and what validates, the
first weights and all signs; a fifth of the images is the test of all.

Finished runs are kept in DIR/runs: a second call goes on where the first one
stopped, on any number of workers, to the same numbers.

T7, T11 and T14 take the shipped digit reader where no model is given, and put a
new head on one that is; with --network small they first train a network of
their own on the images. T12 needs neither model nor images. T7 counts in QEMU:
it needs make, gcc, arm-none-eabi-gcc and qemu-system-arm.
"""

OWNERS: Mapping[str, Sequence[str]] = {
    "network": ("T7", "T11", "T14"),
    "test": ("T11", "T14"),
    "labels": ("T11",),
    "ways": ("T11",),
}
"""Studies by the options that no other takes."""
ALL_TITLES = {**TITLES, **{name: study.title for name, study in STUDIES.items()}}


def run(arguments: argparse.Namespace) -> int:
    """`zo reproduce`"""
    figures()  # a missing matplotlib shows now, not after the runs
    _refuse(arguments)
    if arguments.name in STUDIES:
        return _study(arguments)
    return _experiment(EXPERIMENTS[arguments.name], arguments)


def _study(arguments: argparse.Namespace) -> int:
    for name in ("rates", "row"):
        if getattr(arguments, name):
            raise ValueError(
                f"--{name}: must go with an experiment on a bank, got {arguments.name}"
            )
    plan = plan_of(arguments)
    plan = plan._replace(seeds=arguments.seeds or plan.seeds, labels=arguments.labels or (),
                         ways=arguments.ways or ())  # fmt: skip
    return run_study(STUDIES[arguments.name], arguments, plan)


def _refuse(arguments: argparse.Namespace) -> None:
    """ValueError for an option that only other studies take."""
    for option, owners in OWNERS.items():
        if getattr(arguments, option) is not None and arguments.name not in owners:
            *others, last = owners
            names = f"{', '.join(others)} or {last}" if others else last
            raise ValueError(f"--{option}: must go with {names}, got {arguments.name}")


def _experiment(experiment: Experiment, arguments: argparse.Namespace) -> int:
    if arguments.model is None or arguments.data is None:
        raise ValueError(
            f"{experiment.name}: --model and --data must be given, got {given_inputs(arguments)}"
        )
    folder: Path = arguments.output
    notes: list[str] = []
    if arguments.rates is not None:
        experiment, notes = _with_rates(experiment, arguments.rates)
    if arguments.row:
        experiment = experiment.only(arguments.row)
    experiment.cells(Plan())  # what fits no row shows now, not after the features
    bank = bank_of(arguments)
    plan = plan_of(arguments, bank)
    plan = plan._replace(seeds=arguments.seeds or plan.seeds)
    store = Store(folder / "runs", bank.digest, Outcome)
    with bar("runs") as advance:
        results = outcomes(experiment.runs(plan), run_cell, bank, store, advance,
                           Spread(arguments.workers, arguments.scheduler))  # fmt: skip
    rows = write(experiment, plan, results, folder, [*notes_of(bank, plan), *notes])
    if arguments.json:
        print(json.dumps([row._asdict() for row in rows], indent=2))
    else:
        _print(experiment, rows, folder)
    return DONE


def _with_rates(experiment: Experiment, path: Path) -> tuple[Experiment, list[str]]:
    """The experiment with the rates of a file, and a note of them."""
    rates = read_rates(path, experiment.name)
    told = ", ".join(f"{method} {rate:.3g}" for method, rate in rates.items())
    return tuned(experiment, rates), [f"Rates of `zo search`, {path.name}: {told}."]


def _numbers(text: str) -> tuple[int, ...]:
    """Counts separated by commas."""
    return tuple(map(counting_number, text.split(",")))


def _names(text: str) -> tuple[str, ...]:
    """Names separated by commas."""
    return tuple(name.strip() for name in text.split(","))


COMMAND = Command(
    "reproduce",
    "a table of the method's comparison, from model and images",
    MANUAL + listed(ALL_TITLES),
    """\
examples:
  npusim quantize mobilenet_v2.npz --data EuroSAT_RGB.zip --input-size 64 \\
                  --output m64.h5
  zo reproduce T4 --model m64.h5 --data EuroSAT_RGB.zip --workers 2 --output T4/
  zo search T9 --model m64.h5 --data EuroSAT_RGB.zip --output T1/
  zo reproduce T9 --model m64.h5 --data EuroSAT_RGB.zip --rates T1/rates.json \\
                  --output T9/
  zo reproduce T11 --network small --data EuroSAT_RGB.zip --output T11/

""",
    "not used",
    {
        "": {
            **EXPERIMENT,
            "name": {
                "choices": by_number(ALL_TITLES), "metavar": "NAME", "help": "which, see above",
            },
            "--model": {**MODEL, "required": False},
            "--data": {**DATA, "required": False},
            "--seeds": {"type": counting_number, "metavar": "N", "help": "runs of each row; 5"},
            "--row": {
                "action": "append", "metavar": "LABEL",
                "help": "only rows with this label, such as 'exact head' or 'ours, *'; repeatable",
            },
            "--rates": {
                "type": Path, "metavar": "FILE", "help": "rates.json of zo search; else zo's own",
            },
            "--network": {
                "choices": ("small",), "metavar": "small",
                "help": "of T7, T11 and T14: four convolutions at 32x32, trained on 70 %% of "
                "the images",
            },
            "--labels": {
                "type": _numbers, "metavar": "N,N", "help": "of T11: labelled images; 20,100,500",
            },
            "--ways": {
                "type": _names, "metavar": "WAY,WAY",
                "help": "of T11: only these; all that the model allows",
            },
            "--test": {
                "type": counting_number, "metavar": "N",
                "help": "of T11 and T14: test images, at most; all",
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
    paper = any(row.paper is not None for row in rows)
    for name in ("", "validation %", "test %", "forwards", *["paper %"] * paper):
        table.add_column(name, justify="right" if name else "left")
    for row in rows:
        test, known = ("" if value is None else f"{value:.1f}" for value in (row.test, row.paper))
        table.add_row(row.label, spread_over(row.final, row.deviation, row.seeds, ".1f"), test,
                      f"{row.forwards:,.0f}", *[known] * paper)  # fmt: skip
    Console().print(table)
    print(f"written {folder / experiment.name}.csv, .md, .png")
