"""Faults of a device: what a node makes of its inputs when it has one.

Sums of products and roundings are computed here, cell by cell, so that a fault is not made by the
code that must find it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from math import floor
from typing import Any, NamedTuple

import numpy as np
from naive.rounding import requantize_double_rounding

from npusim import parameters, reference
from npusim.graph import Graph, Node
from npusim.kernels.structs import OVERFLOW, Accumulation
from npusim.shapes import window_2d

WEIGHTED = ("conv2d", "depthwise_conv2d", "fully_connected")
Values = dict[int, np.ndarray]


class Fault(NamedTuple):
    """One kind of fault.

    kind     what `npusim diff` should call it
    ops      operators that can have it
    make     (rng, graph, node, values) -> the node's wrong output, or None if it cannot have it
    dumped   whether only the dump is wrong, and the device computed on with right codes
    ties     whether scales are made powers of two, so that many results are exactly between codes
    """

    kind: str
    ops: tuple[str, ...]
    make: Callable[..., np.ndarray | None]
    dumped: bool = False
    ties: bool = False


def sums(
    graph: Graph,
    node: Node,
    x: np.ndarray,
    *,
    padding: Any = None,
    pad_code: int | None = None,
    turn: Callable[[np.ndarray], np.ndarray] = np.asarray,
) -> np.ndarray:
    """bias + sum of products of a weighted node, cell by cell: int64, channels last.

    padding    (top, left) instead of the node's
    pad_code   code in the padding instead of the zero point
    turn       what is done to the kernels (.., KH, KW, ..) first
    """
    source, weights = (graph.tensors[i] for i in node.inputs[:2])
    zero = int(source.quantization.zero_point[0])
    bias = parameters.bias(graph, node).astype(np.int64)
    w = turn(weights.data.astype(np.int64))
    if node.op == "fully_connected":
        return bias + (x.astype(np.int64) - zero) @ w.T
    if node.op == "depthwise_conv2d":
        w = w[0]
    kh, kw = weights.shape[1:3]
    (oh, top), (ow, left) = window_2d(node.attributes, x.shape[1], x.shape[2], (kh, kw))
    top, left = padding or (top, left)
    field = np.full((len(x), x.shape[1] + 12, x.shape[2] + 12, x.shape[3]),
                    zero if pad_code is None else pad_code, np.int64)  # fmt: skip
    field[:, 6 : 6 + x.shape[1], 6 : 6 + x.shape[2]] = x
    field -= zero
    out = np.zeros((len(x), oh, ow, len(bias)), np.int64)
    for row in range(oh):
        for column in range(ow):
            i = 6 - top + row * node.attributes["stride"][0]
            j = 6 - left + column * node.attributes["stride"][1]
            cells = field[:, i : i + kh, j : j + kw]
            if node.op == "depthwise_conv2d":
                out[:, row, column] = (cells * w).sum(axis=(1, 2))
            else:
                out[:, row, column] = np.tensordot(cells, w, axes=([1, 2, 3], [1, 2, 3]))
    return out + bias


def tail(
    graph: Graph, node: Node, acc: np.ndarray, rule: Callable[..., int] | None = None, **other: Any
) -> np.ndarray:
    """int8 codes of accumulators by a rule (acc, multiplier, shift) -> int, zero point and clamp.

    other   multiplier, shift, zero_point, act_min or act_max instead of the node's
    """
    y = graph.tensors[node.outputs[0]]
    _, r = parameters.bind(graph, node)
    r = r._replace(**other)
    channels = acc.reshape(-1, acc.shape[-1])
    out = np.empty(channels.shape, np.int64)
    for c in range(channels.shape[1]):
        m, s = int(r.multiplier[c]), int(r.shift[c])
        out[:, c] = [(rule or requantize_double_rounding)(int(v), m, s) for v in channels[:, c]]
    codes = np.clip(out + r.zero_point, r.act_min, r.act_max)
    return codes.astype(np.int8).reshape(-1, *y.shape[1:])


def _exact(acc: int, multiplier: int, shift: int) -> Fraction:
    return Fraction(acc * multiplier) * Fraction(2) ** (shift - 31)


def _x(node: Node, values: Values) -> np.ndarray:
    return values[node.inputs[0]]


def _rounded(rule: Callable[[Fraction], int]) -> Callable[..., np.ndarray]:
    def make(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
        acc = sums(graph, node, _x(node, values))
        return tail(graph, node, acc, lambda a, m, s: rule(_exact(a, m, s)))

    return make


def _scaled(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    """One or two channels with another multiplier."""
    multiplier = parameters.bind(graph, node)[1].multiplier.astype(np.int64)
    for c in rng.choice(len(multiplier), int(rng.integers(1, 3)), replace=False):
        multiplier[c] = int(multiplier[c] * rng.choice([0.25, 0.5, 0.8, 1.25]))
    return tail(graph, node, sums(graph, node, _x(node, values)), multiplier=multiplier)


def _shifted_scale(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    """Every channel's shift is one off."""
    shift = parameters.bind(graph, node)[1].shift - 1
    return tail(graph, node, sums(graph, node, _x(node, values)), shift=shift)


