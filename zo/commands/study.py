"""Studies of `zo reproduce`: what they run on, and how their tables look in a terminal."""

import argparse
import json
import platform
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
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
from ..reproduce.small import small_task
from ..reproduce.store import Store
from ..reproduce.study import Grid, Study, write_study
from ..reproduce.task import Task, digits_task, picture_task
from .arguments import given_inputs, normalization
from .cells import Spread, outcomes, thinned

SCREEN = 80
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
    cells = study.runs(plan, task)
    digest = "" if task is None else task.digest
    store = Store(folder / "runs", digest, study.kind)
    with bar("runs") as advance:
        results = outcomes(cells, study.run, task, store, advance,
                           Spread(arguments.workers, arguments.scheduler))  # fmt: skip
    notes = [*_notes(task), *study.said(plan, task), *map(tool_version, _told(study.tools))]
    write_study(study, results, folder, notes)
    if arguments.json:
        print(json.dumps(study.records(results), indent=2))
        return DONE
    print(f"{study.name}: {study.title}\n")
    for grid in study.grids(results):
        for piece in pieces(grid):
            Console().print(table_of(piece))
    print(f"written {folder / study.name}.csv, .md, .png")
    return DONE


def pieces(grid: Grid) -> Iterator[Grid]:
    """The grid in as many as 80 columns ask for, each with its first column."""
    widths = [max(map(len, (*_heads(grid.heads[i]), *(row[i] for row in grid.rows))))
              for i in range(len(grid.heads))]  # fmt: skip
    start = 1
    while start < len(widths):
        end, left = start + 1, SCREEN - 2 - widths[0] - 1 - widths[start]
        while end < len(widths) and widths[end] < left:
            left -= widths[end] + 1
            end += 1
        chosen = (0, *range(start, end))
        yield Grid(grid.title if start == 1 else "", [grid.heads[i] for i in chosen],
                   [[row[i] for i in chosen] for row in grid.rows])  # fmt: skip
        start = end


def _heads(head: str) -> list[str]:
    """The lines of a head of numbers."""
    return textwrap.wrap(head, HEAD_WIDTH, break_long_words=False) or [""]


def table_of(grid: Grid) -> Table:
    """A grid that fits into 80 columns."""
    table = Table(title=grid.title, title_justify="left", box=box.SIMPLE, padding=0)
    for i, head in enumerate(grid.heads):
        words = "\n".join(_heads(head)) if i else head
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
    task = _task_of(study, arguments, given)
    return task if arguments.test is None else replace(task, most=arguments.test)


def _task_of(study: Study, arguments: argparse.Namespace, given: str) -> Task:
    if arguments.network is not None:
        if given != "--data":
            raise ValueError(f"{study.name}: --network must go with --data alone, got {given}")
        with bar("pictures") as pictures, bar("epochs") as epochs:
            dataset = thinned(load(arguments.data), arguments.quick)
            return small_task(dataset, arguments.output, pictures, epochs)
    if given == "neither":
        return digits_task()
    if arguments.model is None or arguments.data is None:
        raise ValueError(
            f"{study.name}: --model and --data must be given together, or neither for the shipped "
            f"digit reader, got {given}; a network to train on --data is --network small"
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
