"""What a dump says of a device: node by node, operator by operator, and of whole profiles."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from ..graph import Graph
from .accumulators import NARROWEST, WIDEST
from .devices import DEVICES, Device, contradicted, is_named
from .hypothesis import Hypothesis, Rule
from .ranges import Ranges
from .verdict import DECIDED, SCALE_OPEN, SKIPPED, UNDECIDED, UNEXPLAINED, Verdict

MIXED = "mixed"


@dataclass(frozen=True)
class Excluded:
    """A rule that elements contradict; `exact` is False where only some were looked at."""

    rule: Rule
    elements: int
    exact: bool


@dataclass(frozen=True, eq=False)
class Kind:
    """All nodes of an operator, or of a variant that programs compute by itself.

    status     one of STATUSES; MIXED where each node has an explanation but no rule explains all
    elements   that were looked at
    groups     rules that explain every node that can be explained; those equal on every input of
               every node stand together
    excluded   rules that do not, the nearest first
    verdicts   of its nodes
    """

    name: str
    status: str
    elements: int
    groups: tuple[tuple[Rule, ...], ...]
    excluded: tuple[Excluded, ...]
    verdicts: tuple[Verdict, ...]

    @property
    def rules(self) -> tuple[Rule, ...]:
        """Rules that explain every node that can be explained."""
        return tuple(rule for group in self.groups for rule in group)

    def own(self, verdict: Verdict) -> tuple[str, ...]:
        """What is a layer's own, such as its s0, under the rules that explain all nodes."""
        fitting = (h for h in verdict.survivors if set(h.rules) & set(self.rules))
        return tuple(dict.fromkeys(h.own for h in fitting if h.own))


@dataclass(frozen=True)
class Consistency:
    """How one arithmetic throughout fares, with an accumulator that explains most.

    differing   operator -> elements that contradict it
    silent      operators that the profile has no rule for
    places      of every node what it does there: arithmetics with equal places are equal on every
                input
    """

    device: Device
    differing: tuple[tuple[str, int], ...]
    silent: tuple[str, ...]
    places: tuple[Hashable, ...] = ()

    @property
    def consistent(self) -> bool:
        return not self.differing and not self.silent

    @property
    def elements(self) -> int:
        return sum(count for _, count in self.differing)


@dataclass(frozen=True)
class Accumulators:
    """Accumulators that explain all weighted nodes.

    enough   bits from which all do, whatever they do with overflows
    others   narrower ones: bits, "wrap" or "saturate"
    needed   whether a node is explained by one of the others alone
    """

    enough: int
    others: tuple[tuple[int, str], ...]
    needed: bool

    @property
    def common(self) -> bool:
        """Whether there is one that explains every node."""
        return bool(self.others) or self.enough <= WIDEST

    def __str__(self) -> str:
        """ "saturates at 17 bits"; "18 bits or more, or saturating at 17"."""
        others = [f"{'wraps' if how == 'wrap' else 'saturates'} at {bits} bits"
                  for bits, how in self.others]  # fmt: skip
        if self.needed or self.enough > WIDEST:
            return " or ".join(others) or "none explains every layer"
        return " or ".join((f"has {self.enough} bits or more", *others))


@dataclass(frozen=True, eq=False)
class Report:
    """What was found.

    path, model   what was judged by what
    images        in the dump
    verdicts      of every node, in the order of execution
    kinds         of every operator that rounds or computes
    devices       of every profile, those that explain all first, then the nearest
    accumulators  None without weighted nodes that were explained
    notes         what was assumed
    known         the tensors of the dump by name, in the model's types
    ranges        the codes that tensors can have, where they are less than all
    """

    path: str
    model: str
    images: int
    verdicts: tuple[Verdict, ...]
    kinds: tuple[Kind, ...]
    devices: tuple[Consistency, ...]
    accumulators: Accumulators | None
    notes: tuple[str, ...] = ()
    known: Mapping[str, np.ndarray] = field(default_factory=dict)
    ranges: Ranges = field(default_factory=dict)

    @property
    def explained(self) -> bool:
        """Whether every node that was judged is explained, by one rule per operator or a profile
        that has several, and one accumulator."""
        judged = [k for k in self.kinds if k.status != SKIPPED]
        common = self.accumulators is None or self.accumulators.common
        return bool(judged) and common and not self.failed

    @property
    def failed(self) -> tuple[str, ...]:
        """Operators that are not explained."""
        wrong = (UNEXPLAINED,) if self.consistent else (UNEXPLAINED, MIXED)
        return tuple(k.name for k in self.kinds if k.status in wrong)

    @property
    def consistent(self) -> tuple[str, ...]:
        """Profiles that give every code."""
        return tuple(d.device.name for d in self.devices if d.consistent)

    @property
    def distinct(self) -> tuple[tuple[str, ...], ...]:
        """The same; those proven to be equal on every input of the model stand together."""
        found: dict[Hashable, tuple[str, ...]] = {}
        for d in self.devices:
            if d.consistent:
                found[d.places] = (*found.get(d.places, ()), d.device.name)
        return tuple(found.values())


def kinds_of(verdicts: Sequence[Verdict]) -> tuple[Kind, ...]:
    """Verdicts combined, on the assumption that a device computes an operator in one way."""
    names = dict.fromkeys(v.kind for v in verdicts)
    return tuple(_kind(name, [v for v in verdicts if v.kind == name]) for name in names)


