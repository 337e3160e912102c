"""A pair of alternatives after the other, and the images that come nearest to telling it apart."""

from collections.abc import Mapping, Sequence

import numpy as np

from ..diff.replay import Part
from ..graph import Graph
from ..headroom import WEIGHTED
from .aims import Aim, aim
from .approach import approach
from .hypothesis import Hypothesis, States
from .ranges import Ranges
from .solve import Solver, source_of

Arrays = Mapping[str, np.ndarray]
Alternative = Mapping[str, Sequence[Hypothesis]]
"""Node -> hypotheses, one of which it follows."""

FEW_OUTPUTS = 4096
"""Outputs of an image up to which it is worth while to come near a decision step by step."""
ELITE = 8


class Pursuit:
    """What is known of the pair that is looked for.

    steps         nodes alone
    alternatives  for these nodes
    target        the pair; None at first
    stale         batches without progress
    by_chance     whether nothing tells how near an input comes
    """

    def __init__(
        self,
        graph: Graph,
        steps: Mapping[str, Part],
        alternatives: Sequence[Alternative],
        ranges: Ranges,
    ) -> None:
        self.steps, self.alternatives = steps, alternatives
        self.target: tuple[int, int] | None = None
        self.stale = 0
        self.by_chance = all(not approach(p.graph, p.last).pointwise for p in steps.values())
        self._ranges = ranges
        self._nearest: list[tuple[float, dict[str, np.ndarray]]] = []
        self._aims: dict[tuple[str, int, int], Aim | None] = {}
        weighted = {node: part for node, part in steps.items() if part.last.op in WEIGHTED}
        read = {node: source_of(graph, part) for node, part in weighted.items()}
        self._solvers = {n: (x, Solver(steps[n])) for n, x in read.items() if x is not None}

    @property
    def elite(self) -> list[dict[str, np.ndarray]]:
        """Images that came nearest."""
        return [image for _, image in self._nearest]

    def aim_at(self, target: tuple[int, int] | None) -> None:
        """Another pair, or none."""
        if target != self.target:
            self.target, self._nearest, self.stale = target, [], 0

    def watch(self, node: str, states: States, batch: Arrays) -> None:
        """Remember the images whose states at a node are nearest to where the pair differs.

        batch   the model's inputs that the states came of, (images, ..) by name
        """
        part = self.steps[node]
        outputs = np.prod(part.graph.tensors[part.last.outputs[0]].shape[1:])
        aimed = None if outputs > FEW_OUTPUTS else self._aim(node)
        if aimed is None:
            return
        images = len(next(iter(batch.values())))
        distance = aimed.nearest(states).reshape(images, -1).min(axis=1)
        best = self._nearest[0][0] if self._nearest else None
        for image in np.argsort(distance)[:ELITE].tolist():
            member = {name: x[image] for name, x in batch.items()}
            self._nearest.append((float(distance[image]), member))
        self._nearest = sorted(self._nearest, key=lambda e: e[0])[:ELITE]
        if best is not None and self._nearest[0][0] < best:
            self.stale = 0

    def solved(self, inputs: Arrays, rng: np.random.Generator) -> dict[str, np.ndarray] | None:
        """The inputs, changed so that sums are where the pair differs; None where no node reads an
        input, or the pair differs at no sum that is known.

        inputs   (images, ..) by name
        """
        for node, (name, solver) in self._solvers.items():
            aimed = self._aim(node)
            if aimed is not None and aimed.sums is not None:
                images = solver.images(aimed.sums, inputs[name], rng)
                return None if images is None else {**inputs, name: images}
        return None

    def _aim(self, node: str) -> Aim | None:
        if self.target is None:
            return None
        key = node, *self.target
        if key not in self._aims:
            first, second = (self.alternatives[k][node][0] for k in self.target)
            self._aims[key] = aim(self.steps[node], self._ranges, first, second)
        return self._aims[key]
