"""What `zo reproduce` and `zo search` share: an experiment, its images, and how long it runs."""

import argparse
import platform
from collections.abc import Callable, Sequence

import numpy as np

import npusim
from npusim.command_line import counting_number, load_model
from npusim.progress_bar import bar

from ..data import Dataset, load, to_input
from ..features import default_folder
from ..prng import shuffle
from ..reproduce.bank import Bank, make_bank, split_rows
from ..reproduce.cell import Cell, Outcome
from ..reproduce.experiment import Plan
from ..reproduce.spread import run_cells
from ..reproduce.store import Store
from ..reproduce.tables import EXPERIMENTS
from .arguments import DATA, JSON, MODEL, OUTPUT, PIXELS, Options, normalization

QUICK = Plan(seeds=2, epochs=4)
QUICK_IMAGES = 2000
BATCH = 64
NAMES = "\n" + "\n".join(f"  {e.name:4} {e.title}" for e in EXPERIMENTS.values()) + "\n"
EXPERIMENT: Options = {
    "name": {"choices": sorted(EXPERIMENTS), "metavar": "NAME", "help": "which, see above"},
    "--model": {**MODEL, "required": True},
    "--data": DATA,
    "--output": OUTPUT,
    "--epochs": {"type": counting_number, "metavar": "N", "help": "of a run; 60"},
    "--augment": {
        "type": counting_number, "default": 4, "metavar": "N",
        "help": "flipped and cropped variants of each image; 4",
    },
    "--quick": {
        "action": "store_true",
        "help": f"{QUICK_IMAGES:,} images, {QUICK.seeds} seeds, {QUICK.epochs} epochs",
    },
    **PIXELS,
    "--json": JSON,
}  # fmt: skip

Advance = Callable[[int, int], None]


def bank_of(arguments: argparse.Namespace) -> Bank:
    """The features of the model and images that the options name."""
    graph = load_model(arguments.model, arguments)
    found = normalization(arguments, graph)
    dataset = _images(load(arguments.data), arguments.quick)
    with bar("pictures") as advance:
        dataset = to_input(dataset, graph, found).held(advance)
    with bar("features") as advance:
        return make_bank(graph, dataset, arguments.augment, default_folder(), advance)


def _images(dataset: Dataset, quick: bool) -> Dataset:
    if not quick or len(dataset) <= QUICK_IMAGES:
        return dataset
    return dataset.take(np.sort(shuffle(0, 0, len(dataset))[:QUICK_IMAGES]))


def plan_of(arguments: argparse.Namespace, bank: Bank) -> Plan:
    """How long the options make the experiment."""
    base = QUICK if arguments.quick else Plan()
    steps = max(1, len(split_rows(bank, 0)[0]) // BATCH)
    return base._replace(epochs=arguments.epochs or base.epochs, steps=steps)


def outcomes(
    cells: Sequence[Cell],
    bank: Bank,
    store: Store,
    advance: Advance,
    workers: int = 1,
    scheduler: str | None = None,
) -> list[tuple[Cell, Outcome]]:
    """The outcome of every cell, from disk or run now; `advance` is told how many are there."""
    found = {i: outcome for i, cell in enumerate(cells) if (outcome := store.find(cell))}
    missing = [cell for i, cell in enumerate(cells) if i not in found]
    places = {id(cell): i for i, cell in enumerate(cells)}
    advance(len(found), len(cells))

    def done(cell: Cell, outcome: Outcome) -> None:
        store.keep(cell, outcome)
        found[places[id(cell)]] = outcome
        advance(len(found), len(cells))

    run_cells(missing, bank, done, workers, scheduler)
    return [(cell, found[i]) for i, cell in enumerate(cells)]


def notes_of(bank: Bank, plan: Plan) -> list[str]:
    """Lines that say what numbers were run on."""
    return [
        f"{bank.source}: {len(bank.labels):,} images of {len(bank.classes)} classes, "
        f"{bank.variants} variants of each; bank {bank.digest[:12]}.",
        f"At most {plan.epochs} epochs of {plan.steps} steps of {BATCH} images.",
        f"npusim {npusim.__version__}, {platform.machine()}, Python {platform.python_version()}.",
    ]
