"""How a node is looked at: its states, the hypotheses about it, and all states there can be."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..graph import ABSENT, Graph, Node
from . import averages, direct, elementwise, weighted
from .hypothesis import Hypothesis, States
from .ranges import Ranges


class Approach(NamedTuple):
    """What a module knows of its operators.

    states      (graph, node, operands) -> columns of states
    hypotheses  (graph, node) -> hypotheses
    domain      (graph, node, ranges) -> all states there can be; None where they are not listed
    pointwise   whether there is one state for every element
    """

    states: Callable[[Graph, Node, list[np.ndarray]], States]
    hypotheses: Callable[[Graph, Node], list[Hypothesis]]
    domain: Callable[[Graph, Node, Ranges], States | None]
    pointwise: bool = True


def _nothing(graph: Graph, node: Node, ranges: Ranges) -> None:
    return None


WEIGHTED = Approach(weighted.states, weighted.hypotheses, _nothing)
ELEMENTWISE = Approach(elementwise.states, elementwise.hypotheses, elementwise.domain)
MEAN = Approach(averages.mean_states, averages.mean_hypotheses, averages.mean_domain)
POOL = Approach(averages.pool_states, averages.pool_hypotheses, averages.pool_domain)
DIRECT = Approach(direct.states, direct.hypotheses, direct.domain, pointwise=False)


def approach(graph: Graph, node: Node) -> Approach:
    """The approach to a node."""
    if node.op in weighted.OPERATORS:
        return WEIGHTED
    if node.op == "mean":
        return MEAN
    if node.op == "average_pool2d":
        return POOL
    real = graph.tensors[node.inputs[0]].dtype == "float32"
    if node.op in elementwise.BINARY or (node.op in elementwise.UNARY and not real):
        return ELEMENTWISE
    return DIRECT


def states_of(graph: Graph, node: Node, inputs: dict[str, np.ndarray]) -> States:
    """The states of a node's elements.

    inputs   activations by name
    """
    return approach(graph, node).states(graph, node, operands(graph, node, inputs))


def operands(graph: Graph, node: Node, inputs: dict[str, np.ndarray]) -> list[np.ndarray]:
    """The values a node reads, constants included."""
    found = []
    for i in node.inputs:
        if i != ABSENT:
            tensor = graph.tensors[i]
            found.append(inputs[tensor.name] if tensor.data is None else tensor.data)
    return found
