"""What a search found, as table T1, as a file of rates, and back."""

import csv
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ..atomic import replace_bytes
from .search import Found, Search

COLUMNS = ("method", "of", "low", "high", "trial", "rate", "accuracy")
RATES_FILE = "rates.json"


def write_rates(search: Search, found: Sequence[Found], folder: Path, notes: Sequence[str]) -> None:
    """Write T1.csv, T1.md and rates.json, each whole or not at all.

    notes   lines below the table: what it was run on
    """
    folder.mkdir(parents=True, exist_ok=True)
    rates = {one.family.name: one.best.rate for one in found}
    file = {"experiment": search.experiment.name, "trials": search.trials, "seed": search.seed,
            "notes": list(notes), "rates": rates}  # fmt: skip
    texts = {
        "T1.csv": _csv(found),
        "T1.md": "\n".join(_markdown(search, found, notes)) + "\n",
        RATES_FILE: json.dumps(file, indent=2) + "\n",
    }
    for name, text in texts.items():
        replace_bytes(folder / name, text.encode())


def read_rates(path: Path, experiment: str) -> Mapping[str, float]:
    """Rates of an experiment's methods, by name.

    raises   OSError; ValueError when the file is damaged or of another experiment
    """
    try:
        plain = json.loads(path.read_text("utf-8"))
    except ValueError as error:
        raise ValueError(f"{path}: must be a {RATES_FILE} of zo search, got {error}") from error
    try:
        name, rates = plain["experiment"], dict(plain["rates"])
    except (ValueError, LookupError, TypeError) as error:
        raise ValueError(
            f"{path}: must be a {RATES_FILE} of zo search, got no experiment or no rates"
        ) from error
    if name != experiment:
        raise ValueError(f"{path}: must be rates of {experiment}, got those of {name}")
    for method, rate in rates.items():
        number = isinstance(rate, int | float) and not isinstance(rate, bool)
        if not (number and math.isfinite(rate) and rate > 0):
            raise ValueError(f"{path}: rate of {method} must be a number above 0, got {rate!r}")
    return rates


def _csv(found: Sequence[Found]) -> str:
    """A line per trial."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for family, trials in found:
        low, high = (f"{bound:.6g}" for bound in family.space)
        for number, trial in enumerate(trials):
            writer.writerow((family.name, family.unit, low, high, number, repr(trial.rate),
                             f"{trial.accuracy:.6f}"))  # fmt: skip
    return text.getvalue()


def _markdown(search: Search, found: Sequence[Found], notes: Sequence[str]) -> Iterator[str]:
    yield f"# T1: Learning rates of {search.experiment.name}, {search.experiment.title}"
    yield ""
    yield "| method | rows | rate of | searched | trials | best | validation | first | validation |"
    yield "| --- | ---: | --- | --- | ---: | ---: | ---: | ---: | ---: |"
    for one in found:
        yield f"| {' | '.join(summary(one))} |"
    yield ""
    yield (
        "Step over the mean of ||x||^2, log-uniform: the first ten trials at random, later ones by "
        "a tree-structured Parzen estimator; "
        "validation accuracy in per cent, the mean over a method's rows. The last two columns are "
        "the first trial, which is the rate without a search, where a method has one rate so."
    )
    yield (
        f"* Seed {search.seed} draws the split and the trials. Test images, the same for every "
        "seed, judged none."
    )
    yield from (f"* {note}" for note in notes)


def summary(found: Found) -> list[str]:
    """A method's line: its space, its best trial, its first."""
    family, trials = found
    low, high = family.space
    first = ["", ""] if family.own is None else _shown(*trials[0])
    return [family.name, str(len(family.cells)), family.unit, f"{low:.2g} to {high:.2g}",
            str(len(trials)), *_shown(*found.best), *first]  # fmt: skip


def _shown(rate: float, accuracy: float) -> list[str]:
    return [f"{rate:.3g}", f"{100 * accuracy:.1f}"]
