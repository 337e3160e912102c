"""Every node's Neural-ART parameters, given or derived, stored in the graph.

A graph is settled when it is loaded under the profile, and again (which changes nothing) when a
session opens. From then on its parameters are data: s0, which follows from the weights, stays
what it was when these are trained.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from ..affine import quantization, scale, zero_point
from ..graph import Graph, ModelError, Node
from ..kernels.structs import AWAY, FLOOR
from ..multiplier import real_multiplier
from ..parameters import bias
from ..requantization import output_channels
from ..rules import stated
from . import derive
from .derive import INT32_MAX, INT32_MIN, Affine, Scales
from .given import Parameters, by_node, check_values, sizes
from .pieces import CHANNELS, COLUMNS, ROWS, split
from .stored import DERIVED, STAGES, family, read, rules, without

Values = dict[str, np.ndarray]
BASES = ("stages", "s0", "f", "s1", "s2", "a_shift", "b_shift", "c_shift", "sum_shift", "k", "q")
"""Single numbers that others are derived from."""
CHOSEN = ("stages", "s0", "rows", "columns", "slabs", "partial_bits", "ties", "operand_rounding",
          "product_rounding")  # fmt: skip
"""Choices of a compiler or a board, of which the rules' value is a guess."""


def settle(graph: Graph, parameters: Parameters | None = None) -> Graph:
    """The graph with all parameters of the nodes that run on Neural-ART.

    parameters   by node name, or "*": what is given anew. What a node was given before stays, and
                 what follows from it is derived again, but for a stored s0
    returns      under another profile the graph without derived parameters
    raises       ValueError for parameters that do not fit, ModelError for scales that Neural-ART
                 cannot hold
    """
    if not parameters and not any(node.given or family(graph, node) for node in graph.nodes):
        return graph
    new = by_node(graph, parameters or {})
    nodes = tuple(_settled(graph, node, new.get(node.name, {})) for node in graph.nodes)
    return replace(graph, nodes=nodes)


def settle_node(graph: Graph, node: Node) -> Values:
    """The node's parameters by name, as they are stored or by the rules.

    raises   ValueError without the node's name
    """
    stored = read(node)
    return _complete(graph, node, {**_kept(graph, node, stored.derived), **stored.given})


def check_trainable(graph: Graph, constants: Sequence[int]) -> None:
    """Refuse constants that a compiled network cannot change.

    raises   ValueError for the bias of a node on Neural-ART
    """
    for node in graph.nodes:
        biases = set(node.inputs[2:]) & set(constants)
        if family(graph, node) == "weighted" and biases:
            raise ValueError(
                f"{node.name}/{node.op}: {stated(graph, node)}: its bias cannot be trained, being "
                "part of BC_c, a coefficient frozen in the compiled stream; train weights"
            )


def _settled(graph: Graph, node: Node, new: Values) -> Node:
    stored = read(node)
    given = {**stored.given, **new}
    if family(graph, node) is None:
        return replace(node, given={**without(node), **given}) if stored.derived else node
    kept = {k: v for k, v in stored.derived.items() if not new or k == "s0"}
    try:
        values = _complete(graph, node, {**_kept(graph, node, kept), **given})
    except ValueError as error:
        which = f"{error}{_with(given, str(error))}"
        raise ModelError(f"{node.name}/{node.op}: {stated(graph, node)}: {which}") from error
    derived = {DERIVED + name: array for name, array in values.items() if name not in given}
    return replace(node, given={**without(node), **given, **derived})


def _with(given: Values, error: str) -> str:
    """ ", with the f given, 9": single numbers from which a parameter at fault was derived."""
    named = [f"the {k} given, {v.item()}" for k, v in given.items() if k in BASES and v.size == 1]
    return "" if error.split()[0] in given or not named else f", with {' and '.join(named)}"


