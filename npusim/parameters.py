"""The parameters of a node's kernel: structs derived from shapes, scales and the arithmetic.

The NumPy reference and the compiled kernels read the same structs.
Sources: TFLite Micro kernels' Prepare functions (conv, fully_connected, add, mul, reduce, softmax);
XNNPACK's operators for those of its own.
"""

import math
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from . import requantization
from .affine import scale, scale32, zero_point
from .fivefold import BOTH, A, B, innermost_row
from .graph import ABSENT, Graph, Node
from .kernels.structs import (
    DEQUANTIZE,
    DOUBLE_ROUNDING,
    DOUBLE_ROUNDING_DOWN,
    QUANTIZE,
    SINGLE_ROUNDING,
    TWICE,
    Add,
    AddXnnpack,
    Conv2d,
    Dequantize,
    FullyConnected,
    Mean,
    MeanXnnpack,
    Mul,
    Pool2d,
    Quantize,
    Rescale,
    RescaleXnnpack,
    Rounding,
    Softmax,
    SoftmaxX86,
)
from .multiplier import quantize_multiplier
from .neural_art import stored as neural_art
from .profiles import Arithmetic
from .requantization import clamp_of, output_channels
from .rules import arithmetic, rounding
from .shapes import window_2d

SOFTMAX_INTEGER_BITS = 5
_ALONE = Rounding(DOUBLE_ROUNDING_DOWN, 8, DOUBLE_ROUNDING)
ADD_X86 = {BOTH: Rounding(SINGLE_ROUNDING, 16, DOUBLE_ROUNDING), A: _ALONE, B: _ALONE}
"""How LiteRT's ADD on x86 scales its operands, by who moves along a row."""

Structs = tuple[NamedTuple, ...]


def bias(graph: Graph, node: Node) -> np.ndarray:
    """The node's bias as int32 (O,); zeros when it has none."""
    weights = graph.tensors[node.inputs[1]]
    if len(node.inputs) < 3 or node.inputs[2] == ABSENT:
        return np.zeros(output_channels(node, weights), np.int32)
    data = graph.tensors[node.inputs[2]].data
    assert data is not None
    return data.reshape(-1)


def weighted(graph: Graph, node: Node, a: Arithmetic | None = None) -> Structs:
    """Geometry, and the tail."""
    return geometry(graph, node), requantization.weighted(graph, node, a)


def geometry(graph: Graph, node: Node) -> Conv2d | FullyConnected:
    """What a weighted node sums."""
    return (fully_connected if node.op == "fully_connected" else conv2d)(graph, node)


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


def pool2d(graph: Graph, node: Node, a: Arithmetic | None = None) -> Structs:
    """Geometry and clamp of average_pool2d and max_pool2d."""
    n, h, w, c = graph.tensors[node.inputs[0]].shape
    kh, kw = node.attributes["kernel"]
    stride_h, stride_w = node.attributes["stride"]
    (oh, top), (ow, left) = window_2d(node.attributes, h, w, (kh, kw))
    clamp = clamp_of(graph, node, a)
    return (Pool2d(n, h, w, c, oh, ow, kh, kw, stride_h, stride_w, top, left, *clamp),)


def add(graph: Graph, node: Node, a: Arithmetic | None = None) -> Structs:
    """ADD in fixed point, three requantisations; or XNNPACK's, see `AddXnnpack`.

    LiteRT's on x86 scales the operands in blocks, counted from the start of every row.
    """
    a = a or arithmetic(graph, node)
    if a.rule == "add_xnnpack":
        return _add_xnnpack(graph, node, a)
    x, z = (graph.tensors[i] for i in node.inputs)
    row, (left, right, tail) = innermost_row(x.shape, z.shape), requantization.add(graph, node, a)
    if a.rule == "add_x86":
        left, right = (r._replace(rounding=ADD_X86.get(row.moves, TWICE)) for r in (left, right))
    numbers = row.length, requantization.ADD_LEFT_SHIFT, zero_point(x), zero_point(z)
    return Add(*numbers, left, right), tail


def _add_xnnpack(graph: Graph, node: Node, a: Arithmetic) -> Structs:
    """shift = 20 - floor(log2(max s_i / s_y)), multiplier_i = rint(s_i / s_y * 2^shift)"""
    x, z, y = (graph.tensors[i] for i in (*node.inputs, node.outputs[0]))
    ratios = [float(scale32(t) / scale32(y)) for t in (x, z)]
    shift = 21 - math.frexp(max(ratios))[1]
    m_a, m_b = (round(math.ldexp(r, shift)) for r in ratios)
    zeros = zero_point(x), zero_point(z)
    return (AddXnnpack(zeros[0], m_a, zeros[1], m_b, shift, zero_point(y),
                       *clamp_of(graph, node, a)),)  # fmt: skip


def mul(graph: Graph, node: Node, a: Arithmetic | None = None) -> Structs:
    """The operands' zero points, and the tail."""
    x, z = (graph.tensors[i] for i in node.inputs)
    return Mul(zero_point(x), zero_point(z)), requantization.mul(graph, node, a)


