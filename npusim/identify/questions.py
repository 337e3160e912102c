"""What a dump leaves open: alternatives for an operator, and the elements that tell them apart."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

import numpy as np

from ..diff.replay import leading_to
from ..graph import Graph
from .approach import states_of
from .hypothesis import Hypothesis, Rule
from .pursuit import Alternative, Pursuit
from .report import Kind, Report
from .verdict import SCALE_OPEN, UNDECIDED, Verdict

Arrays = Mapping[str, np.ndarray]

MOST_NODES = 3
"""Nodes of an operator at which its rules are told apart."""
PATIENCE, LITTLE_PATIENCE, PATIENCE_BY_CHANCE = 40, 8, 400
"""Batches without progress after which a pair is given up: of rules of devices, of others, and
where only chance helps."""


class Question:
    """Alternatives, and how many elements of what was kept so far tell each pair apart.

    name          the operator, or the node
    pursuit       of its nodes and alternatives; those of devices that are still possible come
                  first, since they decide whose arithmetic it is
    of_devices    how many those are
    """

    def __init__(self, name: str, pursuit: Pursuit, of_devices: int) -> None:
        self.name, self.pursuit, self._of_devices = name, pursuit, of_devices
        self.alternatives, self.steps = pursuit.alternatives, pursuit.steps
        self.totals = np.zeros((len(self.alternatives),) * 2, np.int64)
        self.batch: Arrays = {}
        self.given_up = np.zeros_like(self.totals, bool)
        self._upper = np.triu_indices(len(self.alternatives), 1)

    @property
    def pairs(self) -> int:
        """How many pairs of alternatives there are."""
        return len(self.alternatives) * (len(self.alternatives) - 1) // 2

    def words(self, k: int) -> str:
        """An alternative."""
        (first, *_), *_ = self.alternatives[k].values()
        return first.label if len(self.alternatives[k]) == 1 else str(first.rules[0])

    def open(self, wanted: int) -> bool:
        """Whether some pair has fewer elements than wanted, and is not given up."""
        return bool(self._lacking(wanted).any())

    def proceed(self, gained: bool, wanted: int) -> None:
        """Count batches without progress; give up after many."""
        pursuit = self.pursuit
        pursuit.stale = 0 if gained else pursuit.stale + 1
        if pursuit.stale > self._patience():
            lacking = self._lacking(wanted)
            if pursuit.target is not None and lacking[pursuit.target]:
                self.given_up[pursuit.target] = True
            else:
                self.given_up |= lacking
            pursuit.stale = 0
            pursuit.aim_at(None)

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
        missed = np.argwhere(self._lacking(1)).tolist()
        if missed:
            second, first = min((b, a) for a, b in missed)
            self.pursuit.aim_at((first, second))
        for node, part in self.steps.items():
            states = states_of(part.graph, part.last, dict(values))
            codes = {
                k: [h.codes(states).reshape(images, -1) for h in self.alternatives[k][node]]
                for k in sorted({k for pair in pairs for k in pair})
            }
            for a, b in pairs:
                ways = [(x != y).sum(axis=1) for x, y in product(codes[a], codes[b])]
                total[:, a, b] += ways[0] if len(ways) == 1 else np.min(ways, axis=0)
            if missed:
                self.pursuit.watch(node, states, self.batch)
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

    def _patience(self) -> int:
        target = self.pursuit.target
        if self.pursuit.by_chance:
            return PATIENCE_BY_CHANCE
        return PATIENCE if target is None or max(target) < self._of_devices else LITTLE_PATIENCE

    def _lacking(self, wanted: int) -> np.ndarray:
        """Pairs that still need elements: bool, the upper triangle."""
        return np.triu((self.totals < wanted) & ~self.given_up, 1)


def questions(graph: Graph, report: Report) -> list[Question]:
    """What is open, of operators whose tensors the dump holds."""
    names = [t.name for t in graph.tensors]
    tensors = {v.node: v.tensor for v in report.verdicts}
    found = []
    for kind in report.kinds:
        if kind.status in (UNDECIDED, SCALE_OPEN):
            for name, alternatives, count in _open(graph, report, kind):
                steps = {n: leading_to(graph, tensors[n], names) for n in alternatives[0]}
                pursuit = Pursuit(graph, steps, alternatives, report.ranges)
                found.append(Question(name, pursuit, count))
    return found


def _open(
    graph: Graph, report: Report, kind: Kind
) -> Iterator[tuple[str, Sequence[Alternative], int]]:
    """Operator or node, its alternatives, and how many of them are devices'."""
    visible = [v for v in kind.verdicts if v.survivors and not v.together]
    if len(kind.groups) > 1 and len(visible) > 1:
        nodes = _telling(kind, visible)
        order, count = _devices_first(graph, report, nodes[0], kind.groups)
        rules = [kind.groups[k] for k in order]
        yield kind.name, [{v.node: _followers(v, r) for v in nodes} for r in rules], count
    for v in visible:
        own = [g for g in v.groups if any(set(h.rules) & set(kind.rules) for h in g)]
        if len(own) > 1 and (len(visible) == 1 or kind.own(v)):
            by_group = [[r for h in g for r in h.rules] for g in own]
            order, count = _devices_first(graph, report, v, by_group)
            yield v.node, [{v.node: own[k][:1]} for k in order], count


def _devices_first(
    graph: Graph, report: Report, v: Verdict, groups: Sequence[Sequence[Rule]]
) -> tuple[list[int], int]:
    """The order of groups of rules with those of devices that are still possible in front, and
    their number."""
    devices = (d.device for d in report.devices if d.consistent)
    named = {device.rule(graph, graph.node(v.node)) for device in devices}
    others = [named.isdisjoint(map(str, rules)) for rules in groups]
    return sorted(range(len(groups)), key=others.__getitem__), others.count(False)


def _followers(v: Verdict, rules: Sequence) -> list[Hypothesis]:
    """One hypothesis of every group of the node that the rules may mean."""
    asked = {o.hypothesis for rule in rules for o in v.lookup(rule)}
    return [next(h for h in group if h in asked) for group in v.groups if asked & set(group)]


def _telling(kind: Kind, verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The nodes at which most of the rules are not equal on every input; of those the largest."""

    def rank(v: Verdict) -> tuple[int, int]:
        return len({tuple(_followers(v, rules)) for rules in kind.groups}), v.elements

    return sorted(verdicts, key=rank, reverse=True)[:MOST_NODES]