def otherwise(graph: Graph, node: Node) -> Values:
    """What follows by the rules from all else, where a settled node was given another value.

    Of what nobody can derive (`CHOSEN`) nothing is said.
    """
    stored, found = read(node), {}
    for name, values in stored.given.items():
        if name in CHOSEN or name not in rules(graph, node):
            continue
        rest = {k: v for k, v in stored.given.items() if k != name}
        kept = {k: v for k, v in stored.derived.items() if k == "s0"}
        try:
            derived = _complete(graph, node, {**_kept(graph, node, kept), **rest})[name]
        except ValueError:
            continue
        if not np.array_equal(derived, values):
            found[name] = derived
    return found


def _kept(graph: Graph, node: Node, derived: Values) -> Values:
    """What was derived and still holds: nothing of a mean whose maps have changed."""
    if family(graph, node) == "mean" and "cells" in derived:
        return derived if derived["cells"].tolist() == [_cells(graph, node)] else {}
    return derived


def _complete(graph: Graph, node: Node, values: Values) -> Values:
    """All parameters of the node, in the order of its rules; missing ones are derived."""
    kind = family(graph, node)
    assert kind is not None
    known, wanted = rules(graph, node), sizes(graph, node)
    values = dict(values)
    _DERIVE[kind](graph, node, values)
    for name, rule in known.items():
        check_values(name, values[name], rule, wanted)
    return {name: values[name] for name in known}


def _weighted(graph: Graph, node: Node, values: Values) -> None:
    scales = _scales(graph, node)
    stages = _one(values, "stages", lambda: 3)
    s0 = _one(values, "s0", lambda: derive.default_s0(_bound(graph, node, scales.zp_x)))
    f = _one(values, "f", lambda: derive.fraction_bits(scales.s_y))
    if stages == 2:
        _two_stages(scales, s0, values)
    largest = scales.s_x * float(scales.s_w.max())
    s1 = _one(values, "s1", lambda: derive.largest_shift(float(np.ldexp(largest, f + s0))))
    _fill(values, "A_c", lambda: derive.channel_coefficients(scales, f + s0 + s1))
    s2 = _one(values, "s2", lambda: derive.S2)
    _one(values, "A2", lambda: derive.output_coefficient(scales.s_y, f, s2))
    _fill(values, "BC_c", lambda: derive.offsets(scales, s2))
    kernel = sizes(graph, node)
    pointwise = kernel["rows"] == kernel["columns"] == 1
    _fill(values, "rows", lambda: split(kernel["rows"], ROWS))
    _fill(values, "columns", lambda: split(kernel["columns"], COLUMNS))
    slab = CHANNELS if pointwise else kernel["channels"]
    _fill(values, "slabs", lambda: split(kernel["channels"], slab))
    _one(values, "partial_bits", lambda: 16)
    _fill(values, "ties", lambda: (AWAY,) * STAGES["weighted"])


def _two_stages(scales: Scales, s0: int, values: Values) -> None:
    """Compiler 1.1.3: the second stage passes r0 on, the third has M itself as its coefficient."""
    if np.ptp(scales.s_w):
        raise ValueError("stages must be 3 for weights with a scale per channel, got 2")
    real = derive.whole_factor(scales, s0)
    s2 = _one(values, "s2", lambda: derive.largest_shift(real))
    _one(values, "A2", lambda: derive.coefficient(real, s2))
    _one(values, "s1", lambda: 0)
    _fill(values, "A_c", lambda: np.ones(len(scales.s_w), np.int64))


