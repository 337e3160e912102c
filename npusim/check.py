"""Rules of a legal graph.

Everything that runs a graph relies on `check` having passed: indices, order, types, shapes,
quantisation and memory. The first broken rule is raised with the tensor or node that breaks it.
"""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from .affine import LIMITS
from .check_nodes import check_node, check_operands, check_shape
from .graph import ABSENT, DTYPES, Graph, ModelError, Node, Quantization, Tensor
from .neural_art.stored import PROFILE as NEURAL_ART
from .operators import RULES, Rule
from .profiles import PROFILES

RANK_LIMIT = 8
DIMENSION_LIMIT = 2**31 - 1
NAME_LIMIT = 4096
STREAM_LIMIT = 2**32 - 1
ACTIVATION_BYTES = 2**30
LAYOUTS = ("NHWC", "NCHW")


def check(graph: Graph, where: str = "") -> None:
    """Check a graph.

    where    what to name in front of tensor or node, such as the file
    raises   ModelError `where: tensor or node: rule, got value; remedy` for the first broken rule
    """
    try:
        _check(graph)
    except ModelError as error:
        if not where:
            raise
        raise ModelError(f"{where}: {error}") from error


def _check(graph: Graph) -> None:
    check_structure(graph, RULES)
    for node in graph.nodes:
        _named(_label(node), check_node, graph, node)
        check_shape(graph, node)


def check_structure(graph: Graph, rules: Mapping[str, Rule]) -> None:
    """Check all of a graph that its operators do not have a say in.

    rules    the operators there are
    raises   ModelError as `check`
    """
    _check_settings(graph)
    _check_names("graph", [graph.name])
    _check_names("tensor", (tensor.name for tensor in graph.tensors))
    _check_names("node", (node.name for node in graph.nodes))
    for tensor in graph.tensors:
        _named(f"tensor {tensor.name}", _check_tensor, tensor)
    _check_ends(graph)
    _check_order(graph, rules)
    _check_memory(graph)


def _check_settings(graph: Graph) -> None:
    if graph.profile not in PROFILES:
        raise ModelError(
            f"profile: must be one of {', '.join(sorted(PROFILES))}, got {graph.profile!r}"
        )
    own = PROFILES[graph.profile].accumulator
    if graph.profile == NEURAL_ART and graph.accumulator not in (None, own):
        raise ModelError(
            f"accumulator: must be {own} under profile {NEURAL_ART}, whose sums are exact, got "
            f"{graph.accumulator}; name that one or another profile"
        )
    if graph.layout not in LAYOUTS:
        raise ModelError(f"layout: must be NHWC or NCHW, got {graph.layout!r}")
    for key, text in graph.provenance.items():
        if not key.isidentifier() or not text.isprintable():
            raise ModelError(
                f"provenance {key}: must be an identifier with printable text, got {text[:80]!r}"
            )


def _check_names(what: str, names: Iterable[str]) -> None:
    for name, count in Counter(names).items():
        if not 1 <= len(name) <= NAME_LIMIT or not name.isprintable():
            raise ModelError(
                f"{what}: name must have 1..{NAME_LIMIT} printable characters, got {name[:80]!r}"
            )
        if count > 1:
            raise ModelError(f"{what} {name}: name must be unique, got {count} of them")


def _check_tensor(tensor: Tensor) -> None:
    if tensor.dtype not in DTYPES:
        raise ModelError(f"type must be one of {', '.join(DTYPES)}, got {tensor.dtype}")
    if tensor.kind not in ("constant", "input", "activation"):
        raise ModelError(f"kind must be constant, input or activation, got {tensor.kind}")
    if len(tensor.shape) > RANK_LIMIT:
        raise ModelError(f"rank must be at most {RANK_LIMIT}, got {len(tensor.shape)}")
    if any(not 1 <= d <= DIMENSION_LIMIT for d in tensor.shape):
        raise ModelError(f"dimensions must be 1..2^31 - 1, got {tensor.shape}")
    if (tensor.kind == "constant") != (tensor.data is not None):
        having = "without" if tensor.data is None else "with"
        raise ModelError(f"values must be those of a constant, got {tensor.kind} {having} values")
    if tensor.data is not None and tensor.data.shape != tensor.shape:
        raise ModelError(f"values must have the shape {tensor.shape}, got {tensor.data.shape}")
    if not 0 <= tensor.stream <= STREAM_LIMIT:
        raise ModelError(f"stream must be 0..2^32 - 1, got {tensor.stream}")
    if tensor.quantization is not None:
        _check_quantization(tensor, tensor.quantization)


