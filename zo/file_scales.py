"""A trained layer with the scales that a file has room for: one for all weights, or one per output.

Letters: O outputs.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from npusim import Graph, Quantization
from npusim.affine import quantization, scale
from npusim.constants import has_bias
from npusim.graph import Node
from npusim.requantization import output_channels, real_multipliers, weighted

CODE_MAX = 127
INT32_MAX = 2**31 - 1


def with_scales(graph: Graph, node: Node, room: int) -> Graph:
    """The graph with `room` scales for the weights and the bias of a node, and none given apart.

    room   1 or O. One scale for several is that at which the largest weight becomes 127; weights
           and bias are then rounded to it
    """
    scales = _scales(graph, node)
    axis = 3 if node.op == "depthwise_conv2d" else 0
    tensors = list(graph.tensors)
    weights, values = tensors[node.inputs[1]], _data(graph, node.inputs[1])
    by_output = [-1 if d == axis else 1 for d in range(len(weights.shape))]
    factors = np.ones(len(scales))
    if room == 1:
        single = _single(values, scales.reshape(by_output))
        factors, scales = scales / single, np.array([single])
    quantized = Quantization(scales, np.zeros(room), None if room == 1 else axis)
    codes = _rounded(values * factors.reshape(by_output), CODE_MAX)
    tensors[node.inputs[1]] = replace(weights, data=codes.astype(np.int8), quantization=quantized)
    if has_bias(node):
        bias = tensors[node.inputs[2]]
        products = quantized.scale * np.float32(scale(tensors[node.inputs[0]]))
        tensors[node.inputs[2]] = replace(
            bias,
            data=_rounded(_data(graph, node.inputs[2]) * factors, INT32_MAX).astype(np.int32),
            quantization=Quantization(products, np.zeros(room), None if room == 1 else 0),
        )
    given = {k: v for k, v in node.given.items() if k not in ("multiplier", "shift")}
    nodes = tuple(replace(n, given=given) if n is node else n for n in graph.nodes)
    return replace(graph, tensors=tuple(tensors), nodes=nodes)


def same_layer(a: Graph, b: Graph, name: str) -> bool:
    """Whether a node has the same codes, biases, multipliers and shifts in both graphs."""
    pairs = [(graph, graph.node(name)) for graph in (a, b)]
    left, right = (
        [*(_data(graph, i) for i in node.inputs[1:]), *weighted(graph, node)[:2]]
        for graph, node in pairs
    )
    return all(np.array_equal(x, y) for x, y in zip(left, right, strict=True))


def _scales(graph: Graph, node: Node) -> np.ndarray:
    """float64 (O,), what the node's weights are multiplied by, wherever that is said."""
    x, weights, y = (graph.tensors[i] for i in (*node.inputs[:2], node.outputs[0]))
    if "multiplier" in node.given:
        reals = real_multipliers(node.given["multiplier"], node.given["shift"])
        return reals * scale(y) / scale(x)
    outputs = output_channels(node, weights)
    return np.broadcast_to(quantization(weights).scale.astype(np.float64), (outputs,))


def _data(graph: Graph, tensor: int) -> np.ndarray:
    data = graph.tensors[tensor].data
    assert data is not None, graph.tensors[tensor].name
    return data


def _single(codes: np.ndarray, scales: np.ndarray) -> float:
    """The scale that serves all: their own where they are equal."""
    if np.all(scales == scales.flat[0]):
        return float(scales.flat[0])
    return float(np.float32(np.abs(codes * scales).max() / CODE_MAX)) or float(scales.max())


def _rounded(values: Any, limit: int) -> np.ndarray:
    return np.clip(np.rint(values), -limit, limit)
