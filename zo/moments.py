"""Channel statistics of a network's layers, in integers: what a chip shows of its inputs.

    mean = S1 / n        deviation = sqrt(n*S2 - S1^2) / n        in units of 2^-16 code

S1 and S2 are the sums of d and d^2 over all images and positions of a channel, d = code - zero
point. Source: matching of channel moments, as in "AdaBN" (Li et al. 2016, arXiv 1603.04779), here
on int8 outputs. Nothing is wider than int64.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim import Graph, Session, Tensor

from .fixed_point import floor_log2
from .twins import twin

FRACTION = 16
MAX_CELLS = 2**23 - 1
"""Images times positions of one channel: keeps n*S2 below 2^62."""
MEAN, DEVIATION = "statistics_mean", "statistics_deviation"
IMAGES_AT_ONCE = 16
"""A trace keeps every tensor of its images."""


ENOUGH_IMAGES = 256
"""Images that statistics are taken of where nobody says how many."""


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
    sums = {name: ChannelSums(session.graph, name) for name in chosen}
    for start in range(0, len(images), IMAGES_AT_ONCE):
        values = dict(session.trace(images[start : start + IMAGES_AT_ONCE]))
        for found in sums.values():
            found.add(values[found.tensor.name])
    return {name: found.moments() for name, found in sums.items()}


class ChannelSums:
    """Count, S1 and S2 of the channels of one node's output, gathered batch by batch.

    tensor   the output
    """

    def __init__(self, graph: Graph, node: str) -> None:
        self.tensor: Tensor = graph.tensors[graph.node(node).outputs[0]]
        self._node = node
        self._count = 0
        self._sums = np.zeros((2, self.tensor.shape[-1]), np.int64)

    def add(self, values: np.ndarray) -> None:
        """Count the values (N, .., C) of more images."""
        rows = values.reshape(-1, values.shape[-1])
        assert self.tensor.quantization is not None, self.tensor.name
        add_sums(rows, int(self.tensor.quantization.zero_point[0]), self._sums)
        self._count += len(rows)

    def moments(self) -> Moments:
        """Mean and deviation of all that was counted; ValueError for none, or too many."""
        return channel_moments(self._count, self._sums[0], self._sums[1], self._node)


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


def enough_images(graph: Graph, most: int = ENOUGH_IMAGES) -> int:
    """256, or as many as keep every channel of every matched node within 2^23 - 1 values.

    most   in place of 256
    """
    tensors = (graph.tensors[graph.node(name).outputs[0]] for name in matched_nodes(graph))
    positions = max((prod(tensor.shape[1:-1]) for tensor in tensors), default=1)
    return min(most, MAX_CELLS // positions)


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


@twin
def add_sums(values: np.ndarray, zero_point: int, sums: NDArray[np.int64]) -> None:
    """sums (2, C) += those of d and of d^2, d = values (n, C) - zero_point."""
    d = values.astype(np.int64) - zero_point
    sums += np.stack((d.sum(0), (d * d).sum(0)))
