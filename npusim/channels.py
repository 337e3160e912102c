"""What can be told of a node's output channels from its constants alone: those that are spoiled.

Every function returns the numbers of the channels it is about, ascending.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from .graph import Accumulator, Graph, Node
from .headroom import bits_needed, channel_bounds, first_sums
from .kernels.structs import Add, NeuralArt, Requantization
from .parameters import bias, bind

INT32 = np.iinfo(np.int32)

Channels = tuple[int, ...]


def unproven(graph: Graph, node: Node, accumulator: Accumulator) -> Channels:
    """Those with a sum that may leave the accumulator, whatever the input is."""
    bounds = channel_bounds(graph, node).tolist()
    return tuple(o for o, bound in enumerate(bounds) if bits_needed(bound) > accumulator.bits)


def saturated_biases(graph: Graph, node: Node) -> Channels:
    """Those whose bias is the first or last int32: what a converter writes that ran out of range.

    -2^31 and +-(2^31 - 1) are no sums that a training leaves behind; the scale s_x * s_w is then
    too small for the bias.
    """
    codes = bias(graph, node).astype(np.int64)
    return _where((codes == INT32.min) | (codes == -INT32.max) | (codes == INT32.max))


def biases_out_of_range(graph: Graph, node: Node, accumulator: Accumulator) -> Channels:
    """Those whose bias, the start of the sum, the accumulator does not hold."""
    high = (1 << (accumulator.bits - 1)) - 1
    start = first_sums(graph, node).astype(np.int64)
    return _where((start > high) | (start < -high - 1))


def dead(graph: Graph, node: Node) -> Channels:
    """Those whose weights are all 0."""
    weights = graph.tensors[node.inputs[1]].data
    assert weights is not None
    outputs_last = weights if node.op == "depthwise_conv2d" else np.moveaxis(weights, 0, -1)
    return _where(~outputs_last.reshape(-1, outputs_last.shape[-1]).any(0))


def without_multiplier(graph: Graph, node: Node) -> Channels:
    """Those whose scales leave a multiplier of 0, so that every output is the zero point.

    M = 0, or below 2^-32, where shift would pass -31; on Neural-ART, A_c that rounds to 0. Where
    one multiplier serves all of a tensor, channel 0 stands for it.
    """
    lost = [_where(factors == 0) for factors in _multipliers(graph, node)]
    return tuple(sorted({channel for found in lost for channel in found}))


def _multipliers(graph: Graph, node: Node) -> Iterator[np.ndarray]:
    """The multipliers of a settled node, by channel or one for all."""

    def inside(struct: Any) -> Iterator[np.ndarray]:
        if isinstance(struct, Requantization):
            yield np.asarray(struct.multiplier)
        elif isinstance(struct, Add):
            yield from (np.asarray(r.multiplier) for r in (struct.a, struct.b))
        elif isinstance(struct, NeuralArt):
            yield struct.a_c

    for struct in bind(graph, node):
        yield from inside(struct)


def _where(mask: Any) -> Channels:
    return tuple(np.flatnonzero(mask).tolist())
