"""`zo demo`: the table, the CSV files and the picture of the story in `zo.demo`."""

import argparse
import csv
import json
import re
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from npusim.command_line import DONE, counting_number
from npusim.progress_bar import bar

from ..demo import METHODS, NOTHING, SHIFTS, STATISTICS, Row, demo
from ..history import write_csv
from ..plots import Panel, figures, save_panels
from .arguments import JSON, OUTPUT, SEED, THREADS, Command

MANUAL = """\
A digit reader on a chip meets images that are moved by a pixel, inverted, or of
low contrast. What brings its accuracy back? Seven answers, one table, and
pictures of how each got there. Everything needed ships with the package.

It takes a minute or two on two free cores, and more where they are busy. Most
of it is the last row, which trains the first layer; --epochs 10 is a quarter of
that.
"""

HEADERS = ("method", "trained", "before", "after", "forwards", "seconds")
INTRODUCTION = """\
A digit reader of 15 thousand int8 weights runs on a chip that only computes
forward passes. Its images change. What brings the accuracy back?
"""
ENDING = """\
before and after are accuracies on test images, forwards are of a batch of 64.

Channel statistics need no labels. The exact head needs its features read out;
where a fused network shows only its outputs, zeroth order (ZO) trains the head
by forward passes alone.
"""


def run(arguments: argparse.Namespace) -> int:
    """`zo demo`"""
    figures()  # a missing matplotlib shows now, not after the training
    folder: Path = arguments.output
    folder.mkdir(parents=True, exist_ok=True)
    rows: list[Row] = []
    total = len(SHIFTS) * len(METHODS)
    with bar("demo") as advance:
        advance(0, total)
        for row in demo(arguments.epochs, arguments.seed, arguments.threads):
            rows.append(row)
            advance(len(rows), total)
    _write(rows, folder)
    if arguments.json:
        plain = [{k: v for k, v in row._asdict().items() if k != "history"} for row in rows]
        print(json.dumps(plain, indent=2))
    else:
        _print(rows, folder)
    return DONE


COMMAND = Command(
    "demo",
    "what brings accuracy back on a chip that only runs forward",
    MANUAL,
    "",
    "not used",
    {
        "": {
            "--output": {**OUTPUT, "required": False, "default": Path("zo-demo")},
            "--epochs": {
                "type": counting_number, "default": 40, "metavar": "N",
                "help": "passes over the 1,078 training digits; 40",
            },
            "--seed": SEED,
            "--threads": THREADS,
            "--json": JSON,
        }
    },
    run,
)  # fmt: skip


def _write(rows: Sequence[Row], folder: Path) -> None:
    """demo.csv, demo.png, and the history of every run under curves/."""
    with (folder / "demo.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("shift", *HEADERS))
        for row in rows:
            writer.writerow((row.shift, row.method, row.trained, f"{row.before:.6f}",
                             f"{row.after:.6f}", row.forwards, f"{row.seconds:.3f}"))  # fmt: skip
    curves = folder / "curves"
    curves.mkdir(exist_ok=True)
    for row in rows:
        if row.history:
            write_csv(row.history, curves / f"{_slug(f'{row.shift} {row.method}')}.csv")
    save_panels([_panel(shift, rows) for shift in SHIFTS], folder / "demo.png")


def _slug(text: str) -> str:
    """Lower case, with a dash for every run of what is no letter or digit."""
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _panel(shift: str, rows: Sequence[Row]) -> Panel:
    mine = [row for row in rows if row.shift == shift]
    levels = {
        f"{row.method} (test images)": row.after
        for row in mine
        if row.method in (NOTHING, STATISTICS)
    }
    return Panel(shift, {row.method: row.history for row in mine if row.history}, levels)


def _print(rows: Sequence[Row], folder: Path) -> None:
    console = Console()
    console.print(INTRODUCTION)
    for shift in SHIFTS:
        table = Table(title=shift, title_justify="left", box=None, pad_edge=False)
        for header in HEADERS:
            table.add_column(header, justify="left" if header == "method" else "right")
        for row in rows:
            if row.shift == shift:
                table.add_row(row.method, f"{row.trained:,}", f"{100 * row.before:.1f} %",
                              f"{100 * row.after:.1f} %", f"{row.forwards:,}",
                              f"{row.seconds:.1f}")  # fmt: skip
        console.print(table)
        console.print()
    console.print(ENDING)
    console.print(f"written {folder / 'demo.csv'}, demo.png, curves/")
