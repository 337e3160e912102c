"""How accumulators become codes: the `Requantization` of a node, from its scales.

What a node's `given` holds is taken as it is; everything else follows from the scales by the rules
of the node's arithmetic. Sources: TFLite kernels' Prepare functions (conv, fully_connected, add,
mul, reduce), XNNPACK xnn_qs8_quantize.
"""

import math

import numpy as np

from .affine import LIMITS, quantization, scale, scale32, zero_point
from .graph import Graph, Node, Tensor
from .kernels.structs import FLOAT32_EVEN, FLOAT64_AWAY, REQUANTIZE, TWICE, Requantization
from .multiplier import quantize_multiplier, quantize_multipliers, real_factor, real_multiplier
from .profiles import Arithmetic
from .rules import arithmetic, rounding

ADD_LEFT_SHIFT = 20
INT32 = LIMITS["int32"]
ONE = np.ones(1, np.float32)

_ACTIVATION_RANGE = {
    "none": (None, None),
    "relu": (0.0, None),
    "relu6": (0.0, 6.0),
    "relu_n1_to_1": (-1.0, 1.0),
}


def output_channels(node: Node, weights: Tensor) -> int:
    """Number of output channels of a weighted node."""
    return weights.shape[3] if node.op == "depthwise_conv2d" else weights.shape[0]


def clamp_of(graph: Graph, node: Node, a: Arithmetic | None = None) -> tuple[int, int]:
    """Codes between which the node's output stays: those of its fused activation.

    a   instead of the node's own arithmetic, here and below
    """
    y = graph.tensors[node.outputs[0]]
    activation = node.op if node.op in _ACTIVATION_RANGE else "none"
    return activation_range(y, str(node.attributes.get("activation", activation)),
                            (a or arithmetic(graph, node)).bounds)  # fmt: skip


def activation_range(tensor: Tensor, activation: str, bounds: str = "away") -> tuple[int, int]:
    """Codes between which a fused activation clamps, in the output's quantisation.

    bounds   how the bounds are rounded, see `profiles.BOUNDS`; they are divided in float32
    """
    low, high = LIMITS[tensor.dtype]
    bottom, top = _ACTIVATION_RANGE[activation]
    code = _code_even if bounds == "even" else _code_away
    if bottom is not None:
        low = max(low, code(bottom, tensor))
    if top is not None:
        high = min(high, code(top, tensor))
    return low, high


def _code_away(value: float, tensor: Tensor) -> int:
    ratio = float(np.float32(value) / scale32(tensor))
    rounded = math.copysign(math.floor(abs(ratio) + 0.5), ratio)
    return zero_point(tensor) + int(rounded)


def _code_even(value: float, tensor: Tensor) -> int:
    low, high = LIMITS[tensor.dtype]
    sum32 = np.float32(value) / scale32(tensor) + np.float32(zero_point(tensor))
    return int(np.rint(min(max(sum32, np.float32(low)), np.float32(high))))


def weighted(graph: Graph, node: Node, a: Arithmetic | None = None) -> Requantization:
    """Of a weighted node, one multiplier per output channel: M = s_x * s_w / s_y.

    A single weight scale is repeated.
    """
    x, weights = graph.tensors[node.inputs[0]], graph.tensors[node.inputs[1]]
    a, channels = a or arithmetic(graph, node), output_channels(node, weights)
    if "multiplier" in node.given:
        multiplier, shift = node.given["multiplier"], node.given["shift"]
        return _tail(graph, node, multiplier, shift, real_multipliers(multiplier, shift), a)
    reals = ratio(a, x, quantization(weights).scale, graph.tensors[node.outputs[0]])
    reals = np.broadcast_to(reals, (channels,))
    return _tail(graph, node, *quantize_multipliers(reals), reals, a)


def mul(graph: Graph, node: Node, a: Arithmetic | None = None) -> Requantization:
    """Of MUL: M = s_a * s_b / s_y."""
    left, right = (graph.tensors[i] for i in node.inputs)
    a, factor = a or arithmetic(graph, node), quantization(right).scale[:1]
    return _single(graph, node, ratio(a, left, factor, _y(graph, node)), a)


def rescale(graph: Graph, node: Node, a: Arithmetic | None = None) -> Requantization:
    """Of quantize of codes, relu, relu6: M = s_x / s_y."""
    a, x = a or arithmetic(graph, node), graph.tensors[node.inputs[0]]
    return _single(graph, node, ratio(a, x, ONE, _y(graph, node)), a)