def _one_scale(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    """The first channel's multiplier for all."""
    r = parameters.bind(graph, node)[1]
    return tail(graph, node, sums(graph, node, _x(node, values)),
                multiplier=np.full_like(r.multiplier, r.multiplier[0]),
                shift=np.full_like(r.shift, r.shift[0]))  # fmt: skip


def _no_bias(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    acc = sums(graph, node, _x(node, values)) - parameters.bias(graph, node)
    return tail(graph, node, acc)


def _some_bias(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    """One or two channels with another bias, 3 to 20 codes off."""
    r, acc = parameters.bind(graph, node)[1], sums(graph, node, _x(node, values))
    for c in rng.choice(acc.shape[-1], int(rng.integers(1, 3)), replace=False):
        code = 2.0 ** (31 - int(r.shift[c])) / int(r.multiplier[c])
        acc[..., c] += int(code * rng.uniform(3, 20) * rng.choice([-1, 1]))
    return tail(graph, node, acc)


def _pad_code(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    return tail(graph, node, sums(graph, node, _x(node, values), pad_code=0))


def _pad_side(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray | None:
    """The odd padded cell of a strided SAME convolution on the other side."""
    x = _x(node, values)
    kernel = graph.tensors[node.inputs[1]].shape[1:3]
    (oh, top), (ow, left) = window_2d(node.attributes, x.shape[1], x.shape[2], kernel)
    stride_h, stride_w = node.attributes["stride"]
    rows = max((oh - 1) * stride_h + kernel[0] - x.shape[1], 0)
    columns = max((ow - 1) * stride_w + kernel[1] - x.shape[2], 0)
    other = rows - top, columns - left
    return None if other == (top, left) else tail(graph, node, sums(graph, node, x, padding=other))


def _turned(turn: Callable[[np.ndarray], np.ndarray]) -> Callable[..., np.ndarray | None]:
    """Kernels of more than one cell, turned."""

    def make(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray | None:
        if graph.tensors[node.inputs[1]].shape[1:3] == (1, 1):
            return None
        return tail(graph, node, sums(graph, node, _x(node, values), turn=turn))

    return make


def _other_activation(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray | None:
    """relu where there is none: codes end at the zero point."""
    if node.attributes["activation"] != "none":
        return None
    zero = int(graph.tensors[node.outputs[0]].quantization.zero_point[0])
    return np.maximum(values[node.outputs[0]], zero).astype(np.int8)


def _narrow(overflow: str) -> Callable[..., np.ndarray]:
    """Accumulators of fewer bits, in the order row, column, channel, starting from the bias."""

    def make(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
        acc = sums(graph, node, _x(node, values))
        bits = int(np.abs(acc).max()).bit_length() + int(rng.integers(-1, 1))
        a = Accumulation(bits, OVERFLOW[overflow])
        structs = parameters.bind(graph, node)
        arrays = [values[i] for i in node.inputs]
        return getattr(reference, node.op)(*arrays, *structs, a)

    return make


def _unclamped(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray | None:
    if node.attributes["activation"] == "none":
        return None
    return tail(graph, node, sums(graph, node, _x(node, values)), act_min=-128, act_max=127)


def _clamped(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    low, high = np.percentile(values[node.outputs[0]], [20, 85]).astype(int).tolist()
    return np.clip(values[node.outputs[0]], low, high)


def _added(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    c = int(rng.integers(2, 30)) * int(rng.choice([-1, 1]))
    return np.clip(values[node.outputs[0]].astype(int) + c, -128, 127).astype(np.int8)


def _no_input_zero_point(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray | None:
    """Codes are multiplied as they are."""
    if node.op != "fully_connected":
        return None
    zero = int(graph.tensors[node.inputs[0]].quantization.zero_point[0])
    x = _x(node, values).astype(np.int64) + zero
    return tail(graph, node, sums(graph, node, x)) if zero else None


def _swapped(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    y = values[node.outputs[0]]
    order = np.arange(y.shape[-1])
    chosen = rng.choice(len(order), int(rng.integers(2, 5)), replace=False)
    order[chosen] = np.roll(chosen, 1)
    return y[..., order]


def _moved(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    """One row down or one column to the right; what comes in is noise."""
    axis = int(rng.integers(1, 3))
    y = np.moveaxis(np.roll(values[node.outputs[0]], 1, axis), axis, 0)
    y[0] = rng.integers(-128, 128, y[0].shape)
    return np.moveaxis(y, 0, axis)


def _late(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    """A start address a few bytes off; what stands in front is noise."""
    y = values[node.outputs[0]]
    distance = int(rng.integers(1, 20))
    noise = rng.integers(-128, 128, distance).astype(np.int8)
    return np.concatenate([noise, y.ravel()])[: y.size].reshape(y.shape)


def _planes(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    y = values[node.outputs[0]]
    return np.ascontiguousarray(np.moveaxis(y, 3, 1)).reshape(y.shape)


def _unsigned(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    return (values[node.outputs[0]].astype(int) + 128).astype(np.uint8)


def _inverted_bit(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    return values[node.outputs[0]] ^ np.int8(-128)


def _cleared(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    return np.zeros_like(values[node.outputs[0]])


def _cut_short(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    y = values[node.outputs[0]].copy()
    y.reshape(-1)[y.size // 2 :] = -1
    return y


def _stale(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray | None:
    """The codes of an operand where the output should be."""
    x, y = _x(node, values), values[node.outputs[0]]
    return x.reshape(y.shape) if x.size == y.size else None


def _counting_average(rng: Any, graph: Graph, node: Node, values: Values) -> np.ndarray:
    """2x2 windows whose padding counts as cells of the zero point; halves away from zero."""
    x = _x(node, values).astype(np.int64)
    zero = int(graph.tensors[node.inputs[0]].quantization.zero_point[0])
    field = np.pad(x, ((0, 0), (0, 1), (0, 1), (0, 0)), constant_values=zero)
    total = sum(field[:, r:, c:][:, : x.shape[1], : x.shape[2]] for r in (0, 1) for c in (0, 1))
    return (np.sign(total) * ((np.abs(total) + 2) // 4)).astype(np.int8)


def _half_up(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


def _half_to_zero(value: Fraction) -> int:
    magnitude = -floor(Fraction(1, 2) - abs(value))
    return magnitude if value > 0 else -magnitude


def _to_zero(value: Fraction) -> int:
    return int(value)


SPATIAL = ("conv2d", "depthwise_conv2d", "add")
IMAGE = ("conv2d", "depthwise_conv2d", "add", "average_pool2d")
CONVOLUTIONS = ("conv2d", "depthwise_conv2d")
ANY = (*IMAGE, "mean", "fully_connected")
FAULTS: Mapping[str, Fault] = {
    "rounds down": Fault("rounding", WEIGHTED, _rounded(floor)),
    "rounds toward zero": Fault("rounding", WEIGHTED, _rounded(_to_zero)),
    "rounds up": Fault("rounding", WEIGHTED, _rounded(lambda v: -floor(-v))),
    "ties to even": Fault("rounding", WEIGHTED, _rounded(round), ties=True),
    "ties up": Fault("rounding", WEIGHTED, _rounded(_half_up), ties=True),
    "ties to zero": Fault("rounding", WEIGHTED, _rounded(_half_to_zero), ties=True),
    "channel scale": Fault("scale", CONVOLUTIONS, _scaled),
    "shift": Fault("scale", CONVOLUTIONS, _shifted_scale),
    "scale per tensor": Fault("scale", CONVOLUTIONS, _one_scale),
    "no bias": Fault("bias", CONVOLUTIONS, _no_bias),
    "other bias": Fault("bias", CONVOLUTIONS, _some_bias),
    "padding code": Fault("padding", CONVOLUTIONS, _pad_code),
    "padding side": Fault("padding", CONVOLUTIONS, _pad_side),
    "padding counted": Fault("padding", ("average_pool2d",), _counting_average),
    "accumulator saturates": Fault("accumulator", WEIGHTED, _narrow("saturate")),
    "accumulator wraps": Fault("accumulator", WEIGHTED, _narrow("wrap")),
    "no activation": Fault("clamp", CONVOLUTIONS, _unclamped),
    "other clamp": Fault("clamp", IMAGE, _clamped),
    "an activation": Fault("clamp", ("conv2d", "add"), _other_activation),
    "kernels turned": Fault("weights", CONVOLUTIONS, _turned(lambda w: w[:, ::-1, ::-1])),
    "kernels transposed": Fault("weights", CONVOLUTIONS, _turned(lambda w: w.swapaxes(1, 2))),
    "zero point": Fault("zero point", IMAGE, _added),
    "zero point of the input": Fault("zero point", WEIGHTED, _no_input_zero_point),
    "channels swapped": Fault("channel order", IMAGE, _swapped),
    "image moved": Fault("shift", IMAGE, _moved),
    "address": Fault("shift", IMAGE, _late),
    "planes": Fault("layout", IMAGE, _planes, dumped=True),
    "unsigned dump": Fault("signedness", ANY, _unsigned, dumped=True),
    "inverted bit": Fault("signedness", ANY, _inverted_bit, dumped=True),
    "cleared": Fault("unwritten", ANY, _cleared, dumped=True),
    "cut short": Fault("unwritten", IMAGE, _cut_short, dumped=True),
    "stale": Fault("misplaced", SPATIAL, _stale, dumped=True),
}
