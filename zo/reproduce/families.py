"""Methods of an experiment: rows that share a learning rate, and what it means to each of them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

from ..default_rates import EXACT_HEAD_RATE, HEAD_RATE
from .cell import Cell, schedule_of
from .experiment import Experiment, Plan

REACH = 32.0
"""A search goes so many times below and above the rate that a table has without one."""
SIGN_SPACE = (1e-6, 1e-2)
"""Signs of loss differences, in place of the differences, want rates of another size."""
OWN_FIELDS = ("method", "numbers", "profile", "headroom", "delta", "batch", "augment")
"""Fields of a cell that make another method; its schedule, samples and length do not."""


ALL_ROWS = "all rows"
"""Name of the only method of an experiment."""


@dataclass(frozen=True)
class Family:
    """Rows that differ in how q is chosen and in nothing that a rate depends on.

    name        what their labels have in common
    cells       the rows
    per_sample  the rate is of one sample, and a row's is q times that, at its schedule's first q;
                else every row has the rate itself, as where rates do not follow q
    own         the rate of a table without a search, None where each row finds its own
    """

    name: str
    cells: tuple[Cell, ...]
    per_sample: bool
    own: float | None

    @property
    def space(self) -> tuple[float, float]:
        """Least and greatest rate of a search, dimensionless: step over the mean of ||x||^2."""
        return SIGN_SPACE if self.own is None else (self.own / REACH, self.own * REACH)

    @property
    def unit(self) -> str:
        """What a rate is of, in words."""
        return "a sample" if self.per_sample else "any q"

    def at(self, rate: float) -> tuple[Cell, ...]:
        """The rows with this rate."""
        return tuple(self._with_rate(cell, rate) for cell in self.cells)

    def _with_rate(self, cell: Cell, rate: float) -> Cell:
        return replace(cell, rate=rate * schedule_of(cell).q if self.per_sample else rate)


def methods(experiment: Experiment, plan: Plan) -> list[Family]:
    """The experiment's methods, each row one where it says so."""
    cells = experiment.cells(plan)
    if experiment.separate:
        return [_family(cell.label, [cell]) for cell in cells]
    return families_of(cells)


def families_of(cells: Sequence[Cell]) -> list[Family]:
    """The cells by method, in the order of their first rows."""
    groups: dict[str, list[Cell]] = {}
    for cell in cells:
        plain = {name: getattr(cell, name) for name in OWN_FIELDS}
        groups.setdefault(json.dumps(plain, sort_keys=True), []).append(cell)
    alone = len(groups) == 1
    return [_family(ALL_ROWS if alone else _shared_name(rows), rows) for rows in groups.values()]


def _family(name: str, rows: Sequence[Cell]) -> Family:
    method, rates = rows[0].method, {cell.rate for cell in rows}
    exact = bool(method.get("exact_head"))
    per_sample = method.get("lr_scaling", "linear") == "linear" and rates == {None} and not exact
    own = None if len(rates) > 1 else rates.pop()
    if own is None and method.get("estimator") != "sign":
        own = EXACT_HEAD_RATE if exact else HEAD_RATE if per_sample else None
    return Family(name, tuple(rows), per_sample, own)


def _shared_name(rows: Sequence[Cell]) -> str:
    """The parts that all labels begin with."""
    parts = zip(*(cell.label.split(", ") for cell in rows), strict=False)
    shared = takewhile(lambda found: len(set(found)) == 1, parts)
    return ", ".join(first for first, *_ in shared) or rows[0].label


def tuned(experiment: Experiment, rates: Mapping[str, float]) -> Experiment:
    """The experiment with these rates, by the names of its methods.

    raises   ValueError when a method has no rate, or a rate no method, at the first use of cells
    """

    def cells(plan: Plan) -> list[Cell]:
        rows, found = experiment.cells(plan), methods(experiment, plan)
        names = [family.name for family in found]
        if set(names) != set(rates):
            raise ValueError(
                f"rates: must be of {experiment.name}'s methods {', '.join(names)}, "
                f"got {', '.join(rates) or 'none'}"
            )
        changed = {cell.label: cell for family in found for cell in family.at(rates[family.name])}
        return [changed[cell.label] for cell in rows]

    return experiment._replace(cells=cells)
