"""An input that tells apart what a dump leaves open.

Candidates are drawn and run; one is kept when some element of some node comes out otherwise under
two of the rules still standing. Where that is rare, candidates whose sums come near an accumulator
at which two rules differ are changed a little, again and again. What is kept is then tried on
every device still possible: each must be told from every other.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..engine import Session
from ..graph import Graph
from ..plurals import counted
from ..resize import batch_separable, with_batch
from .candidates import children, drawn, sources
from .questions import Question, questions
from .report import Report
from .worlds import World, worlds

MOST_IMAGES = 256
BATCH = 32
"""Images that are drawn at a time, or a few more where the model declares a batch."""
MOST_MACS = 60_000_000_000
FEWEST_BATCHES, MOST_BATCHES = 20, 800
WANTED = (1, 3, 8)
"""Separating elements that are looked for; more where fewer do not tell all devices apart."""
Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Suggestion:
    """An input made to decide.

    inputs   by name: the dump's own images, which decide what they have decided, and new ones
    new      how many are new
    tried    images that were drawn
    decided  operator or node -> what it tells apart
    left     the same -> what it does not
    """

    inputs: Arrays
    new: int
    tried: int
    decided: tuple[str, ...]
    left: tuple[str, ...]

    @property
    def images(self) -> int:
        return len(next(iter(self.inputs.values())))

    @property
    def lines(self) -> tuple[str, ...]:
        """What it decides and what it does not, in words."""
        return (*self.decided, *self.left)

    def __str__(self) -> str:
        own = self.images - self.new
        new = counted(self.new, "new image")
        first = f"the dump's {own} and {new}" if own else new
        return f"suggested input: {first}, of {self.tried:,} that were tried"


def suggest(graph: Graph, report: Report, seed: int = 0) -> Suggestion | None:
    """An input, for the model, that tells apart the rules still standing.

    report   of a dump, whose inputs are a start
    returns  None where nothing is open
    raises   ValueError for a model whose images are not independent
    """
    if not batch_separable(graph):
        raise ValueError(f"{graph.name}: images of a batch must be independent to suggest an input")
    asked = questions(graph, report)
    if not asked:
        return None
    search = _Search(graph, asked, seed, report)
    possible = worlds(graph, report, asked)
    left: list[tuple[Question, int, int]] = []
    for wanted in WANTED:
        search.run(wanted)
        search.thin_out(wanted)
        left = _left(possible, asked, search.inputs)
        if not left or search.exhausted:
            break
    return _said(asked, search, left)


@dataclass(frozen=True, eq=False)
class _Kept:
    """An image, inputs by name, and the elements by which it tells pairs apart."""

    image: Arrays
    counts: Mapping[Question, np.ndarray]


class _Search:
    """Images that were kept, and what is still open."""

    def __init__(self, graph: Graph, asked: Sequence[Question], seed: int, report: Report) -> None:
        profile = next(iter(report.consistent), graph.profile).split(" ")[0]
        self.session = Session(replace(graph, profile=profile))
        self.asked = asked
        self.rng = np.random.Generator(np.random.PCG64(seed))
        self.sources = sources(with_batch(graph, 1), dict(report.known))
        self.kept: list[_Kept] = []
        self.tried = self.batches = 0
        self.declared = graph.tensors[graph.inputs[0]].shape[0]
        self.size = -(-BATCH // self.declared) * self.declared
        macs = max(self.session.macs, 1)
        self.most = min(max(MOST_MACS // (macs * self.size), FEWEST_BATCHES), MOST_BATCHES)

    @property
    def exhausted(self) -> bool:
        return self.batches >= self.most or len(self.kept) >= MOST_IMAGES

    @property
    def inputs(self) -> dict[str, np.ndarray]:
        """What was kept, as a batch; the last image again where the model declares more."""
        if not self.kept:
            return {s.tensor.name: drawn(self.rng, s, self.declared) for s in self.sources}
        more = -len(self.kept) % self.declared
        kept = [*self.kept, *self.kept[-1:] * more]
        names = [s.tensor.name for s in self.sources]
        return {name: np.stack([k.image[name] for k in kept]) for name in names}

    def with_known(self) -> dict[str, np.ndarray]:
        """The dump's own images, and what was kept."""
        found = self.inputs
        for s in self.sources:
            if s.known is None:
                return found
        return {s.tensor.name: np.concatenate([s.known, found[s.tensor.name]])
                for s in self.sources if s.known is not None}  # fmt: skip

    def run(self, wanted: int) -> None:
        """Draw until every pair of rules has so many separating elements, or it takes too long."""
        while not self.exhausted and any(q.open(wanted) for q in self.asked):
            batch = self._batch(wanted)
            self.batches += 1
            count = len(next(iter(batch.values())))
            self.tried += count
            values = dict(self.session.trace(batch))
            gains = {q: q.counts(values, count, wanted) for q in self.asked if q.open(wanted)}
            progress: set[Question] = set()
            for image in range(count):
                gain = sum(q.gain(c[image], wanted) for q, c in gains.items())
                if gain and len(self.kept) < MOST_IMAGES:
                    counts = {q: c[image] for q, c in gains.items()}
                    self.kept.append(_Kept({n: x[image] for n, x in batch.items()}, counts))
                    progress |= {q for q, c in counts.items() if q.gain(c, wanted)}
                    for q, c in counts.items():
                        q.add(c)
            for q in gains:
                q.proceed(q in progress, wanted)

    def thin_out(self, wanted: int) -> None:
        """Drop images without which every pair still has as many elements as wanted, or as had."""
        for kept in list(self.kept):
            if all(q.can_spare(c, wanted) for q, c in kept.counts.items()):
                self.kept.remove(kept)
                for q, c in kept.counts.items():
                    q.add(-c)

    def _batch(self, wanted: int) -> dict[str, np.ndarray]:
        """New images; every second time children of those that came near."""
        near = [q.pursuit.elite for q in self.asked if q.open(wanted) and q.pursuit.elite]
        if near and self.batches % 4:
            parents = near[self.batches % len(near)]
            batch = {}
            for s in self.sources:
                images = [parent[s.tensor.name] for parent in parents]
                batch[s.tensor.name] = children(self.rng, s, images, self.size)
        else:
            batch = {s.tensor.name: drawn(self.rng, s, self.size) for s in self.sources}
        open_still = [q for q in self.asked if q.open(wanted)]
        if self.batches % 2:
            asked = open_still[self.batches // 2 % len(open_still)]
            batch = asked.pursuit.solved(batch, self.rng) or batch
        for q in self.asked:
            q.batch = batch
        return batch


def _left(
    possible: Sequence[World], asked: Sequence[Question], inputs: Arrays
) -> list[tuple[Question, int, int]]:
    """Pairs of rules that some device still possible would leave open: its own, and another."""
    memo: dict = {}
    found = []
    for world in possible:
        values = world.run(inputs, memo)
        for q in asked:
            found += [(q, own, other) for own, other in q.confused(world.choice, values)]
    return list(dict.fromkeys(found))


def _said(
    asked: Sequence[Question], search: _Search, left: Sequence[tuple[Question, int, int]]
) -> Suggestion:
    decided, open_still = [], []
    for q in asked:
        mine = {frozenset((a, b)) for other, a, b in left if other is q}
        told = q.pairs - len(mine)
        if told:
            decided.append(f"{q.name}: tells apart {told} of {q.pairs} pairs of rules")
        for pair in sorted(map(sorted, mine)):
            a, b = (q.words(k) for k in pair)
            open_still.append(f"{q.name}: does not tell apart {a} and {b}")
    return Suggestion(
        search.with_known(), len(search.kept), search.tried, tuple(decided), tuple(open_still)
    )
