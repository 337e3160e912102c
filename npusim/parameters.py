"""The arithmetic of a node: structs for the kernels, derived from shapes and scales.

What a node's `given` holds is taken as it is; everything else follows from the scales by the
profile's rules. The NumPy reference and the compiled kernels read the same structs.
Sources: TFLite Micro kernels' Prepare functions (conv, fully_connected, add, mul, reduce, softmax).
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from .graph import ABSENT, Graph, Node, Quantization, Tensor
from .kernels.structs import (
    Add,
    Conv2d,
    FullyConnected,
    Mean,
    Mul,
    Pool2d,
    Requantization,
    Rescale,
    Softmax,
)
from .multiplier import quantize_multiplier, quantize_multipliers
from .neural_art import stored as neural_art
from .profiles import find_profile
from .shapes import window_2d

LIMITS = {
    "int8": (-128, 127),
    "uint8": (0, 255),
    "int16": (-32768, 32767),
    "int32": (-(2**31), 2**31 - 1),
}

ADD_LEFT_SHIFT = 20
SOFTMAX_INTEGER_BITS = 5

_ACTIVATION_RANGE = {
    "none": (None, None),
    "relu": (0.0, None),
    "relu6": (0.0, 6.0),
    "relu_n1_to_1": (-1.0, 1.0),
}


def quantization(tensor: Tensor) -> Quantization:
    """The tensor's quantisation, which must be there."""
    assert tensor.quantization is not None, tensor.name
    return tensor.quantization


def scale(tensor: Tensor) -> float:
    """The per-tensor scale as a double."""
    return float(quantization(tensor).scale[0])


def zero_point(tensor: Tensor) -> int:
    """The per-tensor zero point."""
    return int(quantization(tensor).zero_point[0])


def activation_range(tensor: Tensor, activation: str) -> tuple[int, int]:
    """Codes between which a fused activation clamps, in the output's quantisation.

    Bounds are divided in float32 and rounded half away from zero, as TFLite does.
    """
    low, high = LIMITS[tensor.dtype]
    bottom, top = _ACTIVATION_RANGE[activation]
    if bottom is not None:
        low = max(low, _code(bottom, tensor))
    if top is not None:
        high = min(high, _code(top, tensor))
    return low, high


def _code(value: float, tensor: Tensor) -> int:
    ratio = float(np.float32(value) / quantization(tensor).scale[0])
    rounded = math.copysign(math.floor(abs(ratio) + 0.5), ratio)
    return zero_point(tensor) + int(rounded)


def requantization(graph: Graph, node: Node) -> Requantization:
    """Multiplier and shift per output channel of a weighted node.

    M = s_x * s_w / s_y in double, one per channel (repeated when the weights have one scale).
    """
    x, weights = graph.tensors[node.inputs[0]], graph.tensors[node.inputs[1]]
    y = graph.tensors[node.outputs[0]]
    if "multiplier" in node.given:
        multiplier, shift = node.given["multiplier"], node.given["shift"]
    else:
        scales = quantization(weights).scale.astype(np.float64)
        reals = scale(x) * scales / scale(y)
        reals = np.broadcast_to(reals, (output_channels(node, weights),))
        multiplier, shift = quantize_multipliers(reals)
    low, high = activation_range(y, str(node.attributes.get("activation", "none")))
    rule = find_profile(graph.profile).rule_number
    return Requantization(multiplier, shift, zero_point(y), low, high, rule)


def output_channels(node: Node, weights: Tensor) -> int:
    """Number of output channels of a weighted node."""
    return weights.shape[3] if node.op == "depthwise_conv2d" else weights.shape[0]


def bias(graph: Graph, node: Node) -> np.ndarray:
    """The node's bias as int32 (O,); zeros when it has none."""
    weights = graph.tensors[node.inputs[1]]
    if len(node.inputs) < 3 or node.inputs[2] == ABSENT:
        return np.zeros(output_channels(node, weights), np.int32)
    data = graph.tensors[node.inputs[2]].data
    assert data is not None
    return data.reshape(-1)


def conv2d(graph: Graph, node: Node) -> Conv2d:
    """Geometry of conv2d and depthwise_conv2d."""
    x, weights = graph.tensors[node.inputs[0]], graph.tensors[node.inputs[1]]
    n, h, w, c = x.shape
    kh, kw = weights.shape[1], weights.shape[2]
    (oh, top), (ow, left) = window_2d(node.attributes, h, w, (kh, kw))
    stride_h, stride_w = node.attributes["stride"]
    dilation_h, dilation_w = node.attributes["dilation"]
    o = output_channels(node, weights)
    groups = 1 if node.op == "depthwise_conv2d" else c // weights.shape[3]
    return Conv2d(n, h, w, c, oh, ow, o, kh, kw, stride_h, stride_w,
                  dilation_h, dilation_w, top, left, groups, zero_point(x))  # fmt: skip


