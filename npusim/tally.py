"""How far the sums of a node go on given inputs, and how often they leave an accumulator."""

from typing import NamedTuple

import numpy as np

from .backend import chosen_isa
from .graph import Accumulator, Graph, Node
from .headroom import bits_needed, channel_bounds, first_sums
from .kernels.structs import OVERFLOW, Accumulation, Conv2d, FullyConnected, Tallies
from .parameters import geometry
from .reference import tally as reference


class Sums(NamedTuple):
    """What the sums of every output channel did, int64 (O,); overflows as in `Tallies`.

    low, high   least and greatest exact sum on the way, that of no products included
    overflows   how often a sum left the accumulator's range, in the documented order
    outputs     outputs in which that happened
    changed     outputs whose accumulator ended at another number than the exact sum
    """

    low: np.ndarray
    high: np.ndarray
    overflows: np.ndarray
    outputs: np.ndarray
    changed: np.ndarray

    def joined(self, other: "Sums") -> "Sums":
        """The sums of both."""
        added = (a + b for a, b in zip(self[2:], other[2:], strict=True))
        return Sums(np.minimum(self.low, other.low), np.maximum(self.high, other.high), *added)


def node_sums(graph: Graph, node: Node, x: np.ndarray, accumulator: Accumulator) -> Sums:
    """Form the sums of a weighted node.

    x             int8, the node's input, axis 0 as long as the declared one or a multiple of it
    accumulator   under "error" it holds the exact sum, so that what follows can be counted as well
    """
    weights, bias = graph.tensors[node.inputs[1]].data, first_sums(graph, node)
    assert weights is not None
    a = Accumulation(accumulator.bits, OVERFLOW[accumulator.overflow])
    g = geometry(graph, node)
    g = g._replace(n=g.n * (len(x) // graph.tensors[node.inputs[0]].shape[0]))
    if chosen_isa() == "numpy":
        t = reference.tally(node.op, x, weights, bias, g, a)
    else:
        from .kernels.tally import tally  # numba is needed, and loaded, only here

        bits = bits_needed(int(channel_bounds(graph, node).max()))
        counting = bits > a.bits
        t = _tallies(g.o, np.int64 if counting or bits > 32 else np.int32)
        packed = _packed(node.op, weights, g).astype(t.exact.dtype)
        tally(x.reshape(-1), packed, bias, _convolution(node.op, g), a, counting, t)
    return Sums(*(v.astype(np.int64) for v in (t.low, t.high, t.overflows, t.outputs, t.changed)))


def _convolution(op: str, g: Conv2d | FullyConnected) -> Conv2d:
    """The convolution that a weighted operator is: by a kernel of one cell, or of many groups."""
    if isinstance(g, FullyConnected):
        return Conv2d(g.n, 1, 1, g.i, 1, 1, g.o, 1, 1, 1, 1, 1, 1, 0, 0, 1, g.x_zero_point)
    return g._replace(groups=g.c) if op == "depthwise_conv2d" else g


def _packed(op: str, weights: np.ndarray, g: Conv2d | FullyConnected) -> np.ndarray:
    """Weights in the order (KH, KW, C, O / groups), flat."""
    if isinstance(g, FullyConnected):
        return weights.T.reshape(-1)
    if op == "depthwise_conv2d":
        return weights.reshape(-1)
    grouped = weights.reshape(g.groups, g.o // g.groups, g.kh, g.kw, weights.shape[3])
    return grouped.transpose(2, 3, 0, 4, 1).reshape(-1)


def _tallies(channels: int, dtype: type) -> Tallies:
    """Nothing seen yet."""
    ends = np.iinfo(dtype)
    sums: tuple[np.ndarray, ...] = tuple(
        np.full(channels, value, dtype) for value in (0, ends.max, ends.min)
    )
    return Tallies(*sums, *(np.zeros(channels, np.int64) for _ in range(5)))
