"""Does another profile explain a device better? Nodes run again under each, on its own inputs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..graph import Graph
from ..neural_art.given import Parameters
from ..neural_art.settle import settle
from ..neural_art.stored import PROFILE as NEURAL_ART
from ..neural_art.stored import family
from ..plurals import counted
from ..profiles import PROFILES
from .causes.neural_art import SHIFTS
from .replay import Part, leading_to

TRIED = 8
"""So many of the tensors that depart, and of the others, are made again under every profile."""
EXPLAINED = 0.1
"""Share of a tensor's differing elements that a profile which explains it may leave."""

Arrays = Mapping[str, np.ndarray]
Counts = Mapping[str, int]


class Likelier(NamedTuple):
    """Profiles that explain a device as well as each other, and better than the model's own.

    profiles   their names
    explained  departing tensors that they explain
    departing  departing tensors that were made again
    departed   departing tensors, made again or not
    differing  elements of those, and of others that were made again, that the own profile does not
               give
    left       elements of the same that they do not give
    """

    profiles: tuple[str, ...]
    explained: int
    departing: int
    differing: int
    left: int
    departed: int

    def __str__(self) -> str:
        names = " or ".join(self.profiles)
        how = ", s0 tried for each layer," if NEURAL_ART in self.profiles else ""
        given = f"explains {self.explained} of {counted(self.departing, 'departing tensor')}"
        if self.departing < self.departed:
            given = f"explains {self.explained} of the {self.departing} departing tensors tried, "
            given += f"of {self.departed}"
        left = f"{counted(self.left, 'element')} {'differs' if self.left == 1 else 'differ'}"
        return f"{names}{how} {given}: {left}, not {self.differing:,}"


def likelier(
    graph: Graph, departing: Sequence[str], others: Sequence[str], known: Arrays
) -> Likelier | None:
    """The profiles that explain at least half of what departs, and leave half of it at most.

    departing, others   tensors of the device that depart, and that do not, by name
    known               tensors by name in the graph's types: the device's
    returns             None where no profile does
    """
    made = [_left(graph, name, known) for name in departing[:TRIED]]
    if not any(made):
        return None
    departs = [counts for counts in made if counts]
    rest = [counts for name in others[:TRIED] if (counts := _left(graph, name, known))]
    best: tuple[int, int] = (0, 0)
    fitting: list[str] = []
    for profile in PROFILES:
        if profile == graph.profile or not all(profile in c for c in (*departs, *rest)):
            continue
        explained = sum(c[profile] <= EXPLAINED * c[graph.profile] for c in departs)
        score = -explained, sum(c[profile] for c in (*departs, *rest))
        if score <= best:
            fitting = [*fitting, profile] if score == best else [profile]
            best = score
    differing = sum(c[graph.profile] for c in (*departs, *rest))
    if not fitting or -2 * best[0] < len(departs) or 2 * best[1] > differing:
        return None
    return Likelier(tuple(fitting), -best[0], len(departs), differing, best[1],
                    len(departing))  # fmt: skip


def _left(graph: Graph, tensor: str, known: Arrays) -> Counts:
    """Profile -> elements of a tensor that it does not give; without those that cannot make it."""
    part = leading_to(graph, tensor, known.keys() - {tensor})
    if not known.keys() >= {tensor, *part.inputs}:
        return {}
    found = {}
    for profile in PROFILES:
        counts = [
            int(np.count_nonzero(made != known[tensor]))
            for other in _parts(part.graph, profile)
            if (made := _made(other, known)) is not None
        ]
        if counts:
            found[profile] = min(counts)
    return found if graph.profile in found else {}


def _parts(graph: Graph, profile: str) -> Iterator[Part]:
    """The nodes under a profile, as it has them and with every s0 that one alone may have."""
    if profile == graph.profile:
        yield Part(graph)
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


def _made(part: Part, known: Arrays) -> np.ndarray | None:
    """The part's tensor; None where its profile cannot make it of these arrays."""
    try:
        return part.run(known)
    except (TypeError, ValueError):
        return None
