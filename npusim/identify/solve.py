"""Inputs at which a sum of a layer is a given number, for layers that read the model's input.

A sum is linear in the codes it is of. From some image on, the codes under one position are moved,
the heaviest weights first, until nothing is missing.
"""

import numpy as np

from ..affine import LIMITS, zero_point
from ..diff.ideal import exact_sums
from ..diff.replay import Part
from ..graph import Graph

MOST_WEIGHTS = 1 << 22
"""Weights from every input to every output of a layer."""
ROUNDS, TRIES = 12, 8


def source_of(graph: Graph, part: Part) -> str | None:
    """The input of the model whose codes, in their order, a node reads; None where it reads others,
    or images in batches."""
    made = {node.outputs[0]: node for node in graph.nodes}
    names = [t.name for t in graph.tensors]
    i = names.index(part.graph.tensors[part.last.inputs[0]].name)
    while i in made and made[i].op == "reshape":
        i = made[i].inputs[0]
    single = bool(graph.tensors[i].shape) and graph.tensors[i].shape[0] == 1
    return names[i] if i in graph.inputs and single else None


class Solver:
    """Of one node that reads an input of the model.

    weights   int64 (inputs, outputs, O): how a sum grows with a code
    """

    def __init__(self, part: Part) -> None:
        self._part = part
        self._x = part.graph.tensors[part.last.inputs[0]]
        self._weights: np.ndarray | None = None

    def images(
        self, targets: np.ndarray, base: np.ndarray, rng: np.random.Generator
    ) -> np.ndarray | None:
        """Images that reach targets, the first ones of `base` where none is found.

        targets   (channel, sum) each: int64 (t, 2)
        base      (images, ..), where the search begins, of the model's input
        returns   None where there are too many weights
        """
        weights = self._all_weights()
        if weights is None:
            return None
        made = base.copy()
        for image in made:
            flat = image.reshape(-1)
            for _ in range(TRIES):
                channel, wanted = targets[int(rng.integers(len(targets)))].tolist()
                solved = self._reach(weights[:, :, channel], flat, (channel, wanted), rng)
                if solved is not None:
                    flat[:] = solved
                    break
        return made

    def _reach(
        self,
        weights: np.ndarray,
        flat: np.ndarray,
        target: tuple[int, int],
        rng: np.random.Generator,
    ) -> np.ndarray | None:
        channel, wanted = target
        position = int(rng.integers(weights.shape[1]))
        column = weights[:, position]
        used = np.flatnonzero(column)
        if not used.size:
            return None
        x = flat.astype(np.int64)
        missing = wanted - int(self._sums(flat)[position, channel])
        low, high = LIMITS[self._x.dtype]
        for kicked in rng.choice(used, ROUNDS).tolist():
            # heavy weights first, which of equal ones by chance
            for i in used[np.lexsort((rng.random(len(used)), -np.abs(column[used])))].tolist():
                step = round(missing / int(column[i]))
                moved = min(max(int(x[i]) + step, low), high) - int(x[i])
                x[i] += moved
                missing -= moved * int(column[i])
            if not missing:
                return x.astype(flat.dtype)
            # what is left is less than any weight moves: begin again from elsewhere
            moved = int(rng.integers(low, high + 1)) - int(x[kicked])
            x[kicked] += moved
            missing -= moved * int(column[kicked])
        return None

    def _sums(self, flat: np.ndarray) -> np.ndarray:
        """(outputs, O)"""
        x = flat.reshape(self._x.shape)
        acc = exact_sums(self._part.graph, self._part.last, x)
        return acc.reshape(-1, acc.shape[-1])

    def _all_weights(self) -> np.ndarray | None:
        if self._weights is None:
            size = int(np.prod(self._x.shape))
            y = int(np.prod(self._part.graph.tensors[self._part.last.outputs[0]].shape))
            if size * y > MOST_WEIGHTS:
                return None
            zero = np.full(size, zero_point(self._x), self._x.dtype)
            # one code more or, at the largest, one less
            step = -1 if zero_point(self._x) == LIMITS[self._x.dtype][1] else 1
            ones = zero + step * np.eye(size, dtype=self._x.dtype)
            start = self._sums(zero)
            acc = exact_sums(
                self._part.graph, self._part.last, ones.reshape(-1, *self._x.shape[1:])
            )
            self._weights = (acc.reshape(size, *start.shape) - start) * step
        return self._weights
