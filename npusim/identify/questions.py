"""What a dump leaves open: alternatives for an operator, and the elements that tell them apart."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from ..diff.replay import Part, leading_to
from ..graph import Graph
from ..headroom import WEIGHTED
from .approach import states_of
from .equality import reach, thresholds
from .hypothesis import Hypothesis, States
from .report import Kind, Report
from .verdict import SCALE_OPEN, UNDECIDED, Verdict

Arrays = Mapping[str, np.ndarray]
Alternative = Mapping[str, Sequence[Hypothesis]]
"""Node -> hypotheses, one of which it follows."""

MOST_NODES = 3
"""Nodes of an operator at which its rules are told apart."""
FEW_OUTPUTS = 4096
"""Outputs of an image up to which it is worth while to come near a decision step by step."""
ELITE = 8
PATIENCE = 40
"""Batches without progress after which a pair is given up."""


class Question:
    """Alternatives, and how many elements of what was kept so far tell each pair apart.

    name   the operator, or the node
    """

    def __init__(
        self, name: str, alternatives: Sequence[Alternative], steps: Mapping[str, Part]
    ) -> None:
        self.name, self.alternatives, self.steps = name, alternatives, steps
        self.totals = np.zeros((len(alternatives),) * 2, np.int64)
        self.batch: Arrays = {}
        self._upper = np.triu_indices(len(alternatives), 1)
        self.given_up = np.zeros_like(self.totals, bool)
        self._elite: list[tuple[int, dict[str, np.ndarray]]] = []
        self._target: tuple[int, int] | None = None
        self._stale = 0
        self._edges: dict[tuple[str, int, int], np.ndarray] = {}

    @property
    def pairs(self) -> int:
        """How many pairs of alternatives there are."""
        return len(self.alternatives) * (len(self.alternatives) - 1) // 2

    @property
    def elite(self) -> list[dict[str, np.ndarray]]:
        """Images that came nearest to telling a pair apart."""
        return [image for _, image in self._elite]

    def words(self, k: int) -> str:
        """An alternative."""
        (first, *_), *_ = self.alternatives[k].values()
        return first.label if len(self.alternatives[k]) == 1 else str(first.rules[0])

    def open(self, wanted: int) -> bool:
        """Whether some pair has fewer elements than wanted, and is not given up."""
        return bool(self._lacking(wanted).any())

    def proceed(self, gained: bool, wanted: int) -> None:
        """Count batches without progress; give up after many."""
        self._stale = 0 if gained else self._stale + 1
        if self._stale > PATIENCE:
            self._stale = 0
            lacking = self._lacking(wanted)
            if self._target is not None and lacking[self._target]:
                self.given_up[self._target] = True
            else:
                self.given_up |= lacking
            self._target, self._elite = None, []

    def gain(self, counts: np.ndarray, wanted: int) -> int:
        """How much nearer an image's counts come to what is wanted."""
        before, after = self.totals[self._upper], (self.totals + counts)[self._upper]
        return int((np.minimum(after, wanted) - np.minimum(before, wanted)).sum())

    def can_spare(self, counts: np.ndarray, wanted: int) -> bool:
        """Whether every pair has enough elements without an image that was kept."""
        without = self.totals - counts
        return bool((without >= np.minimum(self.totals, wanted))[self._upper].all())

    def add(self, counts: np.ndarray) -> None:
        """Keep an image."""
        self.totals += counts

    def counts(self, values: Arrays, images: int, wanted: int) -> np.ndarray:
        """Elements that tell apart each pair that needs some.

        returns   int64 (images, alternatives, alternatives), the upper triangle
        """
        m = len(self.alternatives)
        total = np.zeros((images, m, m), np.int64)
        pairs = np.argwhere(self._lacking(wanted)).tolist()
        for node, part in self.steps.items():
            states = states_of(part.graph, part.last, dict(values))
            codes = {
                k: [h.codes(states).reshape(images, -1) for h in self.alternatives[k][node]]
                for k in sorted({k for pair in pairs for k in pair})
            }
            for a, b in pairs:
                ways = [(x != y).sum(axis=1) for x, y in product(codes[a], codes[b])]
                total[:, a, b] += ways[0] if len(ways) == 1 else np.min(ways, axis=0)
            self._rank(node, states, images)
        return total

    def confused(self, node_codes: Mapping[str, Hypothesis], values: Arrays) -> Iterator[tuple]:
        """(own, other) alternatives that give a device's codes alike, own being the device's."""
        own = next((k for k, a in enumerate(self.alternatives)
                    if all(node_codes[n] in hs for n, hs in a.items())), None)  # fmt: skip
        if own is None:
            return
        alike = [True] * len(self.alternatives)
        for node, part in self.steps.items():
            states = states_of(part.graph, part.last, dict(values))
            name = part.graph.tensors[part.last.outputs[0]].name
            actual = values[name].reshape(-1)
            for k, a in enumerate(self.alternatives):
                if alike[k]:
                    alike[k] = any((h.codes(states) == actual).all() for h in a[node])
        yield from ((own, k) for k, same in enumerate(alike) if same and k != own)

    def _lacking(self, wanted: int) -> np.ndarray:
        """Pairs that still need elements: bool, the upper triangle."""
        return np.triu((self.totals < wanted) & ~self.given_up, 1)

    def _rank(self, node: str, states: States, images: int) -> None:
        """Remember the images whose accumulators are nearest to where an open pair differs."""
        part = self.steps[node]
        if part.last.op not in WEIGHTED or len(states[0]) > images * FEW_OUTPUTS:
            return
        open_pairs = np.argwhere(self._lacking(1)).tolist()
        if not open_pairs:
            return
        target = open_pairs[0][0], open_pairs[0][1]
        if target != self._target:
            self._target, self._elite, self._stale = target, [], 0
        edges = self._differing(node, *target)
        if not edges.size:
            return
        distance = _nearest(edges, states[0], states[1]).reshape(images, -1).min(axis=1)
        best = self._elite[0][0] if self._elite else None
        for image in np.argsort(distance)[:ELITE].tolist():
            member = {n: x[image] for n, x in self.batch.items()}
            self._elite.append((int(distance[image]), member))
        self._elite = sorted(self._elite, key=lambda e: e[0])[:ELITE]
        if best is not None and self._elite[0][0] < best:
            self._stale = 0

    def _differing(self, node: str, a: int, b: int) -> np.ndarray:
        """(channel, accumulator) at which two alternatives differ: int64 (n, 2), sorted."""
        key = node, a, b
        if key not in self._edges:
            part = self.steps[node]
            reachable = reach(part.graph, part.last)
            first, second = (self.alternatives[k][node][0] for k in (a, b))
            found = [np.empty((0, 2), np.int64)]
            if first.monotone and second.monotone:
                low, high = (thresholds(h, reachable) for h in (first, second))
                channel, _ = np.nonzero(low != high)
                # codes differ from the smaller threshold up to the larger one
                where = np.minimum(low, high)[low != high]
                found.append(np.stack([channel, where], axis=1))
            self._edges[key] = np.unique(np.concatenate(found), axis=0)
        return self._edges[key]


