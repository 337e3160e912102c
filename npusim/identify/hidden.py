"""Nodes whose tensors the dump does not have, judged together with the next one that it has.

Two roundings or fewer are tried in every combination, on few images first. Behind more, only
devices that follow one arithmetic throughout are tried.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from ..diff.replay import Part, leading_to
from ..graph import Graph, Node
from .approach import approach, states_of
from .devices import DEVICES, is_named
from .hypothesis import Hypothesis, Outcome
from .verdict import DECIDED, SKIPPED, UNDECIDED, UNEXPLAINED, Verdict, unjudged

MOST_ROUNDINGS = 2
FEW = 1
"""Images on which combinations are tried first."""
MOST_CHOICES = 64
"""Combinations of what is the layers' own that are tried of a device."""
Arrays = Mapping[str, np.ndarray]
Choice = tuple[Hypothesis, ...]
"""A hypothesis for every node in order."""


@dataclass(frozen=True, eq=False)
class Chain:
    """Nodes one after the other, and what they start from.

    steps        every node alone
    hypotheses   of every node
    """

    part: Part
    steps: Sequence[Part]
    hypotheses: Sequence[Sequence[Hypothesis]]
    inputs: Arrays
    actual: np.ndarray

    @classmethod
    def of(cls, part: Part, inputs: Arrays, actual: np.ndarray) -> "Chain":
        """The nodes of a part."""
        graph = part.graph
        names = [t.name for t in graph.tensors]
        made = [graph.tensors[node.outputs[0]].name for node in graph.nodes]
        steps = [leading_to(graph, name, names) for name in made]
        hypotheses = [approach(s.graph, s.last).hypotheses(s.graph, s.last) for s in steps]
        return cls(part, steps, hypotheses, inputs, actual)

    def first(self, images: int) -> "Chain":
        """The same on the first images."""
        count = len(next(iter(self.inputs.values())))
        share = max(1, len(self.actual) // max(count, 1))
        inputs = {name: x[:images] for name, x in self.inputs.items()}
        return replace(self, inputs=inputs, actual=self.actual[: images * share])


def verdicts(part: Part, inputs: Arrays, actual: np.ndarray) -> list[Verdict]:
    """What a tensor says of all nodes that lead to it from the nearest tensors of the dump."""
    chain = Chain.of(part, inputs, actual)
    nodes = part.graph.nodes
    roundings = sum(len(hypotheses) > 1 for hypotheses in chain.hypotheses)
    if roundings <= MOST_ROUNDINGS:
        few = chain.first(FEW)
        left = [c for c, differing in _tried(few, _tree(few)) if not differing]
        results = _tried(chain, left) if left else []
    else:
        results = []
    devices = _by_device(chain)
    results += [result for found in devices.values() for result in found]
    fitting = list(dict.fromkeys(choice for choice, differing in results if not differing))
    whole = roundings <= MOST_ROUNDINGS
    made = [_verdict(chain, k, node, fitting, results, whole) for k, node in enumerate(nodes)]
    least = {name: min(differing for _, differing in found) for name, found in devices.items()}
    return [*(replace(v, devices={}) for v in made[:-1]), replace(made[-1], devices=least)]


def _tree(chain: Chain) -> list[Choice]:
    """Every combination."""
    choices: list[Choice] = [()]
    for hypotheses in chain.hypotheses:
        choices = [(*choice, h) for choice in choices for h in hypotheses]
    return choices


def _tried(chain: Chain, choices: Sequence[Choice]) -> list[tuple[Choice, int]]:
    """How many elements contradict each combination; equal tensors on the way are made once."""
    level: list[tuple[list[Choice], Arrays]] = [(list(choices), chain.inputs)]
    for k, step in enumerate(chain.steps):
        name = step.graph.tensors[step.last.outputs[0]].name
        level = [
            (group, {**values, name: y})
            for members, values in level
            for group, y in _branches(chain, k, members, values)
        ]
    found = []
    for members, values in level:
        (last,) = (chain.part.graph.tensors[i].name for i in chain.part.graph.outputs)
        differing = int(np.count_nonzero(values[last].astype(np.int64) != chain.actual))
        found += [(choice, differing) for choice in members]
    return found


def _branches(
    chain: Chain, k: int, members: Iterable[Choice], values: Arrays
) -> Iterator[tuple[list[Choice], np.ndarray]]:
    """Combinations that make the same of node k, and what they make."""
    graph, node = chain.steps[k].graph, chain.steps[k].last
    states = states_of(graph, node, dict(values))
    y = graph.tensors[node.outputs[0]]
    made: dict[int, bytes] = {}
    groups: dict[bytes, tuple[list[Choice], np.ndarray]] = {}
    for choice in members:
        h = choice[k]
        if id(h) not in made:
            codes = h.codes(states).reshape(-1, *y.shape[1:]).astype(y.dtype)
            made[id(h)] = sha256(codes.tobytes()).digest()
            groups.setdefault(made[id(h)], ([], codes))
        groups[made[id(h)]][0].append(choice)
    yield from groups.values()


def _by_device(chain: Chain) -> dict[str, list[tuple[Choice, int]]]:
    """Every device that has rules for all nodes, with what may be a layer's own."""
    wanted: dict[str, list[Choice]] = {}
    for device in DEVICES:
        choices: list[Choice] = [()]
        for step, hypotheses in zip(chain.steps, chain.hypotheses, strict=True):
            rule = device.rule(step.graph, step.last)
            fitting = [h for h in hypotheses if rule is not None and is_named(h, rule)]
            choices = [(*c, h) for c in choices for h in fitting][:MOST_CHOICES]
        wanted[device.name] = choices
    tried = dict(_tried(chain, [c for choices in wanted.values() for c in choices]))
    return {name: [(c, tried[c]) for c in choices] for name, choices in wanted.items() if choices}


def _verdict(
    chain: Chain,
    k: int,
    node: Node,
    fitting: Sequence[Choice],
    results: Sequence[tuple[Choice, int]],
    whole: bool,
) -> Verdict:
    graph: Graph = chain.part.graph
    others = tuple(n.name for n in graph.nodes if n is not node)
    survivors = tuple(dict.fromkeys(choice[k] for choice in fitting))
    least: dict[Hypothesis, int] = {}
    for choice, differing in results:
        least[choice[k]] = min(differing, least.get(choice[k], differing))
    least |= dict.fromkeys(survivors, 0)
    outcomes = tuple(Outcome(h, differing) for h, differing in least.items())
    if survivors:
        status = DECIDED if len(survivors) == 1 else UNDECIDED
    else:
        status = UNEXPLAINED if whole else SKIPPED
    reason = "" if whole or survivors else (
        "too many tensors before it are not in the dump, and no profile explains it"
    )  # fmt: skip
    return replace(unjudged(graph, node), status=status, elements=chain.actual.size,
                   outcomes=outcomes, groups=tuple((h,) for h in survivors),
                   together=others, reason=reason)  # fmt: skip
