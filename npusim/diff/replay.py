"""Nodes of a model run by themselves, on whatever inputs another side had."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from ..engine import Session
from ..graph import ABSENT, Accumulator, Graph, Node

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Part:
    """Some nodes of a graph that lead to one tensor, and what they read.

    graph    of these nodes alone; its inputs are the tensors they start from, its output the tensor
    """

    graph: Graph

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of the tensors it starts from."""
        return tuple(self.graph.tensors[i].name for i in self.graph.inputs)

    @property
    def last(self) -> Node:
        """The node that makes the tensor."""
        return self.graph.nodes[-1]

    def run(self, inputs: Arrays, accumulator: Accumulator | None = None) -> np.ndarray:
        """The tensor's codes, from inputs in the graph's types; other arrays are left alone.

        raises   ModelError where the accumulator's overflow is an error
        """
        session = Session(self.graph, threads=1, accumulator=accumulator)
        y = session.run({name: inputs[name] for name in self.inputs})
        assert isinstance(y, np.ndarray)
        return y


def leading_to(graph: Graph, tensor: str, known: Iterable[str]) -> Part:
    """The nodes from the nearest known tensors, or the graph's inputs, to a tensor.

    tensor   name of one that a node makes
    known    names of tensors whose values are known
    """
    names = set(known)
    producer = {i: node for node in graph.nodes for i in node.outputs}
    target = next(i for i, t in enumerate(graph.tensors) if t.name == tensor)
    wanted, nodes = [target], {}
    while wanted:
        i = wanted.pop()
        if i != target and (graph.tensors[i].name in names or i not in producer):
            continue
        node = producer[i]
        nodes[node.name] = node
        made_already = {o for n in nodes.values() for o in n.outputs}
        wanted += [k for k in node.inputs if k != ABSENT and k not in made_already]
    return Part(_cut(graph, [n for n in graph.nodes if n.name in nodes], target))


def _cut(graph: Graph, nodes: list[Node], target: int) -> Graph:
    """The graph of some nodes in order; what they read and none of them makes becomes an input."""
    made = {i for node in nodes for i in node.outputs}
    used = sorted({i for n in nodes for i in (*n.inputs, *n.outputs)} - {ABSENT})
    place = {old: new for new, old in enumerate(used)} | {ABSENT: ABSENT}
    tensors = []
    for i in used:
        tensor = graph.tensors[i]
        read = tensor.data is None and i not in made
        tensors.append(replace(tensor, kind="input") if read else tensor)

    def moved(indices: Iterable[int]) -> tuple[int, ...]:
        return tuple(place[i] for i in indices)

    return replace(
        graph,
        tensors=tuple(tensors),
        nodes=tuple(replace(n, inputs=moved(n.inputs), outputs=moved(n.outputs)) for n in nodes),
        inputs=tuple(k for k, t in enumerate(tensors) if t.kind == "input"),
        outputs=(place[target],),
    )
