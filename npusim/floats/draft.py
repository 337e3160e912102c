"""A float graph while it grows.

draft = Draft("net", (1, 32, 32, 3))
y = draft.add("conv2d", "stem", (draft.input,), {"weight": w, "bias": b}, attributes)
graph = draft.graph(y)
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..graph import Graph, Node, Tensor
from .legal import check_floats, float_shape


class Draft:
    """Tensors and nodes in the order in which they are added; a tensor is known by its index.

    input   the graph's input, called "image"
    """

    def __init__(self, name: str, shape: tuple[int, ...]) -> None:
        self.name, self.input = name, 0
        self.tensors = [Tensor("image", tuple(shape), "float32", "input")]
        self.nodes: list[Node] = []

    def add(
        self,
        op: str,
        name: str,
        inputs: Sequence[int],
        constants: Mapping[str, np.ndarray],
        attributes: Mapping[str, Any],
    ) -> int:
        """Append a node.

        name         of the node; its constants are called "name.key"
        inputs       tensors that earlier nodes made
        constants    what it reads besides, in the operator's order
        returns      the tensor that it makes, called by the name with "/" and the activation, if
                     there is one, else the operator
        """
        first = len(self.tensors)
        for key, data in constants.items():
            self._append(f"{name}.{key}", data.shape, "constant", data)
        made = range(first, len(self.tensors))
        activation = attributes.get("activation", "none")
        y = len(self.tensors)
        node = Node(op, name, (*inputs, *made), (y,), attributes)
        label = op if activation == "none" else activation
        shape = float_shape(self._graph(), node)
        self.nodes.append(node)
        return self._append(f"{name}/{label}", shape, "activation", None)

    def with_bias(self, bias: np.ndarray) -> int:
        """Give the last node, a weighted one without bias, a bias (O,); returns what it makes."""
        node = self.nodes[-1]
        index = self._append(f"{node.name}.bias", bias.shape, "constant", bias)
        self.nodes[-1] = replace(node, inputs=(*node.inputs, index))
        return node.outputs[0]

    def graph(self, *outputs: int) -> Graph:
        """The graph as it is, checked; raises ModelError as `check_floats`."""
        graph = self._graph(outputs)
        check_floats(graph)
        return graph

    def _append(self, name: str, shape: tuple[int, ...], kind: str, data: np.ndarray | None) -> int:
        index = len(self.tensors)
        self.tensors.append(Tensor(name, tuple(shape), "float32", kind, None, data, index))
        return index

    def _graph(self, outputs: Sequence[int] = ()) -> Graph:
        return Graph(self.name, tuple(self.tensors), tuple(self.nodes), (0,), tuple(outputs))
