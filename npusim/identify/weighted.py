"""Hypotheses about convolutions and fully connected layers.

A state is an accumulator, with its bias, its output channel, and the sum of the weights that lie
in the padding there: with another zero point zx or another code p in the padding it would be
acc + (zp - zx) * (sum w - padded) + (p - zx) * padded. On Neural-ART large kernels are summed in
pieces, whose sums are further columns.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..affine import LIMITS, zero_point
from ..diff.ideal import EXACT, exact_sums
from ..graph import Graph, Node
from ..headroom import WEIGHTED
from ..kernels.structs import AWAY, EVEN, FLOOR, FullyConnected, Requantization
from ..parameters import bias, geometry
from ..reference import weighted as reference
from ..reference.arithmetic import requantize_int16_reduced
from ..reference.neural_art import shifted
from ..requantization import weighted as requantization
from .arithmetics import Bound, behind_blocks, bound, requantized
from .hypothesis import Codes, Hypothesis, States
from .three_stages import piece_columns, three_stages

OPERATORS = WEIGHTED
_SUMS: dict[str, Callable[..., np.ndarray]] = {
    "conv2d": reference.conv2d_sums,
    "depthwise_conv2d": reference.depthwise_conv2d_sums,
}


class Sums(NamedTuple):
    """Another convention for the zero point of the input.

    zero_point   subtracted from the input's codes
    padding      code in the padding
    """

    words: str
    zero_point: int
    padding: int


class Tail(NamedTuple):
    """Another convention for the zero point of the output: (codes without it, r) -> codes."""

    words: str
    codes: Callable[[np.ndarray, Requantization], np.ndarray]


def states(graph: Graph, node: Node, operands: list[np.ndarray]) -> States:
    """Accumulator, channel, weights in the padding, and the sums of pieces."""
    x = operands[0]
    acc = exact_sums(graph, node, x)
    channels = acc.shape[-1]
    channel = np.broadcast_to(np.arange(channels), acc.shape)
    padded = np.broadcast_to(padded_weights(graph, node), acc.shape)
    columns = (acc, channel, padded, *piece_columns(graph, node, x))
    return tuple(column.reshape(-1) for column in columns)


def hypotheses(graph: Graph, node: Node) -> list[Hypothesis]:
    """Every rule; those of Neural-ART for every s0; other conventions for zero points."""
    all_bound = bound(graph, node)
    found = [Hypothesis(b.names, _by_rule(b), monotone=_never_wraps(graph, node, b))
             for b in all_bound]  # fmt: skip
    found += _plain(graph, node)
    found += three_stages(graph, node)
    for sums in _other_sums(graph, node):
        found += [_twisted(graph, node, b, sums) for b in all_bound]
    for tail in _other_tails(graph, node):
        found += [
            Hypothesis(
                b.names,
                _by_tail(b, tail),
                twist=tail.words,
                common=False,
                monotone=_never_wraps(graph, node, b),
            )
            for b in all_bound
        ]
    return found


def padded_weights(graph: Graph, node: Node) -> np.ndarray:
    """Sum of the weights that lie in the padding: int64 (1, OH, OW, O), or () of 0."""
    g = geometry(graph, node)
    if isinstance(g, FullyConnected):
        return np.zeros((), np.int64)
    weights = graph.tensors[node.inputs[1]].data
    ones, nothing = np.ones((1, g.h, g.w, g.c), np.int8), np.zeros(g.o, np.int64)
    inside = _SUMS[node.op](ones, weights, nothing, g._replace(x_zero_point=0), EXACT)
    return weight_sums(graph, node) - inside


def weight_sums(graph: Graph, node: Node) -> np.ndarray:
    """Sum of every channel's weights: int64 (O,)."""
    data = graph.tensors[node.inputs[1]].data
    assert data is not None
    axes = (0, 1, 2) if node.op == "depthwise_conv2d" else tuple(range(1, data.ndim))
    return data.astype(np.int64).sum(axis=axes)


def _by_rule(b: Bound) -> Codes:
    r = b.structs[1]
    assert isinstance(r, Requantization)
    return lambda states: _codes(states[0], states[1], r)


def _codes(acc: np.ndarray, channel: np.ndarray, r: Requantization) -> np.ndarray:
    o = len(r.multiplier)
    return requantized(acc, r, behind_blocks(o - channel, o, r.rounding.block), channel)


