"""Progress of long work on standard error, and one line per epoch on standard output."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich import progress
from rich.console import Console

from ..data import Progress
from ..history import Epoch


@contextmanager
def bar(what: str) -> Iterator[Progress]:
    """A bar on standard error while the work lasts; nothing where that is no terminal."""
    console = Console(stderr=True)
    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    hidden = not console.is_terminal
    with progress.Progress(*columns, console=console, transient=True, disable=hidden) as shown:
        task = shown.add_task(what, total=None)

        def advance(done: int, total: int) -> None:
            shown.update(task, completed=done, total=total)

        yield advance


@contextmanager
def timed(seconds: dict[str, float], phase: str) -> Iterator[None]:
    """Adds what the work inside takes to the phase's seconds."""
    start = time.perf_counter()
    try:
        yield
    finally:
        seconds[phase] = seconds.get(phase, 0.0) + time.perf_counter() - start


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
