"""Experiments: a question, the cells that answer it, and the numbers that come out."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import NamedTuple

import numpy as np

from ..history import Epoch
from .cell import Cell, Outcome

Results = Sequence[tuple[Cell, Outcome]]
CONFIDENCE = 0.95


class Plan(NamedTuple):
    """How large an experiment is.

    seeds    of each row, 0, 1, ..
    epochs   of a run, at most
    steps    of an epoch
    quick    whether a study leaves out what takes long
    frozen   what lies before the head takes as long as so many forwards of the head
    labels   numbers of labelled images that a study tries; () for its own
    ways     that a study compares; () for all of its own
    """

    seeds: int = 5
    epochs: int = 60
    steps: int = 295
    quick: bool = False
    frozen: int = 0
    labels: tuple[int, ...] = ()
    ways: tuple[str, ...] = ()


class Limit(NamedTuple):
    """Where every history is cut.

    cost       in forwards of a batch through the head
    per_step   what a step costs besides its forwards
    """

    cost: int
    per_step: int = 0

    def holds(self, epoch: Epoch, steps: int) -> bool:
        """Whether an epoch of so many steps ends within it."""
        return epoch.cost.forwards + epoch.epoch * steps * self.per_step <= self.cost


class Experiment(NamedTuple):
    """One table or figure.

    name        as it is asked for, such as "T4"
    title       what it compares
    question    that it answers
    cells       its cells of seed 0; labels name its rows
    paper       label -> accuracy in per cent that the paper gives
    baseline    label of the row that others are compared with, seed by seed
    differs     how it deviates from the paper
    limit       where every history is cut, None for whole runs
    spread      whether the table says how far its rows lie apart
    separate    whether each row has a learning rate of its own where rates are searched
    pairs       label -> label of the row that this one is compared with, not the baseline
    """

    name: str
    title: str
    question: str
    cells: Callable[[Plan], Sequence[Cell]]
    paper: Mapping[str, float] = {}
    baseline: str | None = None
    differs: Sequence[str] = ()
    limit: Callable[[Plan], Limit] | None = None
    spread: bool = False
    separate: bool = False
    pairs: Mapping[str, str] = {}

    def runs(self, plan: Plan) -> list[Cell]:
        """Every cell, seed by seed, so that an interrupted experiment has whole seeds first."""
        rows = self.cells(plan)
        return [replace(cell, seed=seed) for seed in range(plan.seeds) for cell in rows]

    def only(self, patterns: Sequence[str]) -> "Experiment":
        """The rows whose labels match one of the patterns of a shell.

        raises   ValueError for a pattern that matches none, at the first use of cells
        """

        def cells(plan: Plan) -> list[Cell]:
            rows = self.cells(plan)
            for pattern in patterns:
                if not any(fnmatchcase(cell.label, pattern) for cell in rows):
                    raise ValueError(
                        f"row: must match one of {'; '.join(cell.label for cell in rows)}, "
                        f"got {pattern!r}"
                    )
            return [cell for cell in rows if any(fnmatchcase(cell.label, p) for p in patterns)]

        return self._replace(cells=cells)


class Row(NamedTuple):
    """One row: means over seeds; accuracies in per cent.

    label        of its cells
    seeds        how many
    final        mean validation accuracy of the last ten epochs, and
    deviation    its standard deviation over seeds
    test         accuracy on images that nothing was chosen by, with the last weights; None where
                 histories are cut before them
    forwards     of a batch
    macs         multiply-accumulates
    seconds      of a run
    last_q       of the last epoch, the mean
    paper        what the paper gives, None where it gives nothing
    against      final minus that of another row: (mean, half of the 95 % interval), None without
    other        label of that row, "" without
    """

    label: str
    seeds: int
    final: float
    deviation: float
    test: float | None
    forwards: float
    macs: float
    seconds: float
    last_q: float
    paper: float | None
    against: tuple[float, float] | None
    other: str = ""


def rows_of(experiment: Experiment, plan: Plan, results: Results) -> list[Row]:
    """The table, in the order of the experiment's cells."""
    limit = None if experiment.limit is None else experiment.limit(plan)
    groups: dict[str, dict[int, Outcome]] = {}
    for cell, outcome in results:
        groups.setdefault(cell.label, {})[cell.seed] = _until(outcome, limit, plan.steps)
    rows = []
    for label, found in groups.items():
        other = experiment.pairs.get(label, experiment.baseline or "")
        row = _row(label, found, experiment.paper.get(label))
        if other != label and other in groups:
            row = row._replace(against=_against(found, groups[other]), other=other)
        rows.append(row)
    return rows


def _against(
    found: Mapping[int, Outcome], others: Mapping[int, Outcome]
) -> tuple[float, float] | None:
    differences = [100 * (found[s].final - others[s].final) for s in found if s in others]
    return interval(differences) if differences else None


def _until(outcome: Outcome, limit: Limit | None, steps: int) -> Outcome:
    """The outcome as it stood at the limit; its test is then unknown."""
    if limit is None:
        return outcome
    kept = [epoch for epoch in outcome.history if limit.holds(epoch, steps)]
    return replace(outcome, history=tuple(kept), test=None)


def _row(label: str, found: Mapping[int, Outcome], paper: float | None) -> Row:
    outcomes = list(found.values())
    finals = [100 * outcome.final for outcome in outcomes]
    last = [outcome.history[-1] for outcome in outcomes]
    return Row(
        label,
        len(outcomes),
        _mean(finals),
        float(np.std(finals, ddof=1)) if len(finals) > 1 else 0.0,
        _mean_of([outcome.test_accuracy for outcome in outcomes]),
        _mean(epoch.cost.forwards for epoch in last),
        _mean(epoch.cost.macs for epoch in last),
        _mean(outcome.seconds for outcome in outcomes),
        _mean(epoch.q for epoch in last),
        paper,
        None,
    )


def interval(differences: Sequence[float]) -> tuple[float, float]:
    """Mean of paired differences and half of its 95 % interval, by Student's t.

    The half is infinite for a single pair.
    """
    count = len(differences)
    if count < 2:
        return _mean(differences), float("inf")
    from scipy import stats

    error = float(np.std(differences, ddof=1)) / count**0.5
    return _mean(differences), float(stats.t.ppf((1 + CONFIDENCE) / 2, count - 1)) * error


def spread_over(mean: float, half: float, seeds: int, form: str, sign: str = " ± ") -> str:
    """ "81.2 ± 0.4"; "81.2" of a single seed, which tells of no spread.

    half   a deviation over so many seeds, or half of an interval
    form   of both numbers, such as "+.1f"; only the mean shows a sign
    """
    return format(mean, form) + (sign + format(half, form.lstrip("+")) if seeds > 1 else "")


def _mean_of(accuracies: Sequence[float | None]) -> float | None:
    """In per cent; None where one is unknown."""
    known = [100 * accuracy for accuracy in accuracies if accuracy is not None]
    return _mean(known) if len(known) == len(accuracies) else None


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
