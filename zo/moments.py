"""Channel statistics of a network's layers, in integers: what a chip shows of its inputs.

    mean = S1 / n        deviation = sqrt(n*S2 - S1^2) / n        in units of 2^-16 code

S1 and S2 are the sums of d and d^2 over all images and positions of a channel, d = code - zero
point. Source: matching of channel moments, as in "AdaBN" (Li et al. 2016, arXiv 1603.04779), here
on int8 outputs. The C twin needs nothing wider than int64.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim import Graph, Session

from .numbers import floor_log2

FRACTION = 16
MAX_CELLS = 2**23 - 1
"""Images times positions of one channel: keeps n*S2 below 2^62."""
MEAN, DEVIATION = "statistics_mean", "statistics_deviation"
_BATCH = 64


class Moments(NamedTuple):
    """Mean and deviation of each channel of a layer's output, in 2^-16 code.

    mean        int32 (C,), relative to the zero point
    deviation   int32 (C,)
    """

    mean: NDArray[np.int32]
    deviation: NDArray[np.int32]


Statistics = Mapping[str, Moments]


def measure_statistics(
    session: Session, images: np.ndarray, nodes: Sequence[str] | None = None
) -> Statistics:
    """Mean and deviation of the channels of every layer but the classifier, over `images`.

    images    (N, ..) codes or real numbers, as `Session.run` takes them
    nodes     names of weighted nodes; `matched_nodes` of the graph if None
    returns   node name -> Moments, in the order of `nodes`
    raises    ValueError for no images, or more than 2^23 - 1 values of one channel
    """
    chosen = matched_nodes(session.graph) if nodes is None else tuple(nodes)
    tensors = {name: _output(session.graph, name) for name in chosen}
    zero_points = {name: session.requantization[name].zero_point for name in chosen}
    sums = {name: np.zeros((2, len(session.biases[name])), np.int64) for name in chosen}
    counts = dict.fromkeys(chosen, 0)
    for start in range(0, len(images), _BATCH):
        values = dict(session.trace(images[start : start + _BATCH]))
        for name in chosen:
            y = values[tensors[name]]
            d = y.reshape(-1, y.shape[-1]).astype(np.int64) - zero_points[name]
            sums[name] += np.stack((d.sum(0), (d * d).sum(0)))
            counts[name] += len(d)
    return {
        name: channel_moments(counts[name], sums[name][0], sums[name][1], name) for name in chosen
    }


def channel_moments(
    count: int, total: NDArray[np.int64], squares: NDArray[np.int64], where: str = "statistics"
) -> Moments:
    """Moments from the count, the sums and the sums of squares of int8 or uint8 differences.

    count            values per channel, 1 .. 2^23 - 1
    total, squares   int64 (C,), |total| <= 255 * count, squares <= 255^2 * count
    raises           ValueError for another count
    """
    if not 1 <= count <= MAX_CELLS:
        raise ValueError(
            f"{where}: a channel must show 1..{MAX_CELLS} values, got {count}; "
            f"give {'fewer' if count else 'some'} images"
        )
    mean = ((total << FRACTION) + (count >> 1)) // count
    spread = count * squares - total * total  # n^2 * variance, below 2^62
    even = (61 - floor_log2(np.maximum(spread, 1))) & ~1
    root = square_root(spread << even)  # in [2^30, 2^31) unless 0
    divisor = count << (even >> 1)
    deviation = ((root << FRACTION) + (divisor >> 1)) // divisor
    return Moments(mean.astype(np.int32), deviation.astype(np.int32))


def square_root(v: NDArray[np.int64]) -> NDArray[np.int64]:
    """floor(sqrt(v)), 0 <= v < 2^62, one bit of the root at a time."""
    root = np.zeros_like(v)
    for bit in range(30, -1, -1):
        longer = root | (1 << bit)
        root = np.where(longer * longer <= v, longer, root)
    return root


def matched_nodes(graph: Graph) -> tuple[str, ...]:
    """The weighted nodes that another weighted node depends on, in order: all but the classifier.

    What a classifier puts out says which classes are present, not what became of the sensor.
    """
    weighted = {"conv2d", "depthwise_conv2d", "fully_connected"}
    wanted: set[int] = set()
    names = []
    for node in reversed(graph.nodes):
        feeds = not wanted.isdisjoint(node.outputs)
        if node.op in weighted and feeds:
            names.append(node.name)
        if node.op in weighted or feeds:
            wanted.update(node.inputs)
    return tuple(reversed(names))


def store_statistics(graph: Graph, statistics: Statistics) -> Graph:
    """The graph with statistics among its nodes' given parameters, so that a file carries them."""
    known = {node.name for node in graph.nodes}
    for name in statistics:
        if name not in known:
            raise ValueError(f"statistics: {name!r} must be a node of graph {graph.name}")
    nodes = []
    for node in graph.nodes:
        if node.name in statistics:
            mean, deviation = statistics[node.name]
            node = replace(node, given={**node.given, MEAN: mean, DEVIATION: deviation})
        nodes.append(node)
    return replace(graph, nodes=tuple(nodes))


def stored_statistics(graph: Graph) -> Statistics:
    """The statistics that `store_statistics` put into a graph; empty if there are none."""
    return {
        node.name: Moments(node.given[MEAN], node.given[DEVIATION])
        for node in graph.nodes
        if MEAN in node.given and DEVIATION in node.given
    }


def _output(graph: Graph, name: str) -> str:
    """The name of a node's output."""
    return graph.tensors[graph.node(name).outputs[0]].name