def questions(graph: Graph, report: Report) -> list[Question]:
    """What is open, of operators whose tensors the dump holds."""
    names = [t.name for t in graph.tensors]
    verdicts = {v.node: v for v in report.verdicts}

    def steps(nodes: Sequence[str]) -> dict[str, Part]:
        return {n: leading_to(graph, verdicts[n].tensor, names) for n in nodes}

    found = []
    for kind in report.kinds:
        visible = [v for v in kind.verdicts if v.survivors and not v.together]
        if kind.status not in (UNDECIDED, SCALE_OPEN) or not visible:
            continue
        if len(kind.groups) > 1 and len(visible) > 1:
            nodes = _telling(kind, visible)
            alternatives = [{v.node: _followers(v, rules) for v in nodes} for rules in kind.groups]
            found.append(Question(kind.name, alternatives, steps([v.node for v in nodes])))
        for v in visible:
            groups = [g for g in v.groups if any(set(h.rules) & set(kind.rules) for h in g)]
            if len(groups) > 1 and (len(visible) == 1 or kind.own(v)):
                own = [{v.node: g[:1]} for g in groups]
                found.append(Question(v.node, own, steps([v.node])))
    return found


def _followers(v: Verdict, rules: Sequence) -> list[Hypothesis]:
    """One hypothesis of every group of the node that the rules may mean."""
    asked = {o.hypothesis for rule in rules for o in v.lookup(rule)}
    return [next(h for h in group if h in asked) for group in v.groups if asked & set(group)]


def _telling(kind: Kind, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The nodes at which most of the rules are not equal on every input; of those the largest."""

    def rank(v: Verdict) -> tuple[int, int]:
        return len({tuple(_followers(v, rules)) for rules in kind.groups}), v.elements

    return sorted(verdicts, key=rank, reverse=True)[:MOST_NODES]


def _nearest(edges: np.ndarray, acc: np.ndarray, channel: np.ndarray) -> np.ndarray:
    """Distance of every accumulator to the next edge of its channel."""
    span = 1 << 33
    places = edges[:, 0] * span + edges[:, 1]
    here = channel * span + acc
    above = np.searchsorted(places, here)
    upper = np.abs(places[np.minimum(above, len(places) - 1)] - here)
    lower = np.abs(places[np.maximum(above - 1, 0)] - here)
    return np.minimum(upper, lower)
