"""Rules of one node: its operands fit the operator and each other.

What passes here satisfies all that the kernels and the NumPy reference rely on without looking.
Letters: N H W C input, O output channels, I input channels of a group, KH KW kernel.
"""

import math
from collections.abc import Callable, Mapping

import numpy as np

from . import delegation
from .affine import quantization, scale
from .graph import ABSENT, Graph, ModelError, Node, Quantization, Tensor
from .kernels.table import CODE_TYPES, RESCALES
from .multiplier import quantize_multipliers
from .neural_art.settle import settle_node
from .neural_art.stored import on_hardware, without
from .operators import CODES, LONGEST, RULES, Rule
from .parameters import bind
from .requantization import clamp_of, output_channels, ratio
from .rules import MOVING, arithmetic, own_rule, profile_of, refusal, stated
from .shapes import output_shape

SOFTMAX_SCALE, SOFTMAX_ZERO_POINT = 1 / 256, -128
WEIGHT_TYPES = {"int8": ("int8", "int32"), "float32": ("float32", "float32")}
"""Types of weights and bias by that of the input."""
GIVEN = {
    "multiplier": (0, LONGEST),
    "shift": (-31, 31),
    "statistics_mean": (-(255 << 16), 255 << 16),
    "statistics_deviation": (0, 255 << 16),
}
"""What a weighted node may be given, int32 (O,): its legal values, statistics in 2^-16 code."""
PAIRS = (("multiplier", "shift"), ("statistics_mean", "statistics_deviation"))


def check_node(graph: Graph, node: Node) -> None:
    """Check one node whose tensors are legal.

    raises   ModelError without the node's name
    """
    rule = RULES[node.op]
    check_node_form(graph, node, rule)
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    if rule.moves and x.quantization != y.quantization:
        raise ModelError(
            f"input and output must have one quantisation, got {_described(x.quantization)} and "
            f"{_described(y.quantization)}"
        )
    _check_given(graph, node)
    _check_rule(graph, node)
    _check_parameters(graph, node)


def check_node_form(graph: Graph, node: Node, rule: Rule) -> None:
    """Check what a node has by its operator's rule: types, ranks, attributes, weights that fit.

    raises   ModelError without the node's name
    """
    operands = [graph.tensors[i] for i in node.inputs if i != ABSENT]
    x, y = operands[0], graph.tensors[node.outputs[0]]
    _check_types(node, rule, operands, y)
    _check_attributes(node, rule, len(x.shape))
    special = _SPECIAL.get(node.op)
    if special is not None:
        special(node, operands, y)


def check_shape(graph: Graph, node: Node) -> None:
    """Check that the output has the shape that follows from the inputs'."""
    derived, declared = output_shape(graph, node), graph.tensors[node.outputs[0]].shape
    if declared != derived:
        raise ModelError(f"{node.name}/{node.op}: output must be {derived}, got {declared}")


def check_operands(node: Node, rules: Mapping[str, Rule]) -> None:
    """Check an operator's name and how many tensors it reads and writes."""
    if node.op not in rules:
        raise ModelError(f"operator must be one of {', '.join(rules)}, got {node.op}")
    names = rules[node.op].operands
    least = len(names) - (names[-1] == "bias")
    if not least <= len(node.inputs) <= len(names) or len(node.outputs) != 1:
        raise ModelError(
            f"must read {', '.join(names)} and write one tensor, "
            f"got {len(node.inputs)} and {len(node.outputs)}"
        )
    for name, index in zip(names, node.inputs, strict=False):
        if index == ABSENT and name != "bias":
            raise ModelError(f"{name} must be given, got none")


def _check_types(node: Node, rule: Rule, operands: list[Tensor], y: Tensor) -> None:
    x = operands[0]
    low, high = rule.ranks
    if x.dtype not in rule.x:
        raise ModelError(
            f"{rule.operands[0]} must be {_either(rule.x)}, got {x.dtype}{_quantise(x.dtype)}"
        )
    expected = rule.y or (x.dtype,)
    if y.dtype not in expected:
        raise ModelError(f"output must be {_either(expected)}, got {y.dtype}")
    if not low <= len(x.shape) <= high:
        rank = low if low == high else f"{low}..{high}"
        raise ModelError(f"{rule.operands[0]} must have rank {rank}, got {x.shape}")
    if all(tensor.data is not None for tensor in operands):
        raise ModelError("must read a tensor that is not a constant, got constants only")
    for name, tensor in [*zip(rule.operands, operands, strict=False), ("output", y)]:
        given = name == "bias" or (name == "weights" and "multiplier" in node.given)
        _check_scales(name, tensor, bool(rule.y) and not given)