def _check_quantization(tensor: Tensor, q: Quantization) -> None:
    if tensor.dtype not in LIMITS:
        raise ModelError(f"only integers have a scale and zero point, got {tensor.dtype}")
    if q.scale.shape != (q.scale.size,) or q.zero_point.shape != q.scale.shape:
        raise ModelError(
            f"scales and zero points must be equally many, got {q.scale.shape} and "
            f"{q.zero_point.shape}"
        )
    if q.axis is None and q.scale.size != 1:
        raise ModelError(f"one scale must serve the whole tensor, got {q.scale.size}")
    if q.axis is not None and not (
        0 <= q.axis < len(tensor.shape) and tensor.shape[q.axis] == q.scale.size
    ):
        raise ModelError(
            f"axis {q.axis} of {tensor.shape} must be as long as the scales, got {q.scale.size}"
        )
    # A channel of constants may have scale 0: all it stands for is 0.
    legal = np.isfinite(q.scale) & ((q.scale > 0) | (tensor.kind == "constant") & (q.scale == 0))
    if not legal.all():
        raise ModelError(f"scales must be finite and positive, got {q.scale[~legal][0]}")
    low, high = LIMITS[tensor.dtype]
    outside = q.zero_point[(q.zero_point < low) | (q.zero_point > high)]
    if outside.size:
        raise ModelError(f"zero point must be in {low}..{high}, got {outside[0]}")


def _check_ends(graph: Graph) -> None:
    """Graph inputs are the tensors of that kind; outputs are tensors that nodes make."""
    for what, kind, indices in (
        ("inputs", "input", graph.inputs),
        ("outputs", "activation", graph.outputs),
    ):
        if not indices:
            raise ModelError(f"graph {what}: must be at least one, got none")
        for index, count in Counter(indices).items():
            tensor = _tensor_at(graph, index, f"graph {what}")
            if count > 1:
                raise ModelError(f"graph {what}: must differ, got {tensor.name} {count} times")
            if tensor.kind != kind:
                raise ModelError(
                    f"graph {what}: must be of kind {kind}, got the {tensor.kind} {tensor.name}"
                )
    inputs = frozenset(graph.inputs)
    for index, tensor in enumerate(graph.tensors):
        if tensor.kind == "input" and index not in inputs:
            raise ModelError(f"tensor {tensor.name}: must be one of the graph's inputs, got none")


def _check_order(graph: Graph, rules: Mapping[str, Rule]) -> None:
    """Every tensor is made once, and before it is read."""
    made = {i for i, tensor in enumerate(graph.tensors) if tensor.kind != "activation"}
    for node in graph.nodes:
        _named(_label(node), check_operands, node, rules)
        for index in node.inputs:
            if index == ABSENT:
                continue
            tensor = _tensor_at(graph, index, _label(node))
            if index not in made:
                raise ModelError(
                    f"{_label(node)}: inputs must be made by earlier nodes, got {tensor.name}"
                )
        _check_write(graph, node, made)
        made.update(node.outputs)
    for index, tensor in enumerate(graph.tensors):
        if index not in made:
            raise ModelError(f"tensor {tensor.name}: must be made by a node, got none that does")


def _check_write(graph: Graph, node: Node, made: set[int]) -> None:
    tensor = _tensor_at(graph, node.outputs[0], _label(node))
    if tensor.kind != "activation":
        raise ModelError(
            f"{_label(node)}: output must be an activation, got the {tensor.kind} {tensor.name}"
        )
    if node.outputs[0] in made:
        raise ModelError(
            f"{_label(node)}: output must be written by one node only, got {tensor.name} again"
        )


def _tensor_at(graph: Graph, index: int, where: str) -> Tensor:
    if not 0 <= index < len(graph.tensors):
        raise ModelError(f"{where}: tensors must be 0..{len(graph.tensors) - 1}, got {index}")
    return graph.tensors[index]


def _check_memory(graph: Graph) -> None:
    total = 0
    for tensor in graph.tensors:
        if tensor.data is None:
            total += math.prod(tensor.shape) * np.dtype(tensor.dtype).itemsize
        if total > ACTIVATION_BYTES:
            raise ModelError(
                f"tensor {tensor.name}: activations must fit in {ACTIVATION_BYTES} bytes together, "
                f"got {total} with its {tensor.shape}"
            )


def _label(node: Node) -> str:
    return f"{node.name}/{node.op}"


def _named(where: str, rule: Callable[..., None], *arguments: Any) -> None:
    """Apply a rule; its message gets the name of what it was applied to."""
    try:
        rule(*arguments)
    except ModelError as error:
        raise ModelError(f"{where}: {error}") from error
