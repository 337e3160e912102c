"""The arithmetic of a node: that of its own rule or profile if it has one, else the graph's."""

from collections.abc import Mapping
from dataclasses import replace

from . import delegation
from .affine import quantization
from .graph import Graph, Node, closest_names
from .kernels.structs import DEQUANTIZE, QUANTIZE, REQUANTIZE, Rounding
from .profiles import PROFILES, USUAL_SCALE, Arithmetic, Profile, find_profile

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


def own_profile(node: Node) -> str | None:
    """The profile that stands in place of a rule of the node's own; None where none does."""
    return node.rule if node.rule in PROFILES else None


def own_rule(node: Node) -> str | None:
    """The rule that the node names; None where it names none, or a profile."""
    return None if node.rule in PROFILES else node.rule


def profile_of(graph: Graph, node: Node) -> Profile:
    """The profile that decides about the node: its own or the graph's, or what that falls back to.

    A profile that leaves the node to another program leaves it there as a node's own, too.
    """
    profile = find_profile(own_profile(node) or graph.profile)
    if profile.fallback and not delegation.takes(graph, node):
        return find_profile(profile.fallback)
    return profile


def arithmetic(graph: Graph, node: Node) -> Arithmetic:
    """How the node makes its results.

    A node that names a profile has all of that profile's arithmetic. So has one that names the rule
    of the graph's profile, plain or with its blocks. Another rule has no blocks, its M is computed
    as `USUAL_SCALE` says, and the bounds of an activation stay the profile's.

    raises   ValueError when the profile says nothing about the operator
    """
    if (reason := _silence(graph, node)) is not None:
        raise ValueError(reason)
    own, rule = profile_of(graph, node).operators[variant(graph, node)], own_rule(node)
    if rule in (None, own.rule, str(own)):
        return own
    return replace(own, rule=rule, scale=USUAL_SCALE.get(rule, "double"), block=1, rest="")


def has_its_own(graph: Graph, node: Node) -> bool:
    """Whether the node names a rule or profile that changes its arithmetic.

    raises   ValueError when the node's profile says nothing about the operator
    """
    own, plain = arithmetic(graph, node), replace(node, rule=None)
    return is_silent(graph, plain) or own != arithmetic(graph, plain)


def is_silent(graph: Graph, node: Node) -> bool:
    """Whether the node's profile says nothing about its operator."""
    return variant(graph, node) not in profile_of(graph, node).operators


def choices(graph: Graph, node: Node) -> tuple[str, ...]:
    """The rules that the node may be given; none where nothing is rounded, or in one way only."""
    name = variant(graph, node)
    return CHOICES.get("conv2d" if name == "grouped_conv2d" else name.removesuffix("_per_channel"),
                       ())  # fmt: skip


def stated(graph: Graph, node: Node) -> str:
    """Operator, profile and rule, for messages: "conv2d under tflm rounds by double_rounding"."""
    of_its_own = own_profile(node) is not None
    subject = f"{node.op} under {profile_of(graph, node).name}{' of its own' * of_its_own}"
    try:
        rule, own = arithmetic(graph, node), not of_its_own and has_its_own(graph, node)
    except ValueError:
        return f"{subject} has no rule"
    return f"{subject} rounds by {rule}{', a rule of its own' * own}"


def refusal(graph: Graph, node: Node) -> str | None:
    """Why the node cannot have the rule or profile it names; None where it can, or names none."""
    if node.rule is None:
        return None
    if own_profile(node) is not None:
        return None if node.op in MOVING else _silence(graph, node)
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
    known = f"{', '.join(allowed)} or a profile ({', '.join(sorted(PROFILES))})"
    return f"{stated(graph, plain)}; a rule of its own must be {known}, got {node.rule}"


def _silence(graph: Graph, node: Node) -> str | None:
    """What is missing where the node's profile says nothing about it; else None."""
    if not is_silent(graph, node):
        return None
    return (f"profile {profile_of(graph, node).name} must have a rule for {variant(graph, node)}, "
            "got none; choose another profile")  # fmt: skip


def with_rules(graph: Graph, rules: Mapping[str, str]) -> Graph:
    """The graph with rules or profiles of their own for some of its nodes.

    rules    node -> one of its `choices`, its profile's own as `npusim inspect` shows it, or the
             name of a profile that has a rule for it
    raises   ValueError for a node that does not exist, or a rule that its operator does not have
    """
    nodes = {node.name: node for node in graph.nodes}
    for name, rule in rules.items():
        if name not in nodes:
            raise ValueError(f"rules: must name nodes of the graph, got {name!r}; "
                             f"{closest_names(name, nodes)}")  # fmt: skip
        if not isinstance(rule, str):
            raise TypeError(f"rules: {name}: must be the name of a rule or profile, got {rule!r}")
        nodes[name] = replace(nodes[name], rule=rule)
        if (reason := refusal(graph, nodes[name])) is not None:
            raise ValueError(f"rules: {name}: {reason}")
    return replace(graph, nodes=tuple(nodes.values()))


def rounding(a: Arithmetic, names: tuple[str, ...]) -> Rounding:
    """An arithmetic's rules by their numbers in REQUANTIZE, QUANTIZE or DEQUANTIZE."""
    rule = names.index(a.rule)
    return Rounding(rule, a.block, names.index(a.rest) if a.rest else rule)