def _check_scales(name: str, tensor: Tensor, needed: bool) -> None:
    if tensor.quantization is None:
        if needed and tensor.dtype in CODES:
            raise ModelError(f"{name} must have a scale and zero point, got none")
    elif tensor.quantization.axis is not None and name not in ("weights", "bias"):
        count = len(tensor.quantization.scale)
        raise ModelError(f"{name} must be quantised per tensor, got {count} scales")


def _check_attributes(node: Node, rule: Rule, rank: int) -> None:
    if node.attributes.keys() != rule.attributes.keys():
        raise ModelError(
            f"attributes must be {', '.join(rule.attributes) or 'none'}, "
            f"got {', '.join(node.attributes) or 'none'}"
        )
    for name, attribute in rule.attributes.items():
        if not attribute.test(node.attributes[name], rank):
            raise ModelError(f"{name} must be {attribute.rule}, got {node.attributes[name]}")


def _conv2d(node: Node, operands: list[Tensor], y: Tensor) -> None:
    x, weights = operands[0], operands[1]
    if len(weights.shape) != 4 or x.shape[3] % weights.shape[3]:
        raise ModelError(
            f"weights must be (O, KH, KW, I), I a divisor of {x.shape[3]}, got {weights.shape}"
        )
    if weights.shape[0] % (x.shape[3] // weights.shape[3]):
        raise ModelError(
            f"output channels must be a multiple of the {x.shape[3] // weights.shape[3]} groups, "
            f"got {weights.shape[0]}"
        )
    _check_weights(operands, 0, weights.shape[0])


def _depthwise_conv2d(node: Node, operands: list[Tensor], y: Tensor) -> None:
    channels, weights = operands[0].shape[3], operands[1]
    fits = len(weights.shape) == 4 and weights.shape[0] == 1 and weights.shape[3] % channels == 0
    if not fits:
        raise ModelError(
            f"weights must be (1, KH, KW, C*M) with C = {channels}, got {weights.shape}"
        )
    _check_weights(operands, 3, weights.shape[3])


def _fully_connected(node: Node, operands: list[Tensor], y: Tensor) -> None:
    x, weights = operands[0], operands[1]
    width = x.shape[-1] if node.attributes["keep_dims"] else math.prod(x.shape)
    if len(weights.shape) != 2 or width % weights.shape[1]:
        raise ModelError(f"weights must be (O, I), I a divisor of {width}, got {weights.shape}")
    if node.attributes["keep_dims"] and width != weights.shape[1]:
        raise ModelError(f"weights must be (O, I) with I = {width}, got {weights.shape}")
    _check_weights(operands, 0, weights.shape[0])


def _check_weights(operands: list[Tensor], axis: int, outputs: int) -> None:
    """Weights int8 with zero point 0, bias int32 (O,), both float32 if x is; both constants."""
    x, *constants = operands
    weights, types = constants[0], WEIGHT_TYPES[x.dtype]
    for name, tensor, dtype in zip(("weights", "bias"), constants, types, strict=False):
        if tensor.data is None:
            raise ModelError(f"{name} must be a constant, got the {tensor.kind} {tensor.name}")
        if tensor.dtype != dtype:
            raise ModelError(f"{name} must be {dtype}, got {tensor.dtype}{_quantise(tensor.dtype)}")
    q = weights.quantization
    if q is not None and q.axis not in (None, axis):
        raise ModelError(f"weights must be quantised along axis {axis}, got {q.axis}")
    if q is not None and q.zero_point.any():
        wrong = q.zero_point[q.zero_point != 0][0]
        raise ModelError(
            f"weights must have zero point 0, got {wrong}; quantise them symmetrically"
        )
    if len(constants) > 1 and constants[1].shape != (outputs,):
        raise ModelError(f"bias must be ({outputs},), got {constants[1].shape}")


def _elementwise(node: Node, operands: list[Tensor], y: Tensor) -> None:
    if operands[1].dtype != operands[0].dtype:
        raise ModelError(f"b must be {operands[0].dtype}, got {operands[1].dtype}")


def _pool2d(node: Node, operands: list[Tensor], y: Tensor) -> None:
    """Every window must hold a valid cell."""
    padding, (height, width) = node.attributes["padding"], node.attributes["kernel"]
    if isinstance(padding, tuple) and (max(padding[:2]) >= height or max(padding[2:]) >= width):
        raise ModelError(f"padding must be less than the kernel {(height, width)}, got {padding}")


def _quantize(node: Node, operands: list[Tensor], y: Tensor) -> None:
    x = operands[0]
    known = y.dtype in CODE_TYPES if x.dtype == "float32" else (x.dtype, y.dtype) in RESCALES
    if not known:
        raise ModelError(f"types must be a pair that TFLite Micro has, got {x.dtype} to {y.dtype}")


def _softmax(node: Node, operands: list[Tensor], y: Tensor) -> None:
    if y.quantization is None:  # real numbers, of a float graph
        return
    scale, zero_point = float(y.quantization.scale[0]), int(y.quantization.zero_point[0])
    if (scale, zero_point) != (SOFTMAX_SCALE, SOFTMAX_ZERO_POINT):
        raise ModelError(
            f"output must have scale 1/256 and zero point -128, got {scale} and {zero_point}"
        )


_SPECIAL: Mapping[str, Callable[[Node, list[Tensor], Tensor], None]] = {
    "conv2d": _conv2d,
    "depthwise_conv2d": _depthwise_conv2d,
    "fully_connected": _fully_connected,
    "add": _elementwise,
    "mul": _elementwise,
    "average_pool2d": _pool2d,
    "max_pool2d": _pool2d,
    "softmax": _softmax,
    "quantize": _quantize,
}


def _check_given(graph: Graph, node: Node) -> None:
    """What was given: int32 (O,), of weighted nodes only, and nothing without its partner."""
    given = without(node)  # Neural-ART's parameters are checked with the scales
    if not given:
        return
    paired = {name for pair in PAIRS if not given.keys().isdisjoint(pair) for name in pair}
    if "weights" not in RULES[node.op].operands or paired != given.keys():
        raise ModelError(
            "given parameters must be multiplier and shift of a weighted node, or "
            "statistics_mean and statistics_deviation, "
            f"got {', '.join(sorted(given))}"
        )
    shape = (output_channels(node, graph.tensors[node.inputs[1]]),)
    for name, values in given.items():
        low, high = GIVEN[name]
        if values.dtype != np.int32 or values.shape != shape:
            raise ModelError(f"{name} must be int32 {shape}, got {values.dtype} {values.shape}")
        outside = values[(values < low) | (values > high)]
        if outside.size:
            raise ModelError(f"{name} must be in {low}..{high}, got {outside[0]}")


def _check_rule(graph: Graph, node: Node) -> None:
    """The profile, or the node itself, must name a rule that the operator has."""
    if (reason := refusal(graph, node)) is not None:
        raise ModelError(reason)
    if node.op in MOVING:
        return
    try:
        arithmetic(graph, node)
    except ValueError as error:
        raise ModelError(str(error)) from error
    weighted = "weights" in RULES[node.op].operands
    delegated = profile_of(graph, node).name == "xnnpack"
    if weighted and delegated and own_rule(node) is None:
        _check_delegated(graph, node)


def _check_delegated(graph: Graph, node: Node) -> None:
    """What XNNPACK refuses of the weighted nodes that it takes."""
    largest = delegation.largest_multiplier(graph, node)
    if largest >= delegation.LARGEST_MULTIPLIER:
        raise ModelError(
            f"{stated(graph, node)}: s_x * s_w / s_y must be below "
            f"{delegation.LARGEST_MULTIPLIER:g}, got {largest:g}; LiteRT refuses the model as "
            "well, raise the output scale"
        )


def _check_parameters(graph: Graph, node: Node) -> None:
    """The scales must give parameters that the kernels can hold.

    A weighted node's largest scale answers for all of its channels.
    """
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    try:
        with np.errstate(over="ignore"):
            if on_hardware(graph, node):
                clamp_of(graph, node)
                settle_node(graph, node)
                return
            if "weights" not in RULES[node.op].operands:
                bind(graph, node)
                return
            clamp_of(graph, node)
        if "multiplier" not in node.given:
            largest = quantization(graph.tensors[node.inputs[1]]).scale.max(keepdims=True)
            quantize_multipliers(ratio(arithmetic(graph, node), x, largest, y))
    except OverflowError as error:
        activation = node.attributes.get("activation", node.op)
        raise ModelError(
            f"{stated(graph, node)}: output scale must leave the bounds of {activation} finite, "
            f"got {scale(y)}"
        ) from error
    except ValueError as error:
        raise ModelError(f"{stated(graph, node)}: {error}") from error


def _described(quantization: Quantization | None) -> str:
    if quantization is None:
        return "none"
    return f"(scale {quantization.scale[0]}, zero point {quantization.zero_point[0]})"


def _either(types: tuple[str, ...]) -> str:
    return " or ".join([", ".join(types[:-1]), types[-1]] if len(types) > 1 else types)


def _quantise(dtype: str) -> str:
    """The remedy for a type."""
    if dtype == "float32":
        return "; quantise the model to int8"
    return "; convert the model to int8" if dtype == "uint8" else ""