def mean(graph: Graph, node: Node, a: Arithmetic | None = None) -> Structs:
    """Mean over the axes; or XNNPACK's, see `MeanXnnpack`, or that of LiteRT on x86."""
    x = graph.tensors[node.inputs[0]]
    cells = math.prod(x.shape[axis] for axis in node.attributes["axes"])
    a = a or arithmetic(graph, node)
    if a.rule == "mean_xnnpack":
        return _mean_xnnpack(graph, node, cells, a)
    if a.rule == "mean_x86":
        return Mean(cells, 0), requantization.mean_x86(graph, node, cells, a)
    return Mean(cells, zero_point(x)), requantization.mean(graph, node, cells, a)


def _mean_xnnpack(graph: Graph, node: Node, cells: int, a: Arithmetic) -> Structs:
    """Each product, quotient and difference is rounded to float32."""
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    factor = scale32(x) / scale32(y) * (np.float32(1) / np.float32(cells))
    offset = np.float32(zero_point(y)) - np.float32(cells * zero_point(x)) * factor
    return (MeanXnnpack(factor, offset, *clamp_of(graph, node, a)),)


def softmax(graph: Graph, node: Node, a: Arithmetic | None = None) -> Structs:
    """Differences to the row's maximum in Q5.26; those below diff_min count as zero.

    Or LiteRT's on x86, see `SoftmaxX86`: the exponent is formed in float32.
    """
    x = graph.tensors[node.inputs[0]]
    depth = x.shape[-1]
    rows = math.prod(x.shape) // depth
    if (a or arithmetic(graph, node)).rule == "softmax_x86":
        step = -scale32(x) * np.float32(node.attributes["beta"])
        exponents = np.arange(256, dtype=np.float32) * step
        table = np.exp(exponents.astype(np.float64)).astype(np.float32)
        return (SoftmaxX86(rows, depth, table),)
    beta = float(np.float32(node.attributes["beta"]))
    fraction = 31 - SOFTMAX_INTEGER_BITS
    real = min(beta * scale(x) * 2.0**fraction, 2.0**31 - 1.0)
    multiplier, shift = quantize_multiplier(real)
    radius = ((1 << SOFTMAX_INTEGER_BITS) - 1) * 2.0**fraction / 2.0**shift
    return (Softmax(rows, depth, multiplier, shift, -math.floor(radius)),)


def rescale(graph: Graph, node: Node, a: Arithmetic | None = None) -> Structs:
    """quantize of codes, relu, relu6; or XNNPACK's, see `RescaleXnnpack`."""
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    if (a or arithmetic(graph, node)).rule == "rescale_xnnpack":
        multiplier = round(float(scale32(x) / scale32(y)) * 2**8)
        clamp = clamp_of(graph, node, a)
        return (RescaleXnnpack(zero_point(x), multiplier, zero_point(y), *clamp),)
    return Rescale(zero_point(x)), requantization.rescale(graph, node, a)


def quantize(graph: Graph, node: Node, a: Arithmetic | None = None) -> Structs:
    """quantize of real numbers, or of codes."""
    y = graph.tensors[node.outputs[0]]
    if graph.tensors[node.inputs[0]].dtype != "float32":
        return rescale(graph, node, a)
    rule = rounding(a or arithmetic(graph, node), QUANTIZE)
    return (Quantize(scale32(y), zero_point(y), rule),)


def dequantize(graph: Graph, node: Node, a: Arithmetic | None = None) -> Structs:
    """Scale, zero point, rule."""
    x = graph.tensors[node.inputs[0]]
    rule = rounding(a or arithmetic(graph, node), DEQUANTIZE)
    return (Dequantize(scale32(x), zero_point(x), rule),)


def bind(graph: Graph, node: Node, a: Arithmetic | None = None) -> Structs:
    """The structs the node's kernel takes; empty for operators that only move data.

    a   instead of the node's own arithmetic; one that Neural-ART does not compute
    """
    if a is None and neural_art.on_hardware(graph, node):
        return _on_neural_art(graph, node)
    binder = _BIND.get(node.op)
    return () if binder is None else binder(graph, node, a)


def _on_neural_art(graph: Graph, node: Node) -> Structs:
    """The structs of a node whose Neural-ART parameters are settled."""
    if node.op == "mean":
        return (neural_art.mean(node, graph.tensors[node.inputs[0]].shape[3]),)
    if node.op == "add":
        return (neural_art.add(node, clamp_of(graph, node)),)
    return geometry(graph, node), neural_art.weighted(node, clamp_of(graph, node))


_BIND: Mapping[str, Callable[[Graph, Node, Arithmetic | None], Structs]] = {
    "conv2d": weighted,
    "depthwise_conv2d": weighted,
    "fully_connected": weighted,
    "add": add,
    "mul": mul,
    "average_pool2d": pool2d,
    "max_pool2d": pool2d,
    "mean": mean,
    "softmax": softmax,
    "quantize": quantize,
    "dequantize": dequantize,
    "relu": rescale,
    "relu6": rescale,
}
