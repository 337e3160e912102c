"""A float graph, executed: float32 in NumPy, node by node."""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from ..graph import ABSENT, Graph, Node
from .operators import activated, linear


def run(graph: Graph, x: np.ndarray) -> np.ndarray | dict[str, np.ndarray]:
    """The outputs of a float graph.

    graph     as `check_floats` accepts it
    x         real (N, ..), any batch N; computed in float32
    returns   float32: the output, or a dict of them by name where the graph has several
    raises    ValueError when x has another shape than the graph's input
    """
    names = [graph.tensors[i].name for i in graph.outputs]
    found = {name: y for name, y in trace(graph, x) if name in names}
    return found[names[0]] if len(names) == 1 else {name: found[name] for name in names}


def trace(graph: Graph, x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """Name and float32 values of the input and of every node's output, in order.

    x   as for `run`; a tensor is dropped once its last reader has run
    """
    tensor = graph.tensors[graph.inputs[0]]
    values = {graph.inputs[0]: _as_input(graph, x)}
    yield tensor.name, values[graph.inputs[0]]
    readers = Counter(i for node in graph.nodes for i in node.inputs)
    for node in graph.nodes:
        y = activated(linear(node.op, operands(graph, node, values), node.attributes),
                      node.attributes)  # fmt: skip
        yield graph.tensors[node.outputs[0]].name, y
        values[node.outputs[0]] = y
        readers.subtract(node.inputs)
        for index in {*node.inputs, *node.outputs} & values.keys():
            if not readers[index]:
                del values[index]


def operands(graph: Graph, node: Node, values: Mapping[int, np.ndarray]) -> list[np.ndarray]:
    """What a node reads: of `values`, else constants of the graph; no absent bias."""
    found = []
    for index in node.inputs:
        if index != ABSENT:
            data = graph.tensors[index].data
            found.append(data if data is not None and index not in values else values[index])
    return found


def _as_input(graph: Graph, x: np.ndarray) -> np.ndarray:
    tensor, values = graph.tensors[graph.inputs[0]], np.asarray(x, np.float32)
    if values.shape[1:] != tensor.shape[1:] or not len(values):
        wanted = ", ".join(map(str, ("images", *tensor.shape[1:])))
        raise ValueError(f"{tensor.name}: input must be ({wanted}), got {values.shape}")
    return values
