"""Studies of `zo reproduce`: what they run on, and how their tables look in a terminal."""

import argparse
import json
import platform
import textwrap
from collections.abc import Sequence
from pathlib import Path

from rich import box
from rich.console import Console
from rich.table import Table

import npusim
from npusim.command_line import DONE, load_model
from npusim.export.tools import require_tools, tool_version
from npusim.progress_bar import bar

from ..data import load
from ..reproduce.experiment import Plan
from ..reproduce.store import Store
from ..reproduce.study import Grid, Study, write_study
from ..reproduce.task import Task, digits_task, picture_task
from .arguments import given_inputs, normalization
from .cells import Spread, outcomes, thinned

HEAD_WIDTH = 9
"""Heads of numbers are not wider, but for a longer word."""


def run_study(study: Study, arguments: argparse.Namespace, plan: Plan) -> int:
    """Run what is missing, write the tables and print them.

    raises   ValueError where the model or the images do not fit the study; FileNotFoundError where
             tools are missing
    """
    require_tools(study.name, study.tools)
    folder: Path = arguments.output
    task = _task(study, arguments)
    digest = "" if task is None else task.digest
    store = Store(folder / "runs", digest, study.kind)
    with bar("runs") as advance:
        results = outcomes(study.runs(plan), study.run, task, store, advance,
                           Spread(arguments.workers, arguments.scheduler))  # fmt: skip
    write_study(study, results, folder, [*_notes(task), *map(tool_version, _told(study.tools))])
    if arguments.json:
        print(json.dumps(study.records(results), indent=2))
        return DONE
    print(f"{study.name}: {study.title}\n")
    for grid in study.grids(results):
        Console().print(table_of(grid))
    print(f"written {folder / study.name}.csv, .md, .png")
    return DONE


def table_of(grid: Grid) -> Table:
    """A grid in 80 columns."""
    table = Table(title=grid.title, title_justify="left", box=box.SIMPLE, padding=0)
    for i, head in enumerate(grid.heads):
        words = textwrap.fill(head, HEAD_WIDTH, break_long_words=False) if i else head
        table.add_column(words, justify="right" if i else "left", no_wrap=not i)
    for row in grid.rows:
        table.add_row(*row)
    return table


def _task(study: Study, arguments: argparse.Namespace) -> Task | None:
    given = given_inputs(arguments)
    if study.material == "none":
        if given != "neither":
            raise ValueError(f"{study.name}: needs no --model and no --data, got {given}")
        return None
    if given == "neither":
        return digits_task()
    if arguments.model is None or arguments.data is None:
        raise ValueError(
            f"{study.name}: --model and --data must be given together, or neither for the shipped "
            f"digit reader, got {given}"
        )
    graph = load_model(arguments.model, arguments)
    found = normalization(arguments, graph)
    with bar("pictures") as advance:
        dataset = thinned(load(arguments.data), arguments.quick)
        return picture_task(graph, dataset, found, advance)


def _told(tools: Sequence[str]) -> list[str]:
    """Tools whose version decides numbers."""
    return [tool for tool in tools if tool not in ("make", "gcc")]


def _notes(task: Task | None) -> list[str]:
    about = (
        f"npusim {npusim.__version__}, {platform.machine()}, Python {platform.python_version()}."
    )
    return [about] if task is None else [f"{task.source}; task {task.digest[:12]}.", about]
