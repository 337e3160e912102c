"""Hypotheses about how a device computes one node, and what the node's tensors say of them.

Most operators make every output element from a few integers, its *state*: an accumulator and a
channel, two codes, a sum. A hypothesis is then a function from states to codes, elements of equal
state and code are counted together, and hypotheses share whatever made the states.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

States = tuple[np.ndarray, ...]
Codes = Callable[[States], np.ndarray]

SAMPLE = 2048
"""States on which hypotheses that no profile has are tried first."""
LARGEST_KEY = 2**62
SCALE = ", scale "
"""What stands in names of rules before the way their scale is computed."""


class Rule(NamedTuple):
    """What a device does for all nodes of a kind: a rule, and a departure from conventions."""

    name: str
    twist: str = ""

    @property
    def base(self) -> str:
        """The rule, however its scale is computed."""
        return str(self).split(SCALE)[0]

    def __str__(self) -> str:
        return f"{self.name}, {self.twist}" if self.twist else self.name


@dataclass(frozen=True, eq=False)
class Hypothesis:
    """One way to compute a node.

    names   of the rule; several where they mean the same numbers at this node
    codes   what it makes of states: int64 codes (or real numbers), flat
    own     what is the layer's own and not the operator's, such as "s0 3"; "" without
    twist   how it departs from the conventions for zero points and padding; "" where it does not
    common  whether it is counted over all elements even when a sample refutes it
    monotone  whether its codes never fall when the accumulator of a weighted node grows
    """

    names: tuple[str, ...]
    codes: Codes
    own: str = ""
    twist: str = ""
    common: bool = True
    monotone: bool = False

    @property
    def label(self) -> str:
        """All of it in words."""
        return ", ".join(filter(None, (self.names[0], self.own, self.twist)))

    @property
    def rules(self) -> tuple["Rule", ...]:
        """What is compared between nodes: without what is the layer's own."""
        return tuple(Rule(name, self.twist) for name in self.names)


class Observed(NamedTuple):
    """Distinct pairs of state and code, and how many elements have each.

    states   columns (n,); of operators without states the operands as they are
    actual   (n,)
    counts   int64 (n,)
    """

    states: States
    actual: np.ndarray
    counts: np.ndarray

    @property
    def elements(self) -> int:
        return int(self.counts.sum())

    def rows(self, chosen: np.ndarray) -> "Observed":
        """Some of the pairs."""
        columns = tuple(column[chosen] for column in self.states)
        return Observed(columns, self.actual[chosen], self.counts[chosen])


@dataclass(frozen=True, eq=False)
class Outcome:
    """What the elements say of a hypothesis.

    differing   elements whose code it does not give
    exact       False where only a sample was looked at: then there may be more
    """

    hypothesis: Hypothesis
    differing: int
    exact: bool = True


def observe(states: States, actual: np.ndarray, pointwise: bool) -> Observed:
    """Elements counted by state and code; as they are where operators have no states."""
    flat = actual.reshape(-1)
    if not pointwise:
        return Observed(states, flat, np.ones(flat.size, np.int64))
    packed = _packed((*states, flat))
    if packed is None:
        return Observed(states, flat, np.ones(flat.size, np.int64))
    key, ranges = packed
    found, counts = np.unique(key, return_counts=True)
    columns = _unpacked(found, ranges)
    return Observed(tuple(columns[:-1]), columns[-1], counts)


def judge(observed: Observed, hypotheses: Sequence[Hypothesis], pointwise: bool) -> list[Outcome]:
    """How many elements contradict each hypothesis."""
    rows = len(observed.actual)
    sample = observed
    if pointwise and rows > SAMPLE:
        sample = observed.rows(np.arange(SAMPLE) * rows // SAMPLE)
    outcomes = []
    for hypothesis in hypotheses:
        if not hypothesis.common and sample is not observed:
            refuted = _differing(sample, hypothesis)
            if refuted:
                outcomes.append(Outcome(hypothesis, refuted, exact=False))
                continue
        outcomes.append(Outcome(hypothesis, _differing(observed, hypothesis)))
    return outcomes


def _differing(observed: Observed, hypothesis: Hypothesis) -> int:
    return int(observed.counts[hypothesis.codes(observed.states) != observed.actual].sum())


class _Range(NamedTuple):
    """Smallest value of a column, and how many values there may be."""

    low: int
    size: int


def _packed(columns: States) -> tuple[np.ndarray, list[_Range]] | None:
    """Columns of integers as one key; None where they do not fit or there is nothing."""
    if not columns[-1].size:
        return None
    ranges, total = [], 1
    for column in columns:
        low = int(column.min())
        ranges.append(_Range(low, int(column.max()) - low + 1))
        total *= ranges[-1].size
    if total > LARGEST_KEY:
        return None
    key = np.zeros(columns[0].shape, np.int64)
    for column, (low, size) in zip(columns, ranges, strict=True):
        key = key * size + (column.astype(np.int64) - low)
    return key, ranges


def _unpacked(key: np.ndarray, ranges: Sequence[_Range]) -> list[np.ndarray]:
    columns = []
    for low, size in reversed(ranges):
        key, column = np.divmod(key, size)
        columns.append(column + low)
    return columns[::-1]
