"""Hypotheses about operators that have no states: softmax, real numbers, data that only moves."""

from math import prod

import numpy as np

from ..affine import LIMITS
from ..diff.ideal import ideal
from ..graph import ABSENT, Graph, Node
from ..parameters import Structs
from ..reference import execute
from .arithmetics import bound
from .hypothesis import Codes, Hypothesis, States
from .ranges import Ranges

MOST_CLASSES = 3
"""Of a softmax whose rows are all gone through."""


def states(graph: Graph, node: Node, operands: list[np.ndarray]) -> States:
    """The operands as they are."""
    return tuple(operands)


def domain(graph: Graph, node: Node, ranges: Ranges) -> States | None:
    """Of a softmax of few classes every row, up to what is added to all of its logits."""
    shape = graph.tensors[node.inputs[0]].shape
    classes, rows = shape[-1] if shape else 0, prod(shape[:-1])
    if node.op != "softmax" or not 2 <= classes <= MOST_CLASSES:
        return None
    low, high = LIMITS[graph.tensors[node.inputs[0]].dtype]
    if high - low > 255:
        return None
    grid = np.meshgrid(*[np.arange(low, high + 1)] * classes, indexing="ij")
    x = np.stack([axis.reshape(-1) for axis in grid], axis=1)
    x = x[x.max(axis=1) == high].astype(graph.tensors[node.inputs[0]].dtype)
    whole = np.concatenate([x, x[: -len(x) % rows]])
    return (whole.reshape(-1, *shape[1:]),)


def hypotheses(graph: Graph, node: Node) -> list[Hypothesis]:
    """Every rule of the library; the exact softmax, rounded."""
    if node.op in ("pad", "reshape", "transpose"):
        return [Hypothesis(("exact",), _executed(graph, node, ()))]
    found = [Hypothesis(b.names, _executed(graph, node, b.structs)) for b in bound(graph, node)]
    if node.op == "softmax":
        found.append(Hypothesis(("exact softmax, rounded to nearest",), _ideal(graph, node)))
    return found


def _executed(graph: Graph, node: Node, structs: Structs) -> Codes:
    def codes(operands: States) -> np.ndarray:
        values = _values(graph, node, operands)
        execute(graph, [0], [structs], values)
        y = values[node.outputs[0]].reshape(-1)
        return y if y.dtype.kind == "f" else y.astype(np.int64)

    return codes


def _ideal(graph: Graph, node: Node) -> Codes:
    def codes(operands: States) -> np.ndarray:
        values = _values(graph, node, operands)
        named = {graph.tensors[i].name: v for i, v in values.items()}
        found = ideal(graph, named)
        if found is None:
            return np.full(operands[0].size, LIMITS["int32"][0])
        return found.clamp(np.rint(found.steps)).reshape(-1)

    return codes


def _values(graph: Graph, node: Node, operands: States) -> dict[int, np.ndarray]:
    present = [i for i in node.inputs if i != ABSENT]
    return dict(zip(present, operands, strict=True))
