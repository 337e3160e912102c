"""Can an accumulator overflow? A static bound per output channel answers without running.

    bound[o] = |bias[o]| + sum over the kernel of |w[o, ..]| * max |x - x_zero_point|

Where the bound fits, wrapping, saturating and exact sums agree in every order.
"""

from math import prod

import numpy as np

from .affine import LIMITS, zero_point
from .graph import Accumulator, Graph, Node
from .neural_art.stored import PROFILE as NEURAL_ART
from .neural_art.stored import on_hardware
from .parameters import bias
from .profiles import PROFILES, find_profile
from .rules import profile_of

WEIGHTED = ("conv2d", "depthwise_conv2d", "fully_connected")


def multiplied(graph: Graph) -> dict[int, Node]:
    """Weighted nodes by number whose sums become codes by multipliers: all but Neural-ART's."""
    nodes = enumerate(graph.nodes)
    return {k: n for k, n in nodes if n.op in WEIGHTED and not on_hardware(graph, n)}


class AccumulatorError(ArithmeticError):
    """A sum left an accumulator that must not overflow.

    index   flat index of the output
    value   the first of its sums that is out of range
    """

    def __init__(self, index: int, value: int) -> None:
        super().__init__(f"accumulator: must hold every sum, got {value} at output {index}")
        self.index = index
        self.value = value


def accumulator(graph: Graph) -> Accumulator:
    """The graph's accumulator: its own, else its profile's."""
    return graph.accumulator or find_profile(graph.profile).accumulator


def accumulator_of(graph: Graph, node: Node) -> Accumulator:
    """The accumulator of a weighted node.

    The graph's where that is not its profile's, then that of the node's profile; on Neural-ART,
    whose sums are exact, one that holds them all.
    """
    if on_hardware(graph, node):
        return PROFILES[NEURAL_ART].accumulator
    chosen = accumulator(graph)
    usual = find_profile(graph.profile).accumulator
    return profile_of(graph, node).accumulator if chosen == usual else chosen


def accumulator_text(profile: str, a: Accumulator) -> str:
    """ "32 bits, wrap"; "exact sums" where no width counts."""
    return "exact sums" if profile == NEURAL_ART else str(a)


def accumulator_bound(graph: Graph, node: Node, trainable: frozenset[int] = frozenset()) -> int:
    """Largest magnitude any partial sum of the node can reach, over all inputs and orders.

    trainable   indices of constants that may change: weights count as -128 everywhere, a bias as
                -2^31; Neural-ART's sums begin without bias
    """
    return int(channel_bounds(graph, node, trainable).max())


def channel_bounds(graph: Graph, node: Node, trainable: frozenset[int] = frozenset()) -> np.ndarray:
    """As `accumulator_bound`, of every output channel: int64 (O,)."""
    if on_hardware(graph, node):
        return product_bound(graph, node, trainable)
    start = np.abs(bias(graph, node).astype(np.int64))
    if len(node.inputs) > 2 and node.inputs[2] in trainable:
        start = np.full_like(start, 1 << 31)
    return start + product_bound(graph, node, trainable)


def first_sums(graph: Graph, node: Node) -> np.ndarray:
    """What the accumulators start from, int32 (O,): the bias, which Neural-ART adds later."""
    start = bias(graph, node)
    return np.zeros_like(start) if on_hardware(graph, node) else start


def product_bound(graph: Graph, node: Node, trainable: frozenset[int] = frozenset()) -> np.ndarray:
    """As `accumulator_bound`, of every output channel and without its bias: int64 (O,)."""
    x, weights = graph.tensors[node.inputs[0]], graph.tensors[node.inputs[1]]
    assert weights.data is not None
    low, high = LIMITS[x.dtype]
    reach = max(high - zero_point(x), zero_point(x) - low)
    magnitudes = np.abs(weights.data.astype(np.int64))
    if node.inputs[1] in trainable:
        magnitudes = np.full_like(magnitudes, 128)
    axes = (0, 1, 2) if node.op == "depthwise_conv2d" else tuple(range(1, magnitudes.ndim))
    return magnitudes.sum(axis=axes) * reach


def bits_needed(bound: int) -> int:
    """Bits of the narrowest two's complement accumulator that holds -bound..bound."""
    return bound.bit_length() + 1


def bits_of_range(low: int, high: int) -> int:
    """Bits of the narrowest two's complement accumulator that holds low..high."""
    return (
        max((~low if low < 0 else low).bit_length(), (~high if high < 0 else high).bit_length()) + 1
    )


def order_matters(bound: int, a: Accumulator) -> bool:
    """Whether sums must be formed one by one: false where int32 sums give the same bits."""
    return not wraps_as_int32(a) and bits_needed(bound) > min(a.bits, 32)


def wraps_as_int32(a: Accumulator) -> bool:
    """Whether int32 sums are what the accumulator holds, however large they get."""
    return a.overflow == "wrap" and a.bits == 32


def overflow_message(graph: Graph, node: Node, overflow: AccumulatorError) -> str:
    """Where and how a node's sum left the accumulator; the coordinate counts images on axis 0."""
    shape = graph.tensors[node.outputs[0]].shape
    image, rest = divmod(overflow.index, prod(shape[1:]))
    coordinate = (image, *(int(i) for i in np.unravel_index(rest, shape[1:])))
    held = accumulator_of(graph, node)
    return (
        f"{node.name}/{node.op}: accumulator: must stay in {held.bits} bits, "
        f"got {overflow.value} at output {coordinate}; use a wider accumulator"
    )
