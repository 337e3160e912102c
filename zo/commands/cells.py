"""Cells of an experiment from disk or run now, and the images that a quick one takes."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..data import Dataset, Progress
from ..prng import shuffle
from ..reproduce.spread import run_cells
from ..reproduce.store import Store

QUICK_IMAGES = 2000


class Spread(NamedTuple):
    """Where cells run, see `run_cells`."""

    workers: int = 1
    scheduler: str | None = None


HERE = Spread()


def outcomes(
    cells: Sequence[Any],
    run: Callable[[Any, Any], Any],
    material: Any,
    store: Store[Any],
    advance: Progress,
    spread: Spread = HERE,
) -> list[tuple[Any, Any]]:
    """The outcome of every cell, from disk or run now.

    run        (cell, material) -> outcome
    store      of outcomes on this material
    advance    told how many are there
    """
    found = {i: outcome for i, cell in enumerate(cells) if (outcome := store.find(cell))}
    missing = [cell for i, cell in enumerate(cells) if i not in found]
    places = {id(cell): i for i, cell in enumerate(cells)}
    advance(len(found), len(cells))

    def done(cell: Any, outcome: Any) -> None:
        store.keep(cell, outcome)
        found[places[id(cell)]] = outcome
        advance(len(found), len(cells))

    run_cells(missing, material, done, run, *spread)
    return [(cell, found[i]) for i, cell in enumerate(cells)]


def thinned(dataset: Dataset, quick: bool) -> Dataset:
    """QUICK_IMAGES of it, drawn, where it is to be quick."""
    if not quick or len(dataset) <= QUICK_IMAGES:
        return dataset
    return dataset.take(np.sort(shuffle(0, 0, len(dataset))[:QUICK_IMAGES]))
