"""Graphs of one operator, and their reference outputs."""

from __future__ import annotations

from typing import Any

import numpy as np

from npusim import parameters, reference
from npusim.graph import Graph, Node, Quantization, Tensor
from npusim.shapes import output_shape


def activation(shape: tuple[int, ...], scale: float = 1.0, zero_point: int = 0) -> Tensor:
    """An int8 tensor that a caller feeds or a node makes; its name is given by `one_node`."""
    return Tensor("", shape, "int8", "input", _affine(scale, zero_point))


def constant(values: Any, scale: Any = 1.0, dtype: str = "int8", axis: int | None = None) -> Tensor:
    """A constant with zero point 0, one scale or one along `axis`."""
    data = np.array(values, dtype)
    return Tensor("", data.shape, dtype, "constant", _affine(scale, 0, axis), data)


def one_node(op: str, operands: list[Tensor], y: Tensor, **attributes: Any) -> Graph:
    """The graph y = op(operands); y's shape is derived, its type and quantisation are taken."""
    count = len(operands)
    named = [_renamed(t, f"{op}/{i}", t.kind, t.shape) for i, t in enumerate(operands)]
    node = Node(op, f"{op}_0", tuple(range(count)), (count,), attributes)
    inputs = tuple(i for i, t in enumerate(operands) if t.data is None)
    draft = Graph(op, tuple(named), (node,), inputs, (count,))
    made = _renamed(y, f"{op}/y", "activation", output_shape(draft, node))
    return Graph(op, (*named, made), (node,), inputs, (count,))


def pointwise(
    x_scale: float, weights: Any, y: Tensor, w_scale: Any, bias: Any = None, fused: str = "none"
) -> Graph:
    """A 1x1 convolution of an image of one cell: weights (O, I), one scale for each output.

    fused   the activation
    """
    codes = np.array(weights, np.int8)
    operands = [activation((1, 1, 1, codes.shape[1]), x_scale)]
    operands.append(constant(codes[:, None, None, :], w_scale, axis=0))
    if bias is not None:
        operands.append(Tensor("", np.shape(bias), "int32", "constant", None, np.array(bias)))
    return one_node("conv2d", operands, y, stride=(1, 1), dilation=(1, 1), padding="valid",
                    activation=fused)  # fmt: skip


def run_reference(graph: Graph, *inputs: Any) -> np.ndarray:
    """The only output of a graph on arrays for its inputs."""
    values = {i: t.data for i, t in enumerate(graph.tensors) if t.data is not None}
    for i, x in zip(graph.inputs, inputs, strict=True):
        values[i] = np.asarray(x, graph.tensors[i].dtype)
    bound = [parameters.bind(graph, node) for node in graph.nodes]
    reference.execute(graph, range(len(graph.nodes)), bound, values)
    return values[graph.outputs[0]]


def _affine(scale: Any, zero_point: int, axis: int | None = None) -> Quantization:
    scales = np.atleast_1d(np.asarray(scale, np.float32))
    return Quantization(scales, np.full(scales.shape, zero_point), axis)


def _renamed(t: Tensor, name: str, kind: str, shape: tuple[int, ...]) -> Tensor:
    return Tensor(name, shape, t.dtype, kind, t.quantization, t.data)