def fully_connected(graph: Graph, node: Node) -> FullyConnected:
    """Geometry of fully_connected: every dimension but the last is a row."""
    x, weights = graph.tensors[node.inputs[0]], graph.tensors[node.inputs[1]]
    o, i = weights.shape
    return FullyConnected(math.prod(x.shape) // i, i, o, zero_point(x))


def pool2d(graph: Graph, node: Node) -> Pool2d:
    """Geometry and clamp of average_pool2d and max_pool2d."""
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    n, h, w, c = x.shape
    kh, kw = node.attributes["kernel"]
    stride_h, stride_w = node.attributes["stride"]
    (oh, top), (ow, left) = window_2d(node.attributes, h, w, (kh, kw))
    low, high = activation_range(y, str(node.attributes.get("activation", "none")))
    return Pool2d(n, h, w, c, oh, ow, kh, kw, stride_h, stride_w, top, left, low, high)


def add(graph: Graph, node: Node) -> Add:
    """ADD: operands times 2^20, scaled by s_i / (2 max s), the sum by 2 max s / (2^20 s_y)."""
    a, b = (graph.tensors[i] for i in node.inputs)
    y = graph.tensors[node.outputs[0]]
    twice_max = 2.0 * max(scale(a), scale(b))
    a_multiplier, a_shift = quantize_multiplier(scale(a) / twice_max)
    b_multiplier, b_shift = quantize_multiplier(scale(b) / twice_max)
    y_real = twice_max / (2.0**ADD_LEFT_SHIFT * scale(y))
    y_multiplier, y_shift = quantize_multiplier(y_real)
    clamp = activation_range(y, str(node.attributes.get("activation", "none")))
    return Add(
        ADD_LEFT_SHIFT,
        zero_point(a), a_multiplier, a_shift,
        zero_point(b), b_multiplier, b_shift,
        zero_point(y), y_multiplier, y_shift,
        *clamp,
    )  # fmt: skip


def mul(graph: Graph, node: Node) -> Mul:
    """MUL: M = s_a * s_b / s_y."""
    a, b = (graph.tensors[i] for i in node.inputs)
    y = graph.tensors[node.outputs[0]]
    multiplier, shift = quantize_multiplier(scale(a) * scale(b) / scale(y))
    clamp = activation_range(y, str(node.attributes.get("activation", "none")))
    return Mul(zero_point(a), zero_point(b), zero_point(y), multiplier, shift, *clamp)


def mean(graph: Graph, node: Node) -> Mean:
    """MEAN: the division by the count N is folded into the multiplier, truncated.

    k = min(floor(log2 N), 32, 31 + shift), multiplier = (multiplier << k) div N, shift -= k
    """
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    axes = node.attributes["axes"]
    count = math.prod(x.shape[axis] for axis in axes)
    multiplier, shift = quantize_multiplier(scale(x) / scale(y))
    fold = min(count.bit_length() - 1, 32, 31 + shift)
    multiplier = (multiplier << fold) // count
    low, high = LIMITS[y.dtype]
    return Mean(count, zero_point(x), zero_point(y), multiplier, shift - fold, low, high)


def softmax(graph: Graph, node: Node) -> Softmax:
    """Softmax: differences to the row's maximum in Q5.26; those below diff_min count as zero."""
    x = graph.tensors[node.inputs[0]]
    beta = float(np.float32(node.attributes["beta"]))
    fraction = 31 - SOFTMAX_INTEGER_BITS
    real = min(beta * scale(x) * 2.0**fraction, 2.0**31 - 1.0)
    multiplier, shift = quantize_multiplier(real)
    radius = ((1 << SOFTMAX_INTEGER_BITS) - 1) * 2.0**fraction / 2.0**shift
    depth = x.shape[-1]
    return Softmax(math.prod(x.shape) // depth, depth, multiplier, shift, -math.floor(radius))


def rescale(graph: Graph, node: Node) -> Rescale:
    """quantize of codes, relu, relu6: M = s_x / s_y."""
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    multiplier, shift = quantize_multiplier(scale(x) / scale(y))
    activation = node.op if node.op in _ACTIVATION_RANGE else "none"
    clamp = activation_range(y, activation)
    return Rescale(zero_point(x), zero_point(y), multiplier, shift, *clamp)


def geometry(graph: Graph, node: Node) -> Conv2d | FullyConnected:
    """What a weighted node sums."""
    return (fully_connected if node.op == "fully_connected" else conv2d)(graph, node)


def bind(graph: Graph, node: Node) -> tuple[NamedTuple, ...]:
    """The structs the node's kernel takes; empty for operators that only move data."""
    if neural_art.on_hardware(graph, node):
        return _on_neural_art(graph, node)
    if node.op in ("conv2d", "depthwise_conv2d"):
        return conv2d(graph, node), requantization(graph, node)
    if node.op == "fully_connected":
        return fully_connected(graph, node), requantization(graph, node)
    if node.op == "quantize" and graph.tensors[node.inputs[0]].dtype == "float32":
        return ()
    single = _SINGLE.get(node.op)
    return () if single is None else (single(graph, node),)


def _on_neural_art(graph: Graph, node: Node) -> tuple[NamedTuple, ...]:
    """The structs of a node whose Neural-ART parameters are settled."""
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    if node.op == "mean":
        return (neural_art.mean(node, x.shape[3]),)
    clamp = activation_range(y, node.attributes["activation"])
    if node.op == "add":
        return (neural_art.add(node, clamp),)
    return geometry(graph, node), neural_art.weighted(node, clamp)


_SINGLE: Mapping[str, Callable[[Graph, Node], NamedTuple]] = {
    "add": add,
    "mul": mul,
    "average_pool2d": pool2d,
    "max_pool2d": pool2d,
    "mean": mean,
    "softmax": softmax,
    "quantize": rescale,
    "relu": rescale,
    "relu6": rescale,
}
