"""Progress of long work on standard error, and one line per epoch on standard output."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from ..history import Epoch

Advance = Callable[[int, int], None]
"""Called with the work done and all work."""


@contextmanager
def bar(what: str) -> Iterator[Advance]:
    """A bar on standard error while the work lasts; nothing where that is no terminal."""
    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as p:
        task = p.add_task(what, total=None)

        def advance(done: int, total: int) -> None:
            p.update(task, completed=done, total=total)

        yield advance


def print_epoch(epoch: Epoch) -> None:
    """The state after one epoch, on one line."""
    samples = f"q {epoch.q:4d}" if epoch.q else "      "
    print(
        f"epoch {epoch.epoch:3d}  {samples}  accuracy {epoch.accuracy:.4f}"
        f"  loss {epoch.mean_loss:.4f}  forwards {epoch.cost.forwards:9,}"
        f"  {epoch.seconds:7.1f} s"
    )
    for event in epoch.events:
        print(f"           {event}")
    sys.stdout.flush()
