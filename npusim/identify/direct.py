"""Hypotheses about operators that have no states: softmax, real numbers, data that only moves."""

import numpy as np

from ..affine import LIMITS
from ..diff.ideal import ideal
from ..graph import ABSENT, Graph, Node
from ..parameters import Structs
from ..reference import execute
from .arithmetics import bound
from .hypothesis import Codes, Hypothesis, States


def states(graph: Graph, node: Node, operands: list[np.ndarray]) -> States:
    """The operands as they are."""
    return tuple(operands)


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
