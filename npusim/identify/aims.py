"""Where two hypotheses about a node part, and how near an element comes to it.

A search that only draws inputs meets a rare difference late. This says how far each element's state
is from the nearest state at which two hypotheses differ, so that inputs can come nearer by steps:
accumulators of weighted nodes, codes or sums of those whose states can be listed, rows of logits.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.spatial import cKDTree

from ..diff.replay import Part
from ..headroom import WEIGHTED
from .approach import approach
from .equality import Reach, reach, thresholds
from .hypothesis import Hypothesis, States
from .ranges import Ranges

MOST_TARGETS = 1 << 16
"""States that the search for the nearest one knows; of more, every second, third, .. is taken."""
_SPAN = 1 << 33
"""From channel to channel; accumulators of one are at most half as far apart."""


class Aim(NamedTuple):
    """Where two hypotheses differ.

    nearest   states of a node's elements -> the distance of each to the nearest difference
    sums      of a weighted node (channel, accumulator) each: int64 (n, 2); else None
    """

    nearest: Callable[[States], np.ndarray]
    sums: np.ndarray | None = None


def aim(part: Part, ranges: Ranges, first: Hypothesis, second: Hypothesis) -> Aim | None:
    """The distance to the nearest state that tells two hypotheses apart.

    part      of one node
    ranges    of the tensors it reads
    returns   None where no such state is known
    """
    if part.last.op in WEIGHTED:
        return _at_accumulators(reach(part.graph, part.last, ranges), first, second)
    look = approach(part.graph, part.last)
    states = look.domain(part.graph, part.last, ranges) if look.pointwise else None
    return None if states is None else _at_states(part, states, first, second)


def _at_accumulators(reachable: Reach, first: Hypothesis, second: Hypothesis) -> Aim | None:
    """By channel; of hypotheses whose codes grow with the accumulator."""
    if not (first.monotone and second.monotone):
        return None
    low, high = (thresholds(h, reachable) for h in (first, second))
    channel, _ = np.nonzero(low != high)
    # codes differ from the smaller threshold up to the larger one
    where = np.minimum(low, high)[low != high]
    if not where.size:
        return None
    places = np.unique(channel * _SPAN + where)
    sums = np.stack((channel, where), axis=1)
    return Aim(lambda states: _nearest(places, states[1] * _SPAN + states[0]), sums)


def _nearest(places: np.ndarray, here: np.ndarray) -> np.ndarray:
    """Distance of every number to the nearest of sorted ones; far in another channel."""
    above = np.searchsorted(places, here)
    upper = np.abs(places[np.minimum(above, len(places) - 1)] - here)
    lower = np.abs(places[np.maximum(above - 1, 0)] - here)
    return np.minimum(upper, lower)


def _at_states(part: Part, states: States, first: Hypothesis, second: Hypothesis) -> Aim | None:
    """In codes, or sums of codes; channels and places in a row count for nothing."""
    columns = _free_columns(part.last.op, states)
    differ = first.codes(states) != second.codes(states)
    targets = np.unique(np.stack([column[differ] for column in states[:columns]], axis=1), axis=0)
    if not len(targets):
        return None
    tree = cKDTree(targets[:: 1 + len(targets) // MOST_TARGETS])
    return Aim(lambda found: tree.query(np.stack(found[:columns], axis=1), p=1)[0])


def _free_columns(op: str, states: States) -> int:
    """How many columns an input moves: of an average its sum, and how many cells it has; of codes
    all but the last, which is a place in a row."""
    return {"mean": 1, "average_pool2d": 2}.get(op, len(states) - 1)
