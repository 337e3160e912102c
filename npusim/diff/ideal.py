"""What a node's output would be in exact arithmetic: before it is rounded and clamped.

    steps = real result / s_y,   code = clamp(zero_point + round(steps))

Sums of products are integers and exact; the rest is double precision, whose errors are far below
the distance at which two rounding rules differ.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from ..affine import quantization, scale, zero_point
from ..graph import Graph, Node, Tensor
from ..headroom import WEIGHTED
from ..kernels.structs import WRAP, Accumulation
from ..parameters import bias, bind
from ..reference import weighted
from ..requantization import clamp_of
from ..resize import batch_separable
from ..shapes import window_2d

EXACT = Accumulation(64, WRAP)
_SUMS: Mapping[str, Callable[..., np.ndarray]] = {
    "conv2d": weighted.conv2d_sums,
    "depthwise_conv2d": weighted.depthwise_conv2d_sums,
    "fully_connected": weighted.fully_connected_sums,
}


class Ideal(NamedTuple):
    """An output before rounding.

    steps        float64, the real result in units of the output's scale
    zero_point   of the output
    low, high    clamp of the output's codes
    """

    steps: np.ndarray
    zero_point: int
    low: int
    high: int

    def clamp(self, rounded: np.ndarray) -> np.ndarray:
        """int64 codes from rounded steps."""
        return np.clip(rounded.astype(np.int64) + self.zero_point, self.low, self.high)


def ideal(graph: Graph, inputs: Mapping[str, np.ndarray]) -> Ideal | None:
    """The only output of a graph of one node; None for operators that do not round to codes.

    inputs   activations by name
    """
    (node,) = graph.nodes
    y = graph.tensors[node.outputs[0]]
    operator = _STEPS.get(node.op)
    if operator is None or y.quantization is None or not _one_batch(graph, inputs):
        return None
    arrays = [_operand(graph.tensors[i], inputs) for i in node.inputs[:2] if i >= 0]
    steps = operator(graph, node, arrays)
    shape = (steps.size // max(int(np.prod(y.shape[1:])), 1), *y.shape[1:])
    return Ideal(steps.reshape(shape), zero_point(y), *clamp_of(graph, node))


def weighted_factor(graph: Graph, node: Node) -> np.ndarray:
    """M = s_x * s_w / s_y per output channel, or what is given: float64 (O,) or (1,)."""
    if "multiplier" in node.given:
        shift = node.given["shift"].astype(np.float64)
        return node.given["multiplier"] * np.exp2(shift - 31)
    x, weights = graph.tensors[node.inputs[0]], graph.tensors[node.inputs[1]]
    scales = quantization(weights).scale.astype(np.float64)
    return scale(x) * scales / scale(graph.tensors[node.outputs[0]])


def exact_sums(graph: Graph, node: Node, x: np.ndarray) -> np.ndarray:
    """bias + sum of products of a weighted node: int64, channels last."""
    weights = graph.tensors[node.inputs[1]].data
    return _SUMS[node.op](x, weights, bias(graph, node), bind(graph, node)[0], EXACT)


def _one_batch(graph: Graph, inputs: Mapping[str, np.ndarray]) -> bool:
    """Whether the inputs are a batch that the operator may be applied to at once."""
    read = [graph.tensors[i] for i in graph.inputs]
    return batch_separable(graph) or all(inputs[t.name].shape == t.shape for t in read)


def _operand(tensor: Tensor, inputs: Mapping[str, np.ndarray]) -> np.ndarray:
    return inputs[tensor.name] if tensor.data is None else tensor.data


def _real(tensor: Tensor, values: np.ndarray) -> np.ndarray:
    """The numbers that codes stand for; float values are numbers already."""
    if tensor.quantization is None:
        return values.astype(np.float64)
    return scale(tensor) * (values.astype(np.float64) - zero_point(tensor))


def _weighted(graph: Graph, node: Node, operands: list[np.ndarray]) -> np.ndarray:
    return exact_sums(graph, node, operands[0]) * weighted_factor(graph, node)


def _elementwise(graph: Graph, node: Node, operands: list[np.ndarray]) -> np.ndarray:
    tensors = [graph.tensors[i] for i in node.inputs]
    a, b = (_real(t, v) for t, v in zip(tensors, operands, strict=True))
    return (a + b if node.op == "add" else a * b) / scale(graph.tensors[node.outputs[0]])


def _rescaled(graph: Graph, node: Node, operands: list[np.ndarray]) -> np.ndarray:
    real = _real(graph.tensors[node.inputs[0]], operands[0])
    return real / scale(graph.tensors[node.outputs[0]])


def _mean(graph: Graph, node: Node, operands: list[np.ndarray]) -> np.ndarray:
    mean = operands[0].astype(np.float64).mean(axis=node.attributes["axes"])
    return _rescaled(graph, node, [mean])


def _average_pool2d(graph: Graph, node: Node, operands: list[np.ndarray]) -> np.ndarray:
    """Mean of the cells of the input under the window, not of the padding."""
    x, zero = operands[0], zero_point(graph.tensors[node.inputs[0]])
    sums = windows(node, x.astype(np.float64) - zero)
    return sums / windows(node, np.ones(x.shape))


def windows(node: Node, x: np.ndarray) -> np.ndarray:
    """Sums (N, OH, OW, C) of x (N, H, W, C) under the node's window; padding counts as 0."""
    kernel, stride = node.attributes["kernel"], node.attributes["stride"]
    (oh, top), (ow, left) = window_2d(node.attributes, x.shape[1], x.shape[2], kernel)
    rows = max((oh - 1) * stride[0] + kernel[0] - top - x.shape[1], 0)
    columns = max((ow - 1) * stride[1] + kernel[1] - left - x.shape[2], 0)
    field = np.pad(x, ((0, 0), (top, rows), (left, columns), (0, 0)))
    total = np.zeros((len(x), oh, ow, x.shape[3]))
    for row in range(kernel[0]):
        for column in range(kernel[1]):
            total += field[:, row :: stride[0], column :: stride[1]][:, :oh, :ow]
    return total


def _softmax(graph: Graph, node: Node, operands: list[np.ndarray]) -> np.ndarray:
    real = node.attributes["beta"] * _real(graph.tensors[node.inputs[0]], operands[0])
    powers = np.exp(real - real.max(axis=-1, keepdims=True))
    shares = powers / powers.sum(axis=-1, keepdims=True)
    return shares / scale(graph.tensors[node.outputs[0]])


_Steps = Callable[[Graph, Node, list[np.ndarray]], np.ndarray]
_STEPS: Mapping[str, _Steps] = {
    **dict.fromkeys(WEIGHTED, _weighted),
    "add": _elementwise,
    "mul": _elementwise,
    "mean": _mean,
    "average_pool2d": _average_pool2d,
    "softmax": _softmax,
    "quantize": _rescaled,
    "relu": _rescaled,
    "relu6": _rescaled,
}
