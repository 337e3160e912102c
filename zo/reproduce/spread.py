"""Cells spread over processes or machines by Dask; where a cell runs changes no bit of it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

RETRIES = 3
"""How often a cell is started again whose worker died."""


def run_cells(
    cells: Sequence[Any],
    material: Any,
    done: Callable[[Any, Any], None],
    run: Callable[[Any, Any], Any],
    workers: int = 1,
    scheduler: str | None = None,
) -> None:
    """Run every cell; `done` is called with each outcome as soon as it is there.

    material    what they run on, a bank or a task
    run         (cell, material) -> outcome
    workers     processes on this machine, each on one thread; 1: this process, without Dask
    scheduler   address of a Dask scheduler, such as "tcp://10.0.0.1:8786"; its workers need npusim
    raises      ImportError that names the extra when Dask is missing; what a cell raises
    """
    if workers == 1 and scheduler is None:
        for cell in cells:
            done(cell, run(cell, material))
        return
    with _client(workers, scheduler) as (client, as_completed):
        there = client.scatter(material, broadcast=scheduler is None)
        futures = {client.submit(run, cell, there, retries=RETRIES, pure=False): cell
                   for cell in cells}  # fmt: skip
        for future in as_completed(list(futures)):
            done(futures.pop(future), future.result())


@contextmanager
def _client(workers: int, scheduler: str | None) -> Iterator[tuple[Any, Any]]:
    """A connected client, and what yields its futures as they finish."""
    try:
        from dask.distributed import Client, LocalCluster, as_completed
    except ImportError as error:
        raise ImportError(
            'workers: dask must be installed to spread runs, got none; pip install "npusim[sweep]"'
        ) from error
    if scheduler is not None:
        with Client(scheduler) as client:
            yield client, as_completed
        return
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        yield client, as_completed
