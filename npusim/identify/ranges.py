"""The codes that a tensor can have at all, whatever the model's input is.

A layer reads what the layers before it can make, which is often less than every code. Two rules
that part only where no input leads are equal. What a node makes follows from the hypotheses that
the dump leaves: codes between two for each channel, from the ends of the sums it has.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..affine import LIMITS, zero_point
from ..graph import Graph, Node, Tensor
from ..headroom import WEIGHTED
from ..profiles import BOUNDS
from ..requantization import clamp_of
from ..rules import arithmetic
from .hypothesis import Hypothesis, States


class Range(NamedTuple):
    """Smallest and largest code by channel, the last axis: int64 (C,)."""

    low: np.ndarray
    high: np.ndarray

    @property
    def hull(self) -> tuple[int, int]:
        """Of all channels."""
        return int(self.low.min()), int(self.high.max())


Ranges = Mapping[str, Range]
"""By tensor; what is not named may have every code of its type."""
EVERYTHING: Ranges = {}


def range_of(tensor: Tensor, ranges: Ranges) -> Range:
    """A tensor's codes."""
    if tensor.name in ranges:
        return ranges[tensor.name]
    low, high = LIMITS[tensor.dtype]
    channels = tensor.shape[-1] if tensor.shape else 1
    return Range(np.full(channels, low), np.full(channels, high))


def made(
    graph: Graph, node: Node, survivors: Sequence[Hypothesis], states: States | None, ranges: Ranges
) -> Range | None:
    """What a node makes of what it reads; None where that is not known to be less than everything.

    survivors   hypotheses that give the node's codes
    states      of a weighted node the ends of its sums, else all that it may have, see `equality`
    """
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    if x.dtype not in LIMITS or y.dtype not in LIMITS:
        return None
    if node.op in ("reshape", "transpose", "pad"):
        return _moved(node, y, range_of(x, ranges), zero_point(x))
    if node.op in ("average_pool2d", "max_pool2d"):
        return _pooled(graph, node, survivors, range_of(x, ranges))
    if states is None or not survivors:
        return None
    if node.op in WEIGHTED and not all(h.monotone for h in survivors):
        return None
    codes = np.stack([h.codes(states) for h in survivors])
    channel = states[1] if node.op in (*WEIGHTED, "mean") else None
    return _by_channel(y, codes.min(axis=0), codes.max(axis=0), channel)


def _by_channel(y: Tensor, low: np.ndarray, high: np.ndarray, channel: np.ndarray | None) -> Range:
    channels = y.shape[-1] if y.shape else 1
    if channel is None:
        return Range(np.full(channels, low.min()), np.full(channels, high.max()))
    smallest, largest = np.full(channels, 1 << 40), np.full(channels, -(1 << 40))
    np.minimum.at(smallest, channel, low)
    np.maximum.at(largest, channel, high)
    return Range(smallest, largest)


def _moved(node: Node, y: Tensor, found: Range, zero: int) -> Range:
    """Codes that move; padding adds that of zero."""
    channels = y.shape[-1] if y.shape else 1
    if node.op == "pad":
        low, high = np.minimum(found.low, zero), np.maximum(found.high, zero)
        if channels == len(low):
            return Range(low, high)
        found = Range(low, high)
    if node.op == "reshape" and channels % len(found.low) == 0:
        times = channels // len(found.low)
        return Range(np.tile(found.low, times), np.tile(found.high, times))
    low, high = found.hull
    return Range(np.full(channels, low), np.full(channels, high))


def _pooled(
    graph: Graph, node: Node, survivors: Sequence[Hypothesis], found: Range
) -> Range | None:
    """An average, and the largest, lie between the codes they are of."""
    if any(h.twist for h in survivors) or not survivors:
        return None
    own = arithmetic(graph, node)
    clamps = [clamp_of(graph, node, replace(own, bounds=bounds)) for bounds in BOUNDS]
    return Range(
        np.min([np.clip(found.low, *clamp) for clamp in clamps], axis=0),
        np.max([np.clip(found.high, *clamp) for clamp in clamps], axis=0),
    )