def _never_wraps(graph: Graph, node: Node, b: Bound) -> bool:
    """Whether no left shift leaves 32 bits, so that codes grow with accumulators."""
    r = b.structs[1]
    assert isinstance(r, Requantization)
    weights = graph.tensors[node.inputs[1]].data
    assert weights is not None
    axes = (0, 1, 2) if node.op == "depthwise_conv2d" else tuple(range(1, weights.ndim))
    reach = np.abs(weights.astype(np.int64)).sum(axis=axes) * 255
    reach += np.abs(bias(graph, node).astype(np.int64))
    return bool((reach << np.maximum(r.shift.astype(np.int64), 0)).max() < 1 << 31)


def _plain(graph: Graph, node: Node) -> Iterator[Hypothesis]:
    """One multiplication and one shift, rounded as no profile does; a multiplier of 16 bits."""
    r = requantization(graph, node)
    ways = {"away": AWAY, "to even": EVEN, "down": FLOOR}
    for words, ties in ways.items():
        name = "truncation (shift without rounding)" if words == "down" else (
            f"single_rounding, ties {words}"
        )  # fmt: skip
        yield Hypothesis((name,), _by_shift(r, ties), monotone=True)
    if int(r.shift.max()) <= 14:
        yield Hypothesis(("int16_reduced",), _reduced(r), monotone=True)


def _by_shift(r: Requantization, ties: int) -> Codes:
    def codes(states: States) -> np.ndarray:
        acc, channel = states[:2]
        product = acc * r.multiplier.astype(np.int64)[channel]
        distance = 31 - r.shift.astype(np.int64)[channel]
        scaled = np.empty_like(product)
        for n in np.unique(distance).tolist():
            chosen = distance == n
            scaled[chosen] = shifted(product[chosen], n, ties)
        return np.clip(scaled + r.zero_point, r.act_min, r.act_max)

    return codes


def _reduced(r: Requantization) -> Codes:
    def codes(states: States) -> np.ndarray:
        acc, channel = states[:2]
        scaled = requantize_int16_reduced(acc, r.multiplier[channel], r.shift[channel])
        return np.clip(scaled + r.zero_point, r.act_min, r.act_max)

    return codes


def _other_sums(graph: Graph, node: Node) -> Iterator[Sums]:
    zero = zero_point(graph.tensors[node.inputs[0]])
    if zero == 0:
        return
    yield Sums("input's zero point not subtracted", 0, 0)
    yield Sums("input's zero point with the wrong sign", -zero, -zero)
    if padded_weights(graph, node).any():
        yield Sums("padding holds the code 0, not the zero point", zero, 0)


def _twisted(graph: Graph, node: Node, b: Bound, sums: Sums) -> Hypothesis:
    zero, total = zero_point(graph.tensors[node.inputs[0]]), weight_sums(graph, node)
    r = b.structs[1]
    assert isinstance(r, Requantization)

    def codes(states: States) -> np.ndarray:
        acc, channel, padded = states[:3]
        inside = (zero - sums.zero_point) * (total[channel] - padded)
        outside = (sums.padding - sums.zero_point) * padded
        return _codes(acc + inside + outside, channel, r)

    return Hypothesis(b.names, codes, twist=sums.words, common=False)


def _other_tails(graph: Graph, node: Node) -> Iterator[Tail]:
    y = graph.tensors[node.outputs[0]]
    zero, (low, high) = zero_point(y), LIMITS[y.dtype]
    if zero == 0:
        return

    def late(scaled: np.ndarray, r: Requantization) -> np.ndarray:
        clamped = np.clip(np.clip(scaled, low, high) + zero, low, high)
        return np.clip(clamped, r.act_min, r.act_max)

    def absent(scaled: np.ndarray, r: Requantization) -> np.ndarray:
        return np.clip(scaled, r.act_min, r.act_max)

    def negated(scaled: np.ndarray, r: Requantization) -> np.ndarray:
        return np.clip(scaled - zero, r.act_min, r.act_max)

    yield Tail("output's zero point added after clamping", late)
    yield Tail("output's zero point not added", absent)
    yield Tail("output's zero point with the wrong sign", negated)


def _by_tail(b: Bound, tail: Tail) -> Codes:
    r = b.structs[1]
    assert isinstance(r, Requantization)
    low, high = LIMITS["int32"]
    open_ended = r._replace(zero_point=0, act_min=low, act_max=high)
    return lambda states: tail.codes(_codes(states[0], states[1], open_ended), r)