def mean(graph: Graph, node: Node, cells: int, a: Arithmetic | None = None) -> Requantization:
    """Of MEAN: the division by the number of cells is folded into the multiplier, truncated.

    k = min(floor(log2 cells), 32, 31 + shift), multiplier = (multiplier << k) div cells, shift -= k
    """
    a, x = a or arithmetic(graph, node), graph.tensors[node.inputs[0]]
    (real,) = ratio(a, x, ONE, _y(graph, node))
    multiplier, shift = quantize_multiplier(float(real))
    fold = min(cells.bit_length() - 1, 32, 31 + shift)
    arrays = np.array([(multiplier << fold) // cells, shift - fold], np.int32)
    return _tail(graph, node, arrays[:1], arrays[1:], np.array([real / cells]), a)


def mean_x86(graph: Graph, node: Node, cells: int, a: Arithmetic | None = None) -> Requantization:
    """Of the mean of a map in LiteRT's kernel for x86: of the sum of codes, not of differences.

    M = s_x / (cells * s_y); what the sum has too much is taken off, rounded, with the zero point:
    zero_point = zp_y - round(zp_x * s_x / s_y), ties away from zero. All in float32. Channels come
    in blocks of 16, rounded twice with ties toward +inf; those behind the last one as elsewhere.
    """
    x, y = graph.tensors[node.inputs[0]], _y(graph, node)
    offset = float(np.float32(zero_point(x)) * scale32(x) / scale32(y))
    magnitude = int(np.float32(abs(offset)) + np.float32(0.5))
    real = float(scale32(x) / (np.float32(cells) * scale32(y)))
    rounded = Arithmetic("double_rounding_up", block=16, rest="double_rounding")
    zero = zero_point(y) - int(math.copysign(magnitude, offset))
    reals = np.full(y.shape[-1], real)
    return Requantization(*quantize_multipliers(reals), reals, zero, *clamp_of(graph, node, a),
                          rounding(rounded, REQUANTIZE))  # fmt: skip


def add(
    graph: Graph, node: Node, a: Arithmetic | None = None
) -> tuple[Requantization, Requantization, Requantization]:
    """Of ADD: the operands' to a common scale, s_i / (2 max s), the sum's, 2 max s / (2^20 s_y)."""
    tensors = [graph.tensors[i] for i in node.inputs]
    twice_max = 2.0 * max(map(scale, tensors))
    operands = (_single(graph, node, np.array([scale(t) / twice_max]), a) for t in tensors)
    left, right = (r._replace(zero_point=0, act_min=INT32[0], act_max=INT32[1]) for r in operands)
    total = twice_max / (2.0**ADD_LEFT_SHIFT * scale(_y(graph, node)))
    return left, right, _single(graph, node, np.array([total]), a)


def ratio(a: Arithmetic, x: Tensor, factor: np.ndarray, y: Tensor) -> np.ndarray:
    """s_x * factor / s_y as the arithmetic computes it.

    factor    float32 (n,)
    returns   float64 (n,), float32 values where `a.scale` is "float32"
    """
    return real_factor(a.scale, scale32(x), factor, scale32(y))


def real_multipliers(multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """The real numbers that multipliers and shifts stand for, float64 (n,), exact."""
    pairs = zip(multiplier.tolist(), shift.tolist(), strict=True)
    return np.array([real_multiplier(m, s) for m, s in pairs], np.float64)


def follow(r: Requantization, bound: Requantization) -> None:
    """Bring r's scales, in place, to its multipliers and shifts, which callers may change.

    bound   r as the node's scales made it; where only shifts have changed since, scales double
            with them, else they are what multipliers and shifts stand for
    """
    if np.array_equal(r.multiplier, bound.multiplier):
        r.scale[:] = np.ldexp(bound.scale, r.shift - bound.shift)
    else:
        r.scale[:] = np.ldexp(r.multiplier.astype(np.float64), r.shift - 31)


def reads_scale(r: Requantization) -> bool:
    """Whether one of its rules computes with the real multiplier."""
    return not {r.rounding.rule, r.rounding.rest}.isdisjoint((FLOAT32_EVEN, FLOAT64_AWAY))


def _single(
    graph: Graph, node: Node, real: np.ndarray, a: Arithmetic | None = None
) -> Requantization:
    return _tail(graph, node, *quantize_multipliers(real), real, a)


def _tail(
    graph: Graph,
    node: Node,
    multiplier: np.ndarray,
    shift: np.ndarray,
    reals: np.ndarray,
    a: Arithmetic | None,
) -> Requantization:
    a = a or arithmetic(graph, node)
    low, high = clamp_of(graph, node, a)
    zero = zero_point(_y(graph, node))
    rule = TWICE if a.rule == "add_x86" else rounding(a, REQUANTIZE)
    return Requantization(multiplier, shift, np.array(reals), zero, low, high, rule)


def _y(graph: Graph, node: Node) -> Tensor:
    return graph.tensors[node.outputs[0]]
