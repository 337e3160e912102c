"""Which hypotheses give equal codes on every input of the model: proven by going through the states
that a node can have at all (see `ranges`).

Where all states can be listed, they are. Codes of a weighted node never fall when its accumulator
grows, so a channel's codes are 255 thresholds: the smallest accumulators, of those its weights can
reach, that give each code or a larger one.
"""

from collections.abc import Sequence

import numpy as np

from ..affine import zero_point
from ..graph import Graph, Node
from ..headroom import WEIGHTED
from ..parameters import bias
from .approach import approach
from .hypothesis import Hypothesis, States
from .ranges import EVERYTHING, Range, Ranges, made, range_of
from .weighted import padded_weights

Reach = tuple[np.ndarray, np.ndarray]
SAMPLED = 1 << 14


def classes(
    graph: Graph, node: Node, hypotheses: Sequence[Hypothesis], ranges: Ranges = EVERYTHING
) -> tuple[tuple[Hypothesis, ...], ...]:
    """Hypotheses that are equal on every input, together; those not proven to be, apart.

    ranges   of the tensors that the node reads
    """
    if len(hypotheses) < 2:
        return tuple((h,) for h in hypotheses)
    states = approach(graph, node).domain(graph, node, ranges)
    if states is not None:
        return _grouped(hypotheses, lambda h: h.codes(states).tobytes())
    if node.op not in WEIGHTED:
        return tuple((h,) for h in hypotheses)
    return _by_thresholds(reach(graph, node, ranges), hypotheses)


def range_made(
    graph: Graph, node: Node, survivors: Sequence[Hypothesis], ranges: Ranges
) -> Range | None:
    """The codes a node can make, see `ranges.made`."""
    states = approach(graph, node).domain(graph, node, ranges)
    if node.op in WEIGHTED:
        low, high = reach(graph, node, ranges)
        channel = np.arange(len(low))
        states = (np.concatenate((low, high)), np.tile(channel, 2), np.zeros(2 * len(low), int))
    return made(graph, node, survivors, states, ranges)


def reach(graph: Graph, node: Node, ranges: Ranges = EVERYTHING) -> Reach:
    """Smallest and largest accumulator of every channel, bias included: int64 (O,)."""
    x, weights = (graph.tensors[i] for i in node.inputs[:2])
    assert weights.data is not None
    wide, (low, high) = weights.data.astype(np.int64), _beside_weights(graph, node, ranges)
    ends = wide * (low - zero_point(x)), wide * (high - zero_point(x))
    smallest, largest = np.minimum(*ends), np.maximum(*ends)
    if padded_weights(graph, node).any():
        smallest, largest = np.minimum(smallest, 0), np.maximum(largest, 0)
    axes = (0, 1, 2) if node.op == "depthwise_conv2d" else tuple(range(1, wide.ndim))
    start = bias(graph, node).astype(np.int64)
    return start + smallest.sum(axes), start + largest.sum(axes)


def _beside_weights(graph: Graph, node: Node, ranges: Ranges) -> Range:
    """The range of what every weight is multiplied with, along the weights' last axis."""
    x, weights = (graph.tensors[i] for i in node.inputs[:2])
    found, last = range_of(x, ranges), weights.shape[-1]
    if node.op == "depthwise_conv2d":
        times = last // len(found.low)
        return Range(found.low.repeat(times), found.high.repeat(times))
    if node.op == "fully_connected" and last % len(found.low) == 0:
        times = last // len(found.low)
        return Range(np.tile(found.low, times), np.tile(found.high, times))
    if len(found.low) == last:
        return found
    low, high = found.hull
    return Range(np.full(last, low), np.full(last, high))


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
    reachable: Reach, hypotheses: Sequence[Hypothesis]
) -> tuple[tuple[Hypothesis, ...], ...]:
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
    acc = np.where(part < 0, -part * low[channel], part * high[channel])
    acc = np.clip(acc.astype(np.int64), low[channel], high[channel])
    return acc, channel, np.zeros(SAMPLED, np.int64)


def _grouped(hypotheses, key) -> tuple[tuple[Hypothesis, ...], ...]:  # type: ignore[no-untyped-def]
    found: dict[bytes, list[Hypothesis]] = {}
    for h in hypotheses:
        found.setdefault(key(h), []).append(h)
    return tuple(tuple(group) for group in found.values())