def _kind(name: str, verdicts: Sequence[Verdict]) -> Kind:
    judged = [v for v in verdicts if v.status != SKIPPED]
    explained = [v for v in judged if v.survivors]
    rules = list(dict.fromkeys(r for v in judged for o in v.outcomes for r in o.hypothesis.rules))
    fitting = [r for r in rules if explained and all(_explains(v, r) for v in explained)]
    groups: dict[tuple[frozenset[int], ...], list[Rule]] = {}
    for rule in fitting:
        groups.setdefault(tuple(_places(v, rule) for v in explained), []).append(rule)
    found = (_excluded(judged, rule) for rule in rules if rule not in fitting)
    excluded = sorted((e for e in found if e is not None), key=lambda e: (not e.exact, e.elements))
    elements = sum(v.elements for v in judged)
    status = _status(judged, groups)
    return Kind(name, status, elements, tuple(map(tuple, groups.values())), tuple(excluded),
                tuple(verdicts))  # fmt: skip


def _status(judged: Sequence[Verdict], groups: dict[tuple[frozenset[int], ...], list[Rule]]) -> str:
    if not judged:
        return SKIPPED
    if any(v.status == UNEXPLAINED for v in judged):
        return UNEXPLAINED
    if not groups:
        return MIXED
    if any(len(places) > 1 for key in groups for places in key):
        return UNDECIDED
    if len(groups) == 1:
        return DECIDED
    bases = {rules[0].base for rules in groups.values()}
    return SCALE_OPEN if len(bases) == 1 else UNDECIDED


def _explains(verdict: Verdict, rule: Rule) -> bool:
    return bool(_places(verdict, rule))


def _places(verdict: Verdict, rule: Rule) -> frozenset[int]:
    """Groups of the node that hold the rule."""
    asked = {o.hypothesis for o in verdict.lookup(rule)}
    return frozenset(k for k, group in enumerate(verdict.groups) if asked & set(group))


def _excluded(judged: Sequence[Verdict], rule: Rule) -> Excluded | None:
    """Elements that contradict a rule; None where it is known of no node."""
    found = [min(v.lookup(rule), key=lambda o: (o.differing, not o.exact), default=None)
             for v in judged]  # fmt: skip
    known = [o for o in found if o is not None]
    total = sum(o.differing for o in known)
    return Excluded(rule, total, all(o.exact for o in known)) if total else None


def devices_of(graph: Graph, verdicts: Sequence[Verdict]) -> tuple[Consistency, ...]:
    """How every profile fares; those without a rule for most operators come last."""
    found = [_consistency(graph, verdicts, device) for device in DEVICES]
    return tuple(sorted(found, key=lambda c: (len(c.silent), c.elements)))


def _consistency(graph: Graph, verdicts: Sequence[Verdict], device: Device) -> Consistency:
    differing: dict[str, int] = {}
    silent: dict[str, None] = {}
    for v in verdicts:
        count = None if v.status == SKIPPED else _contradicting(graph, v, device)
        if count is None and v.status != SKIPPED:
            silent[v.kind] = None
        elif count:
            differing[v.kind] = differing.get(v.kind, 0) + count
    places = tuple(_place(graph, v, device) for v in verdicts)
    return Consistency(device, tuple(differing.items()), tuple(silent), places)


def _place(graph: Graph, v: Verdict, device: Device) -> Hashable:
    """The groups of the node that hold the device's rule; its name where nothing is proven."""
    rule = device.rule(graph, graph.node(v.node))
    if rule is None or v.status == SKIPPED or v.together:
        return rule
    groups = enumerate(v.groups)
    return frozenset(k for k, group in groups if any(is_named(h, rule) for h in group))


def _contradicting(graph: Graph, v: Verdict, device: Device) -> int | None:
    """Elements of a node that contradict a device; None where it has no rule."""
    if v.devices is not None:
        # of nodes judged together the last one says it for all
        return v.devices.get(device.name) if v.devices else 0
    rule = device.rule(graph, graph.node(v.node))
    if rule is None:
        return None
    if any(is_named(h, rule) for h in v.survivors):
        return 0
    outcome = contradicted(v.outcomes, rule)
    return None if outcome is None else outcome.differing


def accumulators_of(verdicts: Sequence[Verdict]) -> Accumulators | None:
    """Accumulators that explain every weighted node that some explains."""
    known = [v for v in verdicts if v.widths is not None and v.survivors]
    if not known:
        return None
    every = [(bits, how) for bits in range(NARROWEST, WIDEST + 1) for how in ("wrap", "saturate")]
    fitting = [a for a in every if all(_allows(v, *a) for v in known)]
    enough = WIDEST + 1
    while enough > NARROWEST and {(enough - 1, "wrap"), (enough - 1, "saturate")} <= set(fitting):
        enough -= 1
    needed = any(not _by_exact_sums(v) for v in known)
    return Accumulators(enough, tuple(a for a in fitting if a[0] < enough), needed)


def _allows(verdict: Verdict, bits: int, overflow: str) -> bool:
    assert verdict.widths is not None
    if _by_exact_sums(verdict) and bits >= verdict.widths.untouched:
        return True
    return (bits, overflow) in {(w.bits, w.overflow) for w in verdict.widths.narrower}


def _by_exact_sums(verdict: Verdict) -> bool:
    fitting: set[Hypothesis] = {o.hypothesis for o in verdict.outcomes if not o.differing}
    return bool(fitting)
