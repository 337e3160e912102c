"""Graphs of several operators made by hand, node after node, with random constants.

draft = Draft(seed=1)
x = draft.input((1, 6, 6, 3))
y = draft.conv2d(x, 4, stride=(2, 2))
graph = draft.graph(y)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from npusim.graph import ABSENT, Graph, Node, Quantization, Tensor
from npusim.shapes import output_shape

SCALE = 0.05
X_ZERO_POINT = -3
Y_ZERO_POINT = 4
SPREAD = 40  # codes of an output that one standard deviation of its accumulator becomes
CONVOLUTION = {"stride": (1, 1), "dilation": (1, 1), "padding": "same", "activation": "none"}


class Draft:
    """A graph while it grows; every method returns the index of the tensor it appends.

    Activations are int8 with scale SCALE. Weights use all codes of int8 and have scales per
    channel, such that most outputs are not clamped.
    """

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.tensors: list[Tensor] = []
        self.nodes: list[Node] = []

    def input(self, shape: Sequence[int], dtype: str = "int8", **affine: Any) -> int:
        """A tensor the caller feeds; not quantised when it holds real numbers."""
        return self._append("x", tuple(shape), dtype, "input", _affine(dtype, **affine))

    def constant(
        self, name: str, data: np.ndarray, scale: Any = None, axis: int | None = None
    ) -> int:
        """A constant with zero point 0."""
        quantization = None
        if scale is not None:
            quantization = Quantization(scale, np.zeros(np.size(scale)), axis)
        tensor = Tensor(f"{name}_{len(self.tensors)}", data.shape, str(data.dtype), "constant",
                        quantization, data, len(self.tensors))  # fmt: skip
        self.tensors.append(tensor)
        return len(self.tensors) - 1

    def node(
        self,
        op: str,
        inputs: Sequence[int],
        *,
        dtype: str = "int8",
        affine: dict[str, Any] | None = None,
        **attributes: Any,
    ) -> int:
        """An operator whose output's shape is derived; quantised as its input unless told."""
        draft = Graph("draft", tuple(self.tensors), (), (), ())
        number = sum(node.op == op for node in self.nodes)
        node = Node(op, f"{op}_{number}", tuple(inputs), (len(self.tensors),), attributes)
        quantization = self.tensors[inputs[0]].quantization
        if affine is not None or quantization is None or dtype == "float32":
            quantization = _affine(dtype, **affine or {})
        self.nodes.append(node)
        shape = output_shape(draft, node)
        return self._append("y", shape, dtype, "activation", quantization)

    def conv2d(self, x: int, outputs: int, kernel: tuple[int, int] = (3, 3), *, groups: int = 1,
               bias: bool = True, **attributes: Any) -> int:  # fmt: skip
        """A convolution of x in `groups`; attributes as CONVOLUTION where not given."""
        shape = (outputs, *kernel, self.tensors[x].shape[3] // groups)
        inputs = self._weights(x, shape, 0, bias)
        return self._weighted("conv2d", inputs, **CONVOLUTION | attributes)

    def depthwise_conv2d(self, x: int, kernel: tuple[int, int] = (3, 3), *, multiplier: int = 1,
                         bias: bool = True, **attributes: Any) -> int:  # fmt: skip
        """A depthwise convolution with `multiplier` outputs per channel."""
        shape = (1, *kernel, self.tensors[x].shape[3] * multiplier)
        inputs = self._weights(x, shape, 3, bias)
        return self._weighted("depthwise_conv2d", inputs, **CONVOLUTION | attributes)

    def fully_connected(self, x: int, outputs: int, *, bias: bool = True, keep_dims: bool = False,
                        activation: str = "none") -> int:  # fmt: skip
        """A matrix product along the last dimension of x."""
        inputs = self._weights(x, (outputs, self.tensors[x].shape[-1]), 0, bias)
        return self._weighted("fully_connected", inputs, activation=activation, keep_dims=keep_dims)

    def graph(self, *outputs: int, **settings: Any) -> Graph:
        """The graph with these outputs; settings are fields of Graph."""
        inputs = tuple(i for i, t in enumerate(self.tensors) if t.kind == "input")
        return Graph("draft", tuple(self.tensors), tuple(self.nodes), inputs, outputs, **settings)

    def _weighted(self, op: str, inputs: tuple[int, ...], **attributes: Any) -> int:
        affine = {"scale": SCALE, "zero_point": Y_ZERO_POINT}
        return self.node(op, inputs, affine=affine, **attributes)

    def _weights(self, x: int, shape: tuple[int, ...], axis: int, bias: bool) -> tuple[int, ...]:
        """Indices of x, weights and bias (ABSENT without one)."""
        quantization = self.tensors[x].quantization
        assert quantization is not None
        depth = np.prod(shape) // shape[axis]
        deviation = 74.0**2 * np.sqrt(depth)  # of sums of products of uniform int8 codes
        spread = np.exp2(self.rng.uniform(-1, 1, shape[axis]))
        scale = (SPREAD * SCALE / quantization.scale[0] / deviation * spread).astype(np.float32)
        codes = self.rng.integers(-127, 128, shape).astype(np.int8)
        weights = self.constant("weights", codes, scale, axis)
        if not bias:
            return x, weights, ABSENT
        start = self.rng.integers(-1, 2, shape[axis]) * deviation / 2
        return x, weights, self.constant("bias", start.astype(np.int32),
                                         quantization.scale[0] * scale, 0)  # fmt: skip

    def _append(
        self, name: str, shape: tuple[int, ...], dtype: str, kind: str, q: Quantization | None
    ) -> int:
        index = len(self.tensors)
        self.tensors.append(Tensor(f"{name}_{index}", shape, dtype, kind, q, None, index))
        return index


def _affine(
    dtype: str, scale: float = SCALE, zero_point: int = X_ZERO_POINT
) -> Quantization | None:
    if dtype in ("float32", "int64", "bool"):
        return None
    return Quantization(np.array([scale], np.float32), np.array([zero_point]))


def codes(graph: Graph, count: int = 1, seed: int = 0) -> dict[str, np.ndarray]:
    """Random codes of the whole range for every input, `count` times the declared batch."""
    rng = np.random.default_rng(seed)
    found = {}
    for tensor in (graph.tensors[i] for i in graph.inputs):
        limits = np.iinfo(tensor.dtype)
        shape = (count * tensor.shape[0], *tensor.shape[1:])
        found[tensor.name] = rng.integers(limits.min, limits.max, shape, tensor.dtype,
                                          endpoint=True)  # fmt: skip
    return found
