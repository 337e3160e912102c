"""A bar on standard error while long work lasts."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich import progress
from rich.console import Console

from .progress import Progress


@contextmanager
def bar(what: str) -> Iterator[Progress]:
    """A function that moves the bar, (done, total); nothing is shown where there is no terminal."""
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
