"""What `zo reproduce` and `zo search` share: an experiment, its images, and how long it runs."""

import argparse
import platform
from collections.abc import Iterable, Mapping

import npusim
from npusim.command_line import counting_number, load_model
from npusim.plurals import counted
from npusim.progress_bar import bar

from ..data import load, to_input
from ..features import default_folder
from ..reproduce.bank import Bank, make_bank, split_rows
from ..reproduce.experiment import Plan
from ..reproduce.tables import EXPERIMENTS
from .arguments import DATA, JSON, MODEL, OUTPUT, PIXELS, Options, normalization
from .cells import QUICK_IMAGES, thinned

QUICK = Plan(seeds=2, epochs=4, quick=True)
BATCH = 64


def listed(titles: Mapping[str, str]) -> str:
    """Names and titles for a manual, in the order of their numbers."""
    return "\n" + "\n".join(f"  {name:4} {titles[name]}" for name in by_number(titles)) + "\n"


def by_number(names: Iterable[str]) -> list[str]:
    """Names of experiments, figures before tables."""
    return sorted(names, key=lambda name: (name[0], int(name[1:])))


TITLES = {name: experiment.title for name, experiment in EXPERIMENTS.items()}
NAMES = listed(TITLES)
EXPERIMENT: Options = {
    "name": {"choices": by_number(EXPERIMENTS), "metavar": "NAME", "help": "which, see above"},
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


def bank_of(arguments: argparse.Namespace) -> Bank:
    """The features of the model and images that the options name."""
    graph = load_model(arguments.model, arguments)
    found = normalization(arguments, graph)
    dataset = thinned(load(arguments.data), arguments.quick)
    with bar("pictures") as advance:
        dataset = to_input(dataset, graph, found).held(advance)
    with bar("features") as advance:
        return make_bank(graph, dataset, arguments.augment, default_folder(), advance)


def plan_of(arguments: argparse.Namespace, bank: Bank | None = None) -> Plan:
    """How long the options make the experiment; the steps of an epoch are those on the bank."""
    base = QUICK if arguments.quick else Plan()
    plan = base._replace(epochs=arguments.epochs or base.epochs)
    if bank is None:
        return plan
    head = bank.codes.shape[-1] * len(bank.classes)
    steps = max(1, len(split_rows(bank, 0)[0]) // BATCH)
    return plan._replace(steps=steps, frozen=round(bank.macs / head))


def notes_of(bank: Bank, plan: Plan) -> list[str]:
    """Lines that say what numbers were run on."""
    return [
        f"{bank.source}: {len(bank.labels):,} images of {len(bank.classes)} classes, "
        f"{counted(bank.variants, 'variant')} of each; bank {bank.digest[:12]}.",
        f"{plan.epochs} epochs asked for, each of {plan.steps} steps of {BATCH} images.",
        f"npusim {npusim.__version__}, {platform.machine()}, Python {platform.python_version()}.",
    ]
