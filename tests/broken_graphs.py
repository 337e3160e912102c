"""A legal graph, and changes that break it in one way."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from graphs import Draft

from npusim.graph import Graph, Node, Quantization, Tensor

WINDOW = {"kernel": (2, 2), "stride": (2, 2), "padding": "valid", "activation": "none"}
PROBABILITIES = {"scale": 1 / 256, "zero_point": -128}
Change = Callable[[Graph], Graph]


def legal() -> Graph:
    """A graph of every kind of operator; the number in a tensor's name is its index."""
    draft = Draft(seed=1)
    x = draft.input((1, 6, 6, 4))
    a = draft.conv2d(x, 8)  # weights_1 bias_2 y_3
    b = draft.depthwise_conv2d(a)  # weights_4 bias_5 y_6
    c = draft.node("add", (a, b), activation="relu")  # y_7
    p = draft.node("average_pool2d", (c,), **WINDOW)  # y_8
    q = draft.node("pad", (p,), padding=((0, 0), (1, 1), (0, 0), (0, 0)))  # y_9
    t = draft.node("transpose", (q,), permutation=(0, 2, 1, 3))  # y_10
    m = draft.node("mean", (t,), axes=(1, 2), keep_dims=False)  # y_11
    r = draft.node("reshape", (m,), shape=(1, 8))  # y_12
    f = draft.fully_connected(r, 5)  # weights_13 bias_14 y_15
    s = draft.node("softmax", (f,), affine=PROBABILITIES, beta=1.0)  # y_16
    return draft.graph(draft.node("dequantize", (s,), dtype="float32"))  # y_17


def tensor(index: int, **changes: Any) -> Change:
    """Change fields of one tensor."""

    def change(graph: Graph) -> Graph:
        tensors = list(graph.tensors)
        tensors[index] = replace(tensors[index], **changes)
        return replace(graph, tensors=tuple(tensors))

    return change


def node(which: str, **changes: Any) -> Change:
    """Change fields of one node."""

    def change(graph: Graph) -> Graph:
        nodes = (replace(n, **changes) if n.name == which else n for n in graph.nodes)
        return replace(graph, nodes=tuple(nodes))

    return change


def attribute(which: str, **changes: Any) -> Change:
    """Change attributes of one node."""

    def change(graph: Graph) -> Graph:
        attributes = {**graph.node(which).attributes, **changes}
        return node(which, attributes=attributes)(graph)

    return change


def scales(index: int, scale: Any, zero_point: Any = 0, axis: int | None = None) -> Change:
    """Change a tensor's quantisation."""
    return tensor(index, quantization=Quantization(scale, zero_point, axis))


def graph(**changes: Any) -> Change:
    """Change fields of the graph."""
    return lambda legal_graph: replace(legal_graph, **changes)


def values(index: int, data: np.ndarray, axis: int | None = None) -> Change:
    """Change a constant's shape, type and values, with one scale or ones along `axis`."""
    count = 1 if axis is None else data.shape[axis]
    q = Quantization(np.full(count, 0.01), np.zeros(count), axis)
    return tensor(index, shape=data.shape, dtype=str(data.dtype), data=data, quantization=q)


def swapped(first: int, second: int) -> Change:
    """Exchange two nodes in the order of execution."""

    def change(legal_graph: Graph) -> Graph:
        nodes = list(legal_graph.nodes)
        nodes[first], nodes[second] = nodes[second], nodes[first]
        return replace(legal_graph, nodes=tuple(nodes))

    return change


def constant_only(legal_graph: Graph) -> Graph:
    """mul of two constants in front of everything."""
    q = Quantization(1.0, 0)
    shape = (1, 6, 6, 4)
    data = np.ones(shape, np.int8)
    first = len(legal_graph.tensors)
    added = (
        Tensor("a", shape, "int8", "constant", q, data),
        Tensor("b", shape, "int8", "constant", q, data),
        Tensor("product", shape, "int8", "activation", q),
    )
    product = Node("mul", "mul_0", (first, first + 1), (first + 2,), {"activation": "none"})
    return replace(
        legal_graph,
        tensors=legal_graph.tensors + added,
        nodes=(product, *legal_graph.nodes),
    )


def given(**arrays: Any) -> Change:
    return node("conv2d_0", given=arrays)
