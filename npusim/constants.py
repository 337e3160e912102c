"""The constants of a graph that a session may change: their names, and putting changes back."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from .affine import quantization, scale32
from .graph import ABSENT, Graph, ModelError, Node, Quantization, Tensor, closest_names
from .head import find_head
from .headroom import WEIGHTED
from .kernels.structs import Requantization
from .requantization import output_channels, weighted


def find_constant(graph: Graph, name: str) -> int:
    """Index of a weighted node's constant: by its own name, its node's, or `<node>/bias`.

    Where nothing else is called so, "head" and "head/bias" are the classifier's weights and bias.
    raises   KeyError that names the closest ones
    """
    known: dict[str, int] = {}
    for node in graph.nodes:
        if node.op in WEIGHTED:
            known[node.name] = node.inputs[1]
            if has_bias(node):
                known[f"{node.name}/bias"] = node.inputs[2]
    known |= {graph.tensors[i].name: i for i in known.values()}
    for alias, index in _of_head(graph).items():
        known.setdefault(alias, index)
    if name not in known:
        raise KeyError(
            f"graph {graph.name}: no weights or bias are called {name!r}; "
            f"{closest_names(name, known)}"
        )
    return known[name]


def _of_head(graph: Graph) -> dict[str, int]:
    """Weights and bias of the graph's classifier, if it has one."""
    try:
        node = find_head(graph)
    except ModelError:
        return {}
    found = {"head": node.inputs[1]}
    return found | {"head/bias": node.inputs[2]} if has_bias(node) else found


def has_bias(node: Node) -> bool:
    """Whether a weighted node has a bias of its own."""
    return len(node.inputs) > 2 and node.inputs[2] != ABSENT


def with_biases(graph: Graph) -> Graph:
    """The graph with a bias of zeros for every weighted node that has none.

    The new constants stand behind all others and are called `<node>/bias`, or `<node>/bias#2` where
    another tensor is called so.
    """
    tensors = list(graph.tensors)
    nodes = []
    for node in graph.nodes:
        if node.op in WEIGHTED and not has_bias(node):
            zeros = np.zeros(output_channels(node, graph.tensors[node.inputs[1]]), np.int32)
            stream = max(t.stream for t in tensors) + 1
            name = _unused(f"{node.name}/bias", {t.name for t in tensors})
            tensors.append(Tensor(name, zeros.shape, "int32", "constant",
                                  _bias_quantization(graph, node), zeros, stream))  # fmt: skip
            node = replace(node, inputs=(*node.inputs[:2], len(tensors) - 1))
        nodes.append(node)
    return replace(graph, tensors=tuple(tensors), nodes=tuple(nodes))


def _bias_quantization(graph: Graph, node: Node) -> Quantization:
    """What a bias of the node is quantised by: s_x * s_w, at least the smallest normal number."""
    weights = quantization(graph.tensors[node.inputs[1]])
    product = scale32(graph.tensors[node.inputs[0]]) * weights.scale
    scales = np.maximum(product, np.finfo(np.float32).tiny)
    return Quantization(scales, np.zeros(len(scales)), None if len(scales) == 1 else 0)


def _unused(name: str, taken: set[str]) -> str:
    """The name, or the first of name#2, name#3, .. that no tensor has."""
    candidates = (name, *(f"{name}#{k}" for k in range(2, len(taken) + 2)))
    return next(candidate for candidate in candidates if candidate not in taken)


def with_constants(
    graph: Graph,
    values: Mapping[int, np.ndarray],
    requantizations: Mapping[str, Requantization],
) -> Graph:
    """The graph with other constants, multipliers and shifts.

    values            new arrays by tensor index
    requantizations   by node name; where multiplier and shift are what the scales give, or all of a
                      channel's differ by a power of two only, scales say it; else they are stored
                      as given
    """
    tensors = list(graph.tensors)
    for i, array in values.items():
        tensors[i] = replace(tensors[i], data=array.reshape(tensors[i].shape))
    graph = replace(graph, tensors=tuple(tensors))
    for name, r in requantizations.items():
        graph = _with_requantization(graph, graph.node(name), r)
    return graph


def _with_requantization(graph: Graph, node: Node, r: Requantization) -> Graph:
    old = weighted(graph, node)
    if _equal(old, r):
        return graph
    own = {i for i in node.inputs[1:] if i != ABSENT}
    shared = any(own & set(other.inputs) for other in graph.nodes if other is not node)
    if not shared and "multiplier" not in node.given:
        scaled = _with_doublings(graph, node, r.shift.astype(np.int64) - old.shift)
        if _equal(weighted(scaled, node), r):
            return scaled
    given = {**node.given, "multiplier": r.multiplier, "shift": r.shift}
    changed = replace(node, given=given)
    nodes = tuple(changed if n.name == node.name else n for n in graph.nodes)
    return replace(graph, nodes=nodes)


def _equal(a: Requantization, b: Requantization) -> bool:
    return np.array_equal(a.multiplier, b.multiplier) and np.array_equal(a.shift, b.shift)


def _with_doublings(graph: Graph, node: Node, doublings: np.ndarray) -> Graph:
    """Weight scales times 2^doublings; bias scales follow, since they are s_x * s_w."""
    tensors = list(graph.tensors)
    for i in node.inputs[1:]:
        q = tensors[i].quantization
        if q is None:
            continue
        power = doublings if len(q.scale) == len(doublings) else doublings[: len(q.scale)]
        scale = np.ldexp(q.scale, power).astype(np.float32)
        tensors[i] = replace(tensors[i], quantization=Quantization(scale, q.zero_point, q.axis))
    return replace(graph, tensors=tuple(tensors))
