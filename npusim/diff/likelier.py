"""Does another profile explain what departs? Its nodes run again under each, on the same inputs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..graph import Graph
from ..neural_art.given import Parameters
from ..neural_art.settle import settle
from ..neural_art.stored import PROFILE as NEURAL_ART
from ..neural_art.stored import family
from ..profiles import PROFILES
from .causes.neural_art import SHIFTS
from .replay import Fed, Part
from .report import Judged

TRIED = 8
"""So many of the tensors that depart are run again under every profile."""
EXPLAINED = 0.1
"""Share of a tensor's differing elements that a profile which explains it may leave."""


class Likelier(NamedTuple):
    """Profiles that explain departing tensors as well as each other, and better than A's own.

    profiles   their names
    explained  departing tensors that they explain
    tried      departing tensors that were run again
    differing  elements of all of these that A's profile does not give
    left       elements of all of these that they do not give
    """

    profiles: tuple[str, ...]
    explained: int
    tried: int
    differing: int
    left: int

    def __str__(self) -> str:
        """ "neural-art, s0 tried for each layer, leaves 3 of 157 elements, and explains .." """
        names = " or ".join(self.profiles)
        how = ", s0 tried for each layer" if NEURAL_ART in self.profiles else ""
        given = f"explains {self.explained} of {self.tried} departing tensors"
        return f"{names}{how}, {given}: {self.left:,} elements differ, not {self.differing:,}"


def left_by_profile(fed: Fed, actual: np.ndarray) -> Mapping[str, int]:
    """Profile -> how many elements it does not give; without those that cannot run the nodes."""
    found = {}
    for name in PROFILES:
        counts = [
            int(np.count_nonzero(made != actual))
            for part in _parts(fed.part.graph, name)
            if (made := _made(fed, part)) is not None
        ]
        if counts:
            found[name] = min(counts)
    return found


def likelier(tensors: Sequence[Judged]) -> Likelier | None:
    """The profiles that explain most of the departing tensors; None where none explains half."""
    tried = [t for t in tensors if t.left]
    names = [name for name in PROFILES if all(name in t.left for t in tried)]
    if not tried:
        return None
    own = [t.own.differing if t.own else 0 for t in tried]
    scores = {
        name: (
            -sum(t.left[name] <= EXPLAINED * n for t, n in zip(tried, own, strict=True)),
            sum(t.left[name] for t in tried),
        )
        for name in names
    }
    best = min(scores.values(), default=(0, 0))
    if -2 * best[0] < len(tried) or not best[0]:
        return None
    fitting = tuple(name for name, score in scores.items() if score == best)
    return Likelier(fitting, -best[0], len(tried), sum(own), best[1])


def _parts(graph: Graph, profile: str) -> Iterator[Part]:
    """The nodes under a profile, as it has them and with every s0 that one alone may have."""
    if profile == graph.profile:
        return
    other = replace(graph, profile=profile, accumulator=None)
    given: list[Parameters | None] = [None]
    if len(graph.nodes) == 1 and family(other, graph.nodes[-1]) == "weighted":
        given += [{graph.nodes[-1].name: {"s0": s0}} for s0 in SHIFTS]
    for parameters in given:
        try:
            yield Part(settle(other, parameters))
        except ValueError:
            continue


def _made(fed: Fed, part: Part) -> np.ndarray | None:
    try:
        return part.run(fed.inputs)
    except (TypeError, ValueError):
        return None
