"""How large the differences are: their number by sign and size, in steps of a factor of four."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

EDGES = (1, 2, 4, 16, 64)
"""Smallest magnitude of each step."""


class Bar(NamedTuple):
    """So many differences from `low` to `high`, both included; None where there is no end."""

    low: int | None
    high: int | None
    number: int

    @property
    def label(self) -> str:
        """ "-1", "+2..+3", "+64.." """
        if self.low == self.high:
            return f"{self.low:+d}"
        low = "" if self.low is None else f"{self.low:+d}"
        high = "" if self.high is None else f"{self.high:+d}"
        return f"{low}..{high}"


def histogram(difference: np.ndarray) -> tuple[Bar, ...]:
    """Bars from the lowest to the highest; none for real numbers."""
    if difference.dtype.kind == "f":
        return ()
    ends = [(low, high - 1) for low, high in pairwise(EDGES)]
    up: list[tuple[int, int | None]] = [*ends, (EDGES[-1], None)]
    down = [(None if high is None else -high, -low) for low, high in reversed(up)]
    bars = (Bar(low, high, _between(difference, low, high)) for low, high in (*down, *up))
    return tuple(bars)


def _between(difference: np.ndarray, low: int | None, high: int | None) -> int:
    inside = np.ones(difference.shape, bool)
    if low is not None:
        inside &= difference >= low
    if high is not None:
        inside &= difference <= high
    return int(np.count_nonzero(inside))
