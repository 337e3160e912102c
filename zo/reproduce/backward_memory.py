"""Memory that backpropagation would take, by accounting: C has no kernels for it.

One image at a time, from the logits down to the first trained layer. The gradient of a layer's
input needs its weights, and which outputs were clamped, where it is zero; a trained layer's own
gradient needs the layer's input. Gradients of activations live from their first use to the last.

least   a bit for each output that may be clamped, trained layers' inputs and gradients in int8
plain   outputs of all these layers, trained layers' inputs and gradients in float32
"""

from collections.abc import Collection
from math import prod
from typing import NamedTuple

from npusim import Graph
from npusim.graph import ABSENT, Node

LINEAR = frozenset({"conv2d", "depthwise_conv2d", "fully_connected", "add", "mean",
                    "average_pool2d", "reshape", "transpose", "pad"})  # fmt: skip
"""Operators whose inputs' gradients need no activation."""
UNCLAMPED = frozenset({"mean", "average_pool2d", "reshape", "transpose", "pad"})
FLOAT_BYTES = 4


class Backward(NamedTuple):
    """Bytes of one image's backward pass.

    kept        by the forward pass for it
    gradients   of activations, at the moment that needs most
    """

    kept: int
    gradients: int


class _Pass(NamedTuple):
    """Counts of numbers.

    inputs      of trained layers, and of those whose gradient needs them
    outputs     of all layers on the way
    clamped     of these, that may be clamped
    gradients   at the most
    """

    inputs: int
    outputs: int
    clamped: int
    gradients: int


def least_backward(graph: Graph, trained: Collection[str]) -> Backward:
    """Of a pass that keeps as little as is possible; `trained` are names of weights."""
    found = _count(graph, trained)
    return Backward(found.inputs + -(-found.clamped // 8), found.gradients)


def plain_backward(graph: Graph, trained: Collection[str]) -> Backward:
    """Of a pass in float32 that keeps every layer's output, as frameworks do."""
    found = _count(graph, trained)
    first = _inputs_from_outside(graph, trained)
    return Backward(FLOAT_BYTES * (found.outputs + first), FLOAT_BYTES * found.gradients)


def _count(graph: Graph, trained: Collection[str]) -> _Pass:
    reached = _reached(graph, trained)
    nodes = [node for node in graph.nodes if node.outputs[0] in reached]
    needed = {i for node in nodes for i in _needed(graph, node, trained)}
    clamped = [node.outputs[0] for node in nodes if node.op not in UNCLAMPED]
    return _Pass(
        sum(_size(graph, i) for i in needed),
        sum(_size(graph, node.outputs[0]) for node in nodes),
        sum(_size(graph, i) for i in clamped),
        _most_gradients(graph, nodes, reached),
    )


def _reached(graph: Graph, trained: Collection[str]) -> set[int]:
    """Activations that depend on what is trained."""
    found: set[int] = set()
    for node in graph.nodes:
        if _is_trained(graph, node, trained) or found.intersection(node.inputs):
            found.update(node.outputs)
    return found


def _is_trained(graph: Graph, node: Node, trained: Collection[str]) -> bool:
    return any(graph.tensors[i].name in trained for i in node.inputs[1:] if i != ABSENT)


def _needed(graph: Graph, node: Node, trained: Collection[str]) -> tuple[int, ...]:
    """Inputs that the node's backward pass reads."""
    if _is_trained(graph, node, trained):
        return node.inputs[:1]
    if node.op in LINEAR:
        return ()
    return tuple(i for i in node.inputs if i != ABSENT and graph.tensors[i].kind != "constant")


def _inputs_from_outside(graph: Graph, trained: Collection[str]) -> int:
    """Numbers that trained layers read and that no layer on the way has made."""
    reached = _reached(graph, trained)
    read = {node.inputs[0] for node in graph.nodes if _is_trained(graph, node, trained)}
    return sum(_size(graph, i) for i in read - reached)


def _most_gradients(graph: Graph, nodes: list[Node], reached: set[int]) -> int:
    """Numbers of gradients that exist at once, at the most."""
    live = {nodes[-1].outputs[0]} if nodes else set()
    most = 0
    for node in reversed(nodes):
        live |= reached.intersection(node.inputs) | set(node.outputs)
        most = max(most, sum(_size(graph, i) for i in live))
        live -= set(node.outputs)
    return most


def _size(graph: Graph, tensor: int) -> int:
    return prod(graph.tensors[tensor].shape)
