"""What can be told of a node's output channels from its constants alone: those that are spoiled.

Every function returns the numbers of the channels it is about, ascending.
"""

from typing import Any

import numpy as np

from .graph import Accumulator, Graph, Node
from .headroom import bits_needed, channel_bounds, first_sums
from .kernels.structs import NeuralArt
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


def saturated_offsets(graph: Graph, node: Node) -> Channels:
    """Those whose BC_c, on Neural-ART, is the first or last int32: what does not fit is clamped."""
    offsets = [struct.bc_c for struct in bind(graph, node) if isinstance(struct, NeuralArt)]
    return _where((offsets[0] == INT32.min) | (offsets[0] == INT32.max)) if offsets else ()


def _where(mask: Any) -> Channels:
    return tuple(np.flatnonzero(mask).tolist())
