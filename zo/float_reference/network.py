"""The network that an int8 graph stands for, in float32, with constants that may change."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from npusim import Graph, Tensor
from npusim.floats import check_floats
from npusim.floats.operators import activated, linear
from npusim.floats.run import operands
from npusim.layer_error import made_real

Real = NDArray[np.float32]
Values = dict[int, np.ndarray]


def dequantized(graph: Graph) -> Graph:
    """The float graph with the real values of an int8 graph's constants.

    raises   ModelError for operators that float graphs do not have, see `npusim.floats`
    """
    nodes = tuple(replace(node, given={}, rule=None) for node in graph.nodes)
    tensors = tuple(_real(tensor) for tensor in graph.tensors)
    found = replace(graph, tensors=tensors, nodes=nodes, accumulator=None)
    check_floats(found)
    return found


class FloatNetwork:
    """A float graph whose trained constants change between forward passes.

    graph       int8, ends at its logits
    trainable   names of its constants that change
    constants   by name, float32 in the shape of the constant: what the next pass takes
    """

    def __init__(self, graph: Graph, trainable: Iterable[str]) -> None:
        self._codes = graph.tensors[graph.inputs[0]]
        self.graph = dequantized(graph)
        names = {tensor.name: i for i, tensor in enumerate(self.graph.tensors)}
        self._changing = {name: names[name] for name in trainable}
        users = (
            k for k, node in enumerate(self.graph.nodes)
            if set(self._changing.values()) & set(node.inputs)
        )  # fmt: skip
        self._first = next(users, len(self.graph.nodes))
        self.constants: dict[str, Real] = {}
        for name in self._changing:
            data = self.graph.tensor(name).data
            assert data is not None, name
            self.constants[name] = data.copy()

    @property
    def head_input(self) -> int | None:
        """The features that logits are one product with; None where more changes or follows."""
        behind = self.graph.nodes[self._first :]
        if len(behind) != 1 or behind[0].op != "fully_connected":
            return None
        x, weights = behind[0].inputs[:2]
        alone = list(self._changing.values()) == [weights]
        return x if alone and behind[0].attributes["activation"] == "none" else None

    def prefix(self, images: NDArray[np.int8]) -> Values:
        """What the nodes before the first changing one give for images as codes (N, ...)."""
        values = {self.graph.inputs[0]: made_real(images, self._codes)}
        self._run(values, 0, self._first)
        read = {i for node in self.graph.nodes[self._first :] for i in node.inputs}
        return {i: x for i, x in values.items() if i in read | set(self.graph.outputs)}

    def logits(self, prefix: Mapping[int, np.ndarray]) -> Real:
        """The logits (N, C) with the present constants."""
        values = dict(prefix)
        values |= {self._changing[name]: data for name, data in self.constants.items()}
        self._run(values, self._first, len(self.graph.nodes))
        found: Real = values[self.graph.outputs[0]]
        return found.reshape(len(found), -1)

    def trained(self) -> Graph:
        """The float graph with the present constants."""
        tensors = list(self.graph.tensors)
        for name, i in self._changing.items():
            tensors[i] = replace(tensors[i], data=self.constants[name])
        return replace(self.graph, tensors=tuple(tensors))

    def _run(self, values: Values, first: int, last: int) -> None:
        for node in self.graph.nodes[first:last]:
            y = linear(node.op, operands(self.graph, node, values), node.attributes)
            values[node.outputs[0]] = activated(y, node.attributes)


def _real(tensor: Tensor) -> Tensor:
    """In float32, with the values that a constant's codes stand for."""
    data, q = tensor.data, tensor.quantization
    if data is not None and q is not None:
        shape = [1] * data.ndim
        if q.axis is not None and len(q.scale) > 1:
            shape[q.axis] = -1
        codes = data.astype(np.float64) - q.zero_point.reshape(shape)
        data = (codes * q.scale.astype(np.float64).reshape(shape)).astype(np.float32)
    return replace(tensor, dtype="float32", quantization=None, data=data)
