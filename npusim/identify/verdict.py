"""What a dump says of one node."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..diff.replay import Part
from ..graph import Graph, Node
from ..headroom import WEIGHTED
from ..rules import MOVING, variant
from .accumulators import Widths, widths
from .approach import approach, operands, states_of
from .equality import classes
from .hypothesis import Hypothesis, Outcome, Rule, judge, observe
from .ranges import EVERYTHING, Ranges

DECIDED = "decided"
SCALE_OPEN = "scale open"
UNDECIDED = "undecided"
UNEXPLAINED = "unexplained"
SKIPPED = "not judged"
STATUSES = {
    DECIDED: "one hypothesis gives every code, or several that are equal on every input",
    SCALE_OPEN: "one rule gives every code, with its scale computed in more than one way",
    UNDECIDED: "several hypotheses give every code, and another input may tell them apart",
    UNEXPLAINED: "no hypothesis gives every code",
    SKIPPED: "its tensor, or what it is made from, is not in the dump",
}


@dataclass(frozen=True, eq=False)
class Verdict:
    """One node.

    node, op, kind   kind is the operator, or a variant of it that a program computes by itself
    tensor           that it makes
    status           one of STATUSES
    elements         that were looked at
    outcomes         of every hypothesis
    groups           hypotheses that give every code; those equal on every input stand together
    widths           what is known of the accumulator; None for operators that have none
    together         other nodes it was judged with, whose tensors the dump does not have
    reason           why it is not judged
    devices          of a node that was judged with others: device -> elements that contradict it,
                     at the last of them; None of a node that was judged by itself
    """

    node: str
    op: str
    kind: str
    tensor: str
    status: str
    elements: int = 0
    outcomes: tuple[Outcome, ...] = ()
    groups: tuple[tuple[Hypothesis, ...], ...] = ()
    widths: Widths | None = None
    together: tuple[str, ...] = ()
    reason: str = ""
    devices: Mapping[str, int] | None = None

    @property
    def survivors(self) -> tuple[Hypothesis, ...]:
        """Hypotheses that give every code."""
        return tuple(h for group in self.groups for h in group)

    @property
    def moves(self) -> bool:
        """Whether the node has nothing to decide: codes pass unchanged."""
        return self.op in MOVING

    @property
    def nearest(self) -> Outcome | None:
        """The hypothesis that fewest elements contradict, of those that some do."""
        excluded = [o for o in self.outcomes if o.differing and o.exact]
        return min(excluded, key=lambda o: o.differing, default=None)

    def lookup(self, rule: Rule) -> Sequence[Outcome]:
        """Outcomes of a rule; where its twist means nothing at this node, of the rule without."""
        by_rule, twists = self._index
        return by_rule.get(rule if rule.twist in twists else Rule(rule.name), ())

    @cached_property
    def _index(self) -> tuple[dict[Rule, list[Outcome]], set[str]]:
        """Outcomes by rule, and the twists there are."""
        found: dict[Rule, list[Outcome]] = {}
        for outcome in self.outcomes:
            for rule in outcome.hypothesis.rules:
                found.setdefault(rule, []).append(outcome)
        return found, {o.hypothesis.twist for o in self.outcomes}


def unjudged(graph: Graph, node: Node, reason: str = "") -> Verdict:
    """A verdict on a node before it is judged, or if it cannot be."""
    tensor = graph.tensors[node.outputs[0]].name
    return Verdict(node.name, node.op, variant(graph, node), tensor, SKIPPED, reason=reason)


def verdict(
    part: Part, inputs: dict[str, np.ndarray], actual: np.ndarray, ranges: Ranges = EVERYTHING
) -> Verdict:
    """What one node's tensor says.

    part     of one node
    inputs   activations by name, in the graph's types
    actual   the codes that were found
    ranges   codes that its inputs can have
    """
    graph, node = part.graph, part.last
    look = approach(graph, node)
    observed = observe(states_of(graph, node, inputs), actual, look.pointwise)
    outcomes = judge(observed, look.hypotheses(graph, node), look.pointwise)
    fitting = [o.hypothesis for o in outcomes if not o.differing]
    found: Widths | None = None
    if node.op in WEIGHTED:
        # a narrow accumulator is looked for with every rule where exact sums explain nothing
        rules = fitting or [o.hypothesis for o in outcomes]
        found = widths(graph, node, operands(graph, node, inputs)[0], actual, rules)
        if not fitting:
            fitting = list(dict.fromkeys(h for w in found.narrower for h in w.rules))
    groups = classes(graph, node, fitting, ranges)
    return replace(unjudged(graph, node), status=status(groups), elements=observed.elements,
                   outcomes=tuple(outcomes), groups=groups, widths=found)  # fmt: skip


def status(groups: Sequence[Sequence[Hypothesis]]) -> str:
    """The status of a node that was judged."""
    return (UNEXPLAINED, DECIDED)[len(groups)] if len(groups) < 2 else UNDECIDED
