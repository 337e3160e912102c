"""The arithmetic of a node: its own rule if it has one, else its profile's."""

from collections.abc import Mapping
from dataclasses import replace

from . import delegation
from .affine import quantization
from .graph import Graph, Node, closest_names
from .kernels.structs import DEQUANTIZE, QUANTIZE, REQUANTIZE, Rounding
from .profiles import USUAL_SCALE, Arithmetic, Profile, find_profile

MOVING = ("pad", "reshape", "transpose")
"""Operators that no profile need mention: codes pass unchanged."""

_INTEGER = ("double_rounding", "double_rounding_up", "single_rounding")
CHOICES: Mapping[str, tuple[str, ...]] = {
    "conv2d": (*REQUANTIZE, "neural_art"),
    "depthwise_conv2d": (*REQUANTIZE, "neural_art"),
    "fully_connected": (*REQUANTIZE, "neural_art"),
    "add": (*_INTEGER, "add_xnnpack", "add_x86", "neural_art"),
    "mul": REQUANTIZE,
    "mean": (*REQUANTIZE, "mean_xnnpack"),
    "mean_of_map": (*REQUANTIZE, "mean_xnnpack", "mean_x86", "neural_art"),
    "mean_of_map_flat": (*REQUANTIZE, "mean_xnnpack", "neural_art"),
    "requantize": (*REQUANTIZE, "rescale_xnnpack"),
    "requantize_wide": REQUANTIZE,
    "relu": REQUANTIZE,
    "relu6": REQUANTIZE,
    "quantize": QUANTIZE,
    "dequantize": DEQUANTIZE,
    "dequantize_wide": DEQUANTIZE,
    "softmax": ("fixed_point", "softmax_x86"),
}
"""Rules that a node may be given, by operator or variant."""


def variant(graph: Graph, node: Node) -> str:
    """The operator, told apart where a reference has more than one way to compute it.

    grouped_conv2d                more than one group
    fully_connected_per_channel   weights with a scale for each output
    mean_of_map                   over height and width, which are kept as 1x1
    mean_of_map_flat              over height and width, which are dropped
    requantize                    quantize of codes, int8 or uint8 on both sides
    requantize_wide               quantize of codes, wider on one side
    dequantize_wide               of int16
    """
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    eight = ("int8", "uint8")
    if node.op == "conv2d":
        inputs = graph.tensors[node.inputs[1]].shape[3]
        return "conv2d" if inputs == x.shape[3] else "grouped_conv2d"
    if node.op == "fully_connected":
        scales = quantization(graph.tensors[node.inputs[1]]).scale
        return "fully_connected" if scales.size == 1 else "fully_connected_per_channel"
    if node.op == "mean" and len(x.shape) == 4 and node.attributes["axes"] == (1, 2):
        return "mean_of_map" if node.attributes["keep_dims"] else "mean_of_map_flat"
    if node.op == "quantize" and x.dtype != "float32":
        return "requantize" if x.dtype in eight and y.dtype in eight else "requantize_wide"
    if node.op == "dequantize":
        return "dequantize" if x.dtype in eight else "dequantize_wide"
    return node.op


def profile_of(graph: Graph, node: Node) -> Profile:
    """The profile that decides about the node: the graph's, or the one it falls back to."""
    profile = find_profile(graph.profile)
    if profile.fallback and not delegation.takes(graph, node):
        return find_profile(profile.fallback)
    return profile


def arithmetic(graph: Graph, node: Node) -> Arithmetic:
    """How the node makes its results.

    A node that names its profile's own rule, plain or with its blocks, has all of the profile's
    arithmetic. Another rule has no blocks, its M is computed as `USUAL_SCALE` says, and the bounds
    of an activation stay the profile's.

    raises   ValueError when the profile says nothing about the operator
    """
    name, profile = variant(graph, node), profile_of(graph, node)
    if name not in profile.operators:
        raise ValueError(
            f"profile {profile.name} must have a rule for {name}, got none; choose another profile"
        )
    own = profile.operators[name]
    if node.rule in (None, own.rule, str(own)):
        return own
    scale = USUAL_SCALE.get(node.rule, "double")
    return replace(own, rule=node.rule, scale=scale, block=1, rest="")


def has_its_own(graph: Graph, node: Node) -> bool:
    """Whether the node names a rule that changes its arithmetic.

    raises   ValueError when the profile says nothing about the operator
    """
    return arithmetic(graph, node) != arithmetic(graph, replace(node, rule=None))


def choices(graph: Graph, node: Node) -> tuple[str, ...]:
    """The rules that the node may be given; none where nothing is rounded, or in one way only."""
    name = variant(graph, node)
    return CHOICES.get("conv2d" if name == "grouped_conv2d" else name.removesuffix("_per_channel"),
                       ())  # fmt: skip


def stated(graph: Graph, node: Node) -> str:
    """Operator, profile and rule, for messages: "conv2d under tflm rounds by double_rounding"."""
    subject = f"{node.op} under {profile_of(graph, node).name}"
    try:
        rule, own = arithmetic(graph, node), has_its_own(graph, node)
    except ValueError:
        return f"{subject} has no rule"
    return f"{subject} rounds by {rule}{', a rule of its own' * own}"


def refusal(graph: Graph, node: Node) -> str | None:
    """Why the node cannot have the rule it names; None where it can, or names none."""
    if node.rule is None:
        return None
    plain = replace(node, rule=None)
    if node.op in MOVING:
        how = f"{node.op} under {profile_of(graph, node).name} only moves codes"
        return f"{how} and must have no rule of its own, got {node.rule}"
    allowed = choices(graph, plain)
    if not allowed:
        how = f"{stated(graph, plain)}, the only way there is"
        return f"{how}, and must have no rule of its own, got {node.rule}"
    if node.rule in allowed or node.rule == str(profile_of(graph, node).operators.get(
        variant(graph, node)
    )):  # fmt: skip
        return None
    known = f"{', '.join(allowed[:-1])} or {allowed[-1]}"
    return f"{stated(graph, plain)}; a rule of its own must be {known}, got {node.rule}"


def with_rules(graph: Graph, rules: Mapping[str, str]) -> Graph:
    """The graph with rules of their own for some of its nodes.

    rules    node -> one of its `choices`, or its profile's own as `npusim inspect` shows it
    raises   ValueError for a node that does not exist, or a rule that its operator does not have
    """
    nodes = {node.name: node for node in graph.nodes}
    for name, rule in rules.items():
        if name not in nodes:
            raise ValueError(f"rules: must name nodes of the graph, got {name!r}; "
                             f"{closest_names(name, nodes)}")  # fmt: skip
        if not isinstance(rule, str):
            raise TypeError(f"rules: {name}: must be the name of a rule, got {rule!r}")
        nodes[name] = replace(nodes[name], rule=rule)
        if (reason := refusal(graph, nodes[name])) is not None:
            raise ValueError(f"rules: {name}: {reason}")
    return replace(graph, nodes=tuple(nodes.values()))


def rounding(a: Arithmetic, names: tuple[str, ...]) -> Rounding:
    """An arithmetic's rules by their numbers in REQUANTIZE, QUANTIZE or DEQUANTIZE."""
    rule = names.index(a.rule)
    return Rounding(rule, a.block, names.index(a.rest) if a.rest else rule)
