"""A bar on standard error while long work lasts; a line a minute where there is no terminal."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich import progress
from rich.console import Console

from .progress import Progress

A_MINUTE = 60.0


@contextmanager
def bar(what: str) -> Iterator[Progress]:
    """A function that shows how far the work is, (done, total).

    In a terminal it moves a bar, which vanishes at the end; in a log or pipe work that lasts writes
    a line a minute, and shorter work none.
    """
    console = Console(stderr=True)
    if not console.is_terminal:
        yield _lines(what)
        return
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=console, transient=True) as shown:
        task = shown.add_task(what, total=None)

        def advance(done: int, total: int) -> None:
            shown.update(task, completed=done, total=total)

        yield advance


def _lines(what: str) -> Progress:
    told = time.monotonic()

    def advance(done: int, total: int) -> None:
        nonlocal told
        if time.monotonic() - told >= A_MINUTE:
            told = time.monotonic()
            print(f"{what}: {done:,} of {total:,}", file=sys.stderr, flush=True)

    return advance
