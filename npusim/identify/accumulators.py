"""Accumulators that explain a weighted node: which widths, wrapping or saturating.

Partial sums are followed in the documented order (kernel row, kernel column, input channel, from
the bias on). A width that none of them leaves cannot be told from a larger one.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..graph import Graph, Node
from ..headroom import bits_needed
from ..kernels.structs import OVERFLOW, Accumulation
from ..parameters import bias, geometry
from ..reference import weighted as reference
from ..reference.arithmetic import wrap
from .hypothesis import Hypothesis

NARROWEST, WIDEST = 8, 32
MOST_PRODUCTS = 12_000_000
"""Products that partial sums are followed through; what is more is left out, image by image."""
_SUMS: Mapping[str, Callable[..., np.ndarray]] = {
    "conv2d": reference.conv2d_sums,
    "depthwise_conv2d": reference.depthwise_conv2d_sums,
    "fully_connected": reference.fully_connected_sums,
}


class Width(NamedTuple):
    """An accumulator that explains a node, and rules it does so with."""

    bits: int
    overflow: str
    rules: tuple[Hypothesis, ...]


class Widths(NamedTuple):
    """What a node says of the accumulator.

    untouched   bits from which no partial sum leaves the accumulator
    narrower    accumulators that sums leave, and that explain the node all the same
    images      how many were looked at
    """

    untouched: int
    narrower: tuple[Width, ...]
    images: int

    def allow(self, bits: int, overflow: str) -> bool:
        """Whether an accumulator can be the device's, given a rule that exact sums allow."""
        own = {(w.bits, w.overflow) for w in self.narrower}
        return bits >= self.untouched or (bits, overflow) in own


class _Subject(NamedTuple):
    """A node on some images: x (N, ..), codes flat, sums (N, .., O), largest partial sums."""

    graph: Graph
    node: Node
    x: np.ndarray
    actual: np.ndarray
    sums: np.ndarray
    largest: np.ndarray


def widths(
    graph: Graph, node: Node, x: np.ndarray, actual: np.ndarray, rules: Sequence[Hypothesis]
) -> Widths:
    """Narrow accumulators with which some of the rules give every code.

    rules   candidates; those of Neural-ART have sums of their own and are left out
    """
    rules = [h for h in rules if not h.twist and not h.own]
    images = _images(graph, node, x)
    x, actual = x[images], actual[images]
    sums, largest = _followed(graph, node, x)
    subject = _Subject(graph, node, x, actual.reshape(-1), sums, largest)
    untouched = max(bits_needed(int(largest.max(initial=0))), NARROWEST)
    found = []
    for bits in range(NARROWEST, min(untouched, WIDEST + 1)):
        for overflow in ("wrap", "saturate"):
            fitting = _fitting(subject, Accumulation(bits, OVERFLOW[overflow]), rules)
            if fitting:
                found.append(Width(bits, overflow, tuple(fitting)))
    return Widths(untouched, tuple(found), len(x))


def _images(graph: Graph, node: Node, x: np.ndarray) -> np.ndarray:
    """Images whose partial sums are followed: all, or the first ones where that is too much."""
    weights = graph.tensors[node.inputs[1]].data
    assert weights is not None
    outputs = int(np.prod(graph.tensors[node.outputs[0]].shape))
    depth = weights.size // (weights.shape[3] if node.op == "depthwise_conv2d" else len(weights))
    declared = graph.tensors[node.inputs[0]].shape[0]
    batches = max(1, MOST_PRODUCTS // max(outputs * depth, 1))
    return np.arange(min(len(x), batches * declared))


def _followed(graph: Graph, node: Node, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Exact sums, and the largest magnitude on the way to each."""
    weights = graph.tensors[node.inputs[1]].data
    assert weights is not None
    start = bias(graph, node).astype(np.int64)
    acc, largest = start, np.abs(start)
    for product in reference.products(node.op, x, weights, geometry(graph, node)):
        acc = acc + product
        # of -2^n and 2^n - 1, which n + 1 bits hold, the magnitude counts as the same
        largest = np.maximum(largest, np.where(acc < 0, ~acc, acc))
    return acc, np.broadcast_to(largest, acc.shape)


def _fitting(s: _Subject, a: Accumulation, rules: Sequence[Hypothesis]) -> list[Hypothesis]:
    """Rules that give every code with the accumulator; first one image decides, then all."""
    left = list(rules)
    limit = 1 << (a.bits - 1)
    per_image = (s.largest >= limit).reshape(len(s.x), -1).sum(axis=1)
    for images in ([int(np.argmax(per_image))], range(len(s.x))):
        if not left:
            return []
        states, actual = _states(s, a, list(images))
        left = [h for h in left if (h.codes(states) == actual).all()]
    return left


def _states(
    s: _Subject, a: Accumulation, images: list[int]
) -> tuple[tuple[np.ndarray, ...], np.ndarray]:
    """States of some images with a narrow accumulator, and their codes."""
    per_image = s.actual.size // len(s.x)
    actual = s.actual.reshape(len(s.x), per_image)[images].reshape(-1)
    channels = s.sums.shape[-1]
    if a.overflow == OVERFLOW["wrap"]:
        acc = wrap(s.sums.reshape(len(s.x), per_image)[images].reshape(-1), a.bits)
    else:
        weights = s.graph.tensors[s.node.inputs[1]].data
        start = bias(s.graph, s.node)
        g = geometry(s.graph, s.node)
        acc = _SUMS[s.node.op](s.x[images], weights, start, g, a).reshape(-1)
    channel = np.tile(np.arange(channels), len(acc) // channels)
    return (acc, channel, np.zeros_like(acc)), actual
