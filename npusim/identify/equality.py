"""Which hypotheses give equal codes on every input of a node: proven by going through its states.

Where all states can be listed, they are. Codes of a weighted node never fall when its accumulator
grows, so a channel's codes are 255 thresholds: the smallest accumulators, of those its weights can
reach, that give each code or a larger one.
"""

from collections.abc import Sequence

import numpy as np

from ..affine import LIMITS, zero_point
from ..graph import Graph, Node
from ..headroom import WEIGHTED
from ..parameters import bias
from .approach import approach
from .hypothesis import Hypothesis, States

Reach = tuple[np.ndarray, np.ndarray]
SAMPLED = 1 << 14


def classes(
    graph: Graph, node: Node, hypotheses: Sequence[Hypothesis]
) -> tuple[tuple[Hypothesis, ...], ...]:
    """Hypotheses that are equal on every input, together; those not proven to be, apart."""
    if len(hypotheses) < 2:
        return tuple((h,) for h in hypotheses)
    states = approach(graph, node).domain(graph, node)
    if states is not None:
        return _grouped(hypotheses, lambda h: h.codes(states).tobytes())
    if node.op not in WEIGHTED:
        return tuple((h,) for h in hypotheses)
    return _by_thresholds(graph, node, hypotheses)


def reach(graph: Graph, node: Node) -> Reach:
    """Smallest and largest accumulator of every channel, bias included: int64 (O,)."""
    x, weights = (graph.tensors[i] for i in node.inputs[:2])
    assert weights.data is not None
    zero, (low, high) = zero_point(x), LIMITS[x.dtype]
    axes = (0, 1, 2) if node.op == "depthwise_conv2d" else tuple(range(1, weights.data.ndim))
    wide = weights.data.astype(np.int64)
    positive, negative = np.maximum(wide, 0).sum(axes), np.minimum(wide, 0).sum(axes)
    start = bias(graph, node).astype(np.int64)
    smallest = positive * (low - zero) + negative * (high - zero)
    largest = positive * (high - zero) + negative * (low - zero)
    return start + np.minimum(smallest, 0), start + np.maximum(largest, 0)


def thresholds(h: Hypothesis, reachable: Reach) -> np.ndarray:
    """The smallest accumulators that give at least a code: int64 (O, 255), codes -127..127.

    One more than the largest accumulator where none does.
    """
    low, high = reachable
    channel = np.broadcast_to(np.arange(len(low))[:, np.newaxis], (len(low), 255))
    wanted = np.broadcast_to(np.arange(-127, 128), channel.shape)
    below = np.broadcast_to(low[:, np.newaxis], channel.shape).copy()
    above = np.broadcast_to(high[:, np.newaxis] + 1, channel.shape).copy()
    while (below < above).any():
        middle = (below + above) >> 1
        states = (middle.ravel(), channel.ravel(), np.zeros(middle.size, np.int64))
        reached = h.codes(states).reshape(middle.shape) >= wanted
        open_still = below < above
        above = np.where(open_still & reached, middle, above)
        below = np.where(open_still & ~reached, middle + 1, below)
    return below


def _by_thresholds(
    graph: Graph, node: Node, hypotheses: Sequence[Hypothesis]
) -> tuple[tuple[Hypothesis, ...], ...]:
    reachable = reach(graph, node)
    provable = [h for h in hypotheses if h.monotone]
    others = [h for h in hypotheses if not h.monotone]
    sample = _sample(reachable)
    found: list[tuple[Hypothesis, ...]] = []
    for alike in _grouped(provable, lambda h: h.codes(sample).tobytes()):
        found += [alike] if len(alike) == 1 else _grouped(
            alike, lambda h: thresholds(h, reachable).tobytes()
        )  # fmt: skip
    return (*found, *((h,) for h in others))


def _sample(reachable: Reach) -> States:
    """Some accumulators that can occur."""
    low, high = reachable
    rng = np.random.Generator(np.random.PCG64(0))
    channel = rng.integers(0, len(low), SAMPLED)
    # most of the range is clamped: the square of a uniform number favours what is near zero
    part = rng.uniform(-1, 1, SAMPLED)
    part *= np.abs(part)
    acc = np.where(part < 0, -part * np.minimum(low[channel], 0), part * high[channel])
    acc = np.clip(acc.astype(np.int64), low[channel], high[channel])
    return acc, channel, np.zeros(SAMPLED, np.int64)


def _grouped(hypotheses, key) -> tuple[tuple[Hypothesis, ...], ...]:  # type: ignore[no-untyped-def]
    found: dict[bytes, list[Hypothesis]] = {}
    for h in hypotheses:
        found.setdefault(key(h), []).append(h)
    return tuple(tuple(group) for group in found.values())