def _add(graph: Graph, node: Node, values: Values) -> None:
    a, b, y = (_affine(graph, i) for i in (*node.inputs, node.outputs[0]))
    ratios = (("A", "a_shift", a.scale / y.scale), ("B", "b_shift", b.scale / y.scale))
    shift = _one(values, "sum_shift", lambda: min(derive.largest_shift(r) for _, _, r in ratios))
    for name, own, ratio in ratios:
        more = _one(values, own, partial(_further, ratio, shift))
        _one(values, name, partial(derive.coefficient, ratio, shift + more))
    zero = derive.add_zero(a, b, y)
    c_shift = _one(values, "c_shift", lambda: derive.offset_shift(zero, shift))
    _one(values, "C", lambda: derive.coefficient(zero, shift - c_shift))
    _fill(values, "ties", lambda: (AWAY,) * STAGES["add"])
    _one(values, "operand_rounding", lambda: FLOOR)


def _further(ratio: float, shift: int) -> int:
    """How much larger an operand's own shift is."""
    return derive.largest_shift(ratio) - shift


def _mean(graph: Graph, node: Node, values: Values) -> None:
    x, y = (_affine(graph, i) for i in (node.inputs[0], node.outputs[0]))
    cells = _one(values, "cells", lambda: _cells(graph, node))
    k = _one(values, "k", lambda: derive.pool_shift(cells))
    _one(values, "mulval", lambda: (1 << k) // cells)
    q = _one(values, "q", lambda: derive.mean_shift(x, y))
    _one(values, "A", lambda: derive.coefficient(x.scale / y.scale, q))
    _one(values, "C", lambda: derive.mean_offset(x, y, q))
    _fill(values, "ties", lambda: (AWAY,) * STAGES["mean"])
    _one(values, "product_rounding", lambda: FLOOR)


_DERIVE: Mapping[str, Callable[[Graph, Node, Values], None]] = {
    "weighted": _weighted,
    "add": _add,
    "mean": _mean,
}


def _fill(values: Values, name: str, rule: Callable[[], np.ndarray | tuple[int, ...]]) -> None:
    """Derive a parameter that is missing."""
    if name not in values:
        numbers = np.asarray(rule())
        outside = numbers[(numbers < INT32_MIN) | (numbers > INT32_MAX)]
        if outside.size:
            raise ValueError(f"{name} must fit 32 bits, got {outside[0]}")
        values[name] = numbers.astype(np.int32)


def _one(values: Values, name: str, rule: Callable[[], int]) -> int:
    """A parameter that is one number, derived if it is missing."""
    _fill(values, name, lambda: (rule(),))
    return int(values[name][0])


def _scales(graph: Graph, node: Node) -> Scales:
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    s_x, s_y = scale(x), scale(y)
    s_w = _weight_scales(graph, node, s_y / s_x)
    return Scales(s_x, s_w, s_y, zero_point(x), zero_point(y), bias(graph, node))


def _weight_scales(graph: Graph, node: Node, ratio: float) -> np.ndarray:
    """One for each output channel; what given multipliers stand for goes before the scales.

    ratio   s_y / s_x
    """
    weights = graph.tensors[node.inputs[1]]
    if "multiplier" in node.given:
        pairs = zip(node.given["multiplier"].tolist(), node.given["shift"].tolist(), strict=True)
        return np.array([real_multiplier(*pair) * ratio for pair in pairs])
    return np.broadcast_to(quantization(weights).scale, (output_channels(node, weights),))


def _bound(graph: Graph, node: Node, zp_x: int) -> int:
    """The static bound of the node's sums, from its present weights."""
    data = graph.tensors[node.inputs[1]].data
    assert data is not None
    weights = data.astype(np.int64)
    axes = (0, 1, 2) if node.op == "depthwise_conv2d" else tuple(range(1, weights.ndim))
    positive, negative = np.maximum(weights, 0).sum(axes), np.minimum(weights, 0).sum(axes)
    return derive.static_bound(positive, negative, zp_x)


def _cells(graph: Graph, node: Node) -> int:
    _, height, width, _ = graph.tensors[node.inputs[0]].shape
    return height * width


def _affine(graph: Graph, tensor: int) -> Affine:
    return Affine(scale(graph.tensors[tensor]), zero_point(graph.tensors[tensor]))
