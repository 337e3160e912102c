"""Cells of an experiment from disk or run now, and the images that a quick one takes."""

import argparse
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from npusim.progress_bar import bar

from ..data import Dataset
from ..prng import shuffle
from ..reproduce.spread import run_cells
from ..reproduce.store import Store

QUICK_IMAGES = 2000


def results_of(
    cells: Sequence[Any],
    how: tuple[Callable[[Any, Any], Any], type[Any]],
    material: tuple[Any, str],
    arguments: argparse.Namespace,
) -> list[tuple[Any, Any]]:
    """Every cell with its outcome.

    how        what runs a cell on the material, and the class of its outcome
    material   what cells run on, and its digest
    """
    store = Store(arguments.output / "runs", material[1], how[1])
    found = {i: outcome for i, cell in enumerate(cells) if (outcome := store.find(cell))}
    missing = [cell for i, cell in enumerate(cells) if i not in found]
    places = {id(cell): i for i, cell in enumerate(cells)}
    with bar("runs") as advance:
        advance(len(found), len(cells))

        def done(cell: Any, outcome: Any) -> None:
            store.keep(cell, outcome)
            found[places[id(cell)]] = outcome
            advance(len(found), len(cells))

        run_cells(missing, material[0], done, how[0], arguments.workers, arguments.scheduler)
    return [(cell, found[i]) for i, cell in enumerate(cells)]


def thinned(dataset: Dataset, quick: bool) -> Dataset:
    """QUICK_IMAGES of it, drawn, where it is to be quick."""
    if not quick or len(dataset) <= QUICK_IMAGES:
        return dataset
    return dataset.take(np.sort(shuffle(0, 0, len(dataset))[:QUICK_IMAGES]))
