"""Which nodes XNNPACK takes in LiteRT's default mode; the rest stay with the kernels for x86.

The conditions are those of LiteRT's XNNPACK delegate, as far as they concern operators and types
that npusim has. All scales are compared in float32, as there.
"""

from collections.abc import Callable, Mapping

import numpy as np

from .affine import quantization, scale32
from .graph import ABSENT, Graph, Node, Tensor

ADD_RATIO = (np.float32(2.0**-10), np.float32(2.0**8))
MUL_RATIO = (np.float32(2.0**-16), np.float32(2.0**8))
REQUANTIZE_RATIO = (np.float32(2.0**-8), np.float32(2.0**7))
LARGEST_MULTIPLIER = np.float32(256)
"""From here on XNNPACK refuses a weighted node, and LiteRT the model with it."""


def takes(graph: Graph, node: Node) -> bool:
    """Whether XNNPACK executes the node; one it does not know stays with LiteRT."""
    condition = _CONDITIONS.get(node.op)
    if condition is None:
        return False
    operands = [graph.tensors[i] for i in node.inputs if i != ABSENT]
    return condition(node, operands, graph.tensors[node.outputs[0]])


def largest_multiplier(graph: Graph, node: Node) -> np.float32:
    """The largest s_x * s_w / s_y of a weighted node, in float32."""
    x, weights = graph.tensors[node.inputs[0]], graph.tensors[node.inputs[1]]
    with np.errstate(over="ignore"):
        product = scale32(x) * quantization(weights).scale.max()
        return np.float32(product / scale32(graph.tensors[node.outputs[0]]))


def _convolution(node: Node, operands: list[Tensor], y: Tensor) -> bool:
    """Scales of weights and bias must be normal numbers; without a bias nobody runs the node."""
    constants = (t.quantization for t in operands[1:])
    return all(q is not None and _normal(q.scale) for q in constants)


def _fully_connected(node: Node, operands: list[Tensor], y: Tensor) -> bool:
    return all(t.quantization is not None and _normal(t.quantization.scale) for t in operands[2:])


def _add(node: Node, operands: list[Tensor], y: Tensor) -> bool:
    low, high = ADD_RATIO
    return all(low <= scale32(t) / scale32(y) < high for t in operands)


def _mul(node: Node, operands: list[Tensor], y: Tensor) -> bool:
    low, high = MUL_RATIO
    return bool(low <= scale32(operands[0]) * scale32(operands[1]) / scale32(y) < high)


def _mean(node: Node, operands: list[Tensor], y: Tensor) -> bool:
    return True


def _quantize(node: Node, operands: list[Tensor], y: Tensor) -> bool:
    x, (low, high) = operands[0], REQUANTIZE_RATIO
    if y.dtype not in ("int8", "uint8"):
        return False
    if x.dtype == "float32":
        return True
    return x.dtype == y.dtype and bool(low <= scale32(x) / scale32(y) <= high)


def _dequantize(node: Node, operands: list[Tensor], y: Tensor) -> bool:
    return operands[0].dtype in ("int8", "uint8")


def _max_pool2d(node: Node, operands: list[Tensor], y: Tensor) -> bool:
    kernel, stride = node.attributes["kernel"], node.attributes["stride"]
    return bool(stride[0] <= kernel[0] and stride[1] <= kernel[1])


def _normal(scales: np.ndarray) -> bool:
    """Positive, and not so small that they lose bits."""
    return bool((scales >= np.finfo(np.float32).tiny).all())


_CONDITIONS: Mapping[str, Callable[[Node, list[Tensor], Tensor], bool]] = {
    "conv2d": _convolution,
    "depthwise_conv2d": _convolution,
    "fully_connected": _fully_connected,
    "add": _add,
    "mul": _mul,
    "mean": _mean,
    "quantize": _quantize,
    "dequantize": _dequantize,
    "max_pool2d": _max_pool2d,
}
