"""Devices that follow one arithmetic throughout: npusim's profiles, Neural-ART with other ties."""

from collections.abc import Sequence
from typing import NamedTuple

from ..graph import Graph, Node
from ..neural_art.stored import PROFILE as NEURAL_ART_PROFILE
from ..neural_art.stored import RULE as NEURAL_ART
from ..profiles import PROFILES
from ..rules import MOVING
from .arithmetics import name_of, profile_arithmetic
from .hypothesis import Hypothesis, Outcome
from .three_stages import NEAREST


class Device(NamedTuple):
    """A profile, perhaps with one rule for the ties of all stages."""

    name: str
    profile: str
    ties: str = "away"

    def rule(self, graph: Graph, node: Node) -> str | None:
        """The name of the node's rule; None where the profile has none for it."""
        if node.op in MOVING:
            return "exact"
        a = profile_arithmetic(graph, node, self.profile)
        if a is None:
            return None
        if a.rule == NEURAL_ART:
            return f"{NEURAL_ART}, ties {self.ties}"
        return name_of(graph, node, a)


DEVICES = (
    *(Device(name, name) for name in PROFILES),
    *(
        Device(f"{NEURAL_ART_PROFILE} with ties {'to ' * (ties == 'even')}{ties}",
               NEURAL_ART_PROFILE, ties)
        for ties in NEAREST[1:]
    ),
)  # fmt: skip


def contradicted(outcomes: Sequence[Outcome], rule: str) -> Outcome | None:
    """How the best hypothesis of a rule fares, whatever is the layer's own; None without one."""
    found = [o for o in outcomes if rule in o.hypothesis.names and not o.hypothesis.twist]
    return min(found, key=lambda o: (o.differing, not o.exact), default=None)


def is_named(hypothesis: Hypothesis, rule: str) -> bool:
    """Whether the hypothesis is the rule, by the conventions."""
    return rule in hypothesis.names and not hypothesis.twist
