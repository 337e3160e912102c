"""Studies: experiments whose runs are no training curves, each with tables of its own."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ..atomic import replace_bytes
from .experiment import Plan

Record = Mapping[str, Any]


class Grid(NamedTuple):
    """A table as it is read: its title, heads, and rows of as many words."""

    title: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]


class Study(NamedTuple):
    """One table.

    name       as it is asked for, such as "T11"
    title      what it compares
    question   that it answers
    runs       (plan, material) -> its cells; each has a key, as `Cell` has
    run        (cell, material) -> outcome
    kind       class of the outcomes, with to_plain and from_plain
    grids      results -> tables
    records    results -> a line of the CSV for each
    picture    results -> PNG
    notes      how to read it
    tools      programs besides Python that its runs need, of npusim.export.tools.M55_TOOLS
    material   "task" where cells run on a network and images, "none" where they need nothing
    said       (plan, material) -> lines on what these very runs leave out
    """

    name: str
    title: str
    question: str
    runs: Callable[[Plan, Any], Sequence[Any]]
    run: Callable[[Any, Any], Any]
    kind: type[Any]
    grids: Callable[[Sequence[tuple[Any, Any]]], Sequence[Grid]]
    records: Callable[[Sequence[tuple[Any, Any]]], Sequence[Record]]
    picture: Callable[[Sequence[tuple[Any, Any]]], bytes]
    notes: Sequence[str] = ()
    tools: Sequence[str] = ()
    material: str = "task"
    said: Callable[[Plan, Any], Sequence[str]] = lambda plan, material: ()


def write_study(
    study: Study, results: Sequence[tuple[Any, Any]], folder: Path, notes: Sequence[str]
) -> None:
    """Write NAME.csv, NAME.md and NAME.png, each whole or not at all.

    notes   lines below the tables: what it was run on
    """
    folder.mkdir(parents=True, exist_ok=True)
    text = "\n".join(_markdown(study, results, notes)) + "\n"
    files = {"csv": _csv(study.records(results)).encode(), "md": text.encode(),
             "png": study.picture(results)}  # fmt: skip
    for suffix, data in files.items():
        replace_bytes(folder / f"{study.name}.{suffix}", data)


def _csv(records: Sequence[Record]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return text.getvalue()


def _markdown(
    study: Study, results: Sequence[tuple[Any, Any]], notes: Sequence[str]
) -> Iterator[str]:
    yield from (f"# {study.name}: {study.title}", "", study.question, "")
    for grid in study.grids(results):
        yield from (f"## {grid.title}", "", f"| {' | '.join(grid.heads)} |")
        yield "| --- " + "| ---: " * (len(grid.heads) - 1) + "|"
        yield from (f"| {' | '.join(row)} |" for row in grid.rows)
        yield ""
    yield from (f"* {line}" for line in (*notes, *study.notes))
