"""Hypotheses about averages: a state is a sum of codes, with its channel or its number of cells."""

from collections.abc import Callable
from math import prod

import numpy as np

from ..affine import zero_point
from ..diff.ideal import windows
from ..graph import Graph, Node
from ..kernels.structs import Mean, MeanXnnpack, Requantization
from ..reference.mean import mean
from ..reference.pool import rounded_mean
from ..reference.xnnpack import mean_xnnpack
from ..requantization import clamp_of
from .arithmetics import Bound, behind_blocks, bound, requantized
from .elementwise import twists
from .hypothesis import Codes, Hypothesis, States
from .ranges import Range, Ranges, range_of
from .three_stages import averaged

LARGEST_DOMAIN = 1 << 22


def mean_states(graph: Graph, node: Node, operands: list[np.ndarray]) -> States:
    """Sum of codes, channel."""
    total = operands[0].astype(np.int64).sum(axis=node.attributes["axes"])
    total = np.atleast_1d(total)
    channel = np.broadcast_to(np.arange(total.shape[-1]), total.shape)
    return total.reshape(-1), channel.reshape(-1)


def mean_domain(graph: Graph, node: Node, ranges: Ranges) -> States | None:
    """Every sum of every channel."""
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    cells, channels = _cells(graph, node), y.shape[-1] if y.shape else 1
    found = range_of(x, ranges)
    if len(found.low) != channels:
        found = Range(*(np.full(channels, end) for end in found.hull))
    counts = (found.high - found.low) * cells + 1
    if counts.sum() > LARGEST_DOMAIN:
        return None
    channel = np.arange(channels).repeat(counts)
    first = (found.low * cells - (np.cumsum(counts) - counts)).repeat(counts)
    return first + np.arange(counts.sum()), channel


def mean_hypotheses(graph: Graph, node: Node) -> list[Hypothesis]:
    """Every rule, Neural-ART's among them; zero points with the wrong sign or left out."""
    found = [Hypothesis(b.names, _mean(graph, node, b)) for b in bound(graph, node)]
    found += averaged(graph, node)
    for words, other in twists(graph, node):
        found += [
            Hypothesis(b.names, _mean(other, node, b), twist=words, common=False)
            for b in bound(other, node)
        ]
    return found


def _cells(graph: Graph, node: Node) -> int:
    x = graph.tensors[node.inputs[0]]
    return prod(x.shape[axis] for axis in node.attributes["axes"])


def _mean(graph: Graph, node: Node, b: Bound) -> Codes:
    first, *tail = b.structs
    if isinstance(first, MeanXnnpack):
        return lambda s: mean_xnnpack(s[0][:, np.newaxis], (1,), first).astype(np.int64)
    (r,) = tail
    assert isinstance(first, Mean)
    assert isinstance(r, Requantization)
    zero, n = first.cells * first.x_zero_point, len(r.multiplier)

    def codes(states: States) -> np.ndarray:
        total, channel = states
        if r.rounding.block == 1:
            one = r._replace(multiplier=r.multiplier[:1], shift=r.shift[:1], scale=r.scale[:1])
            whole = first._replace(x_zero_point=zero)
            return mean(total[:, np.newaxis], (1,), whole, one).astype(np.int64)
        rest = behind_blocks(n - channel, n, r.rounding.block)
        return requantized(total - zero, r, rest, channel)

    return codes


_Divide = Callable[[np.ndarray, np.ndarray], np.ndarray]
_DIVISIONS: dict[str, _Divide] = {
    "half_away": rounded_mean,
    "ties up": lambda total, count: (2 * total + count) // (2 * count),
    "ties to even": lambda total, count: _to_even(total, count),
    "rounded down": lambda total, count: total // count,
    "rounded toward zero": lambda total, count: np.sign(total) * (np.abs(total) // count),
}


def _to_even(total: np.ndarray, count: np.ndarray) -> np.ndarray:
    low, rest = np.divmod(total, count)
    return low + ((2 * rest > count) | ((2 * rest == count) & (low & 1 == 1)))


def pool_states(graph: Graph, node: Node, operands: list[np.ndarray]) -> States:
    """Sum of codes, number of cells that are not padding."""
    x = operands[0]
    total = windows(node, x.astype(np.float64))
    count = windows(node, np.ones((1, *x.shape[1:])))
    columns = (total, np.broadcast_to(count, total.shape))
    return tuple(column.reshape(-1).astype(np.int64) for column in columns)


def pool_domain(graph: Graph, node: Node, ranges: Ranges) -> States | None:
    """Every sum of every number of cells that a window has."""
    kernel = prod(node.attributes["kernel"])
    low, high = range_of(graph.tensors[node.inputs[0]], ranges).hull
    if (high - low) * kernel * kernel > LARGEST_DOMAIN:
        return None
    counts = range(1, kernel + 1)
    totals = [np.arange(low * n, high * n + 1) for n in counts]
    sizes = [np.full(len(t), n) for n, t in zip(counts, totals, strict=True)]
    return np.concatenate(totals), np.concatenate(sizes)


def pool_hypotheses(graph: Graph, node: Node) -> list[Hypothesis]:
    """Divisions of the sum of codes, or of codes relative to the zero point; counted padding."""
    zero = zero_point(graph.tensors[node.inputs[0]])
    clamp, kernel = clamp_of(graph, node), prod(node.attributes["kernel"])
    found = []
    for name, divide in _DIVISIONS.items():
        found.append(Hypothesis((name,), _divided(divide, clamp, 0)))
        if zero:
            words = f"{name}, relative to the zero point"
            found.append(Hypothesis((words,), _divided(divide, clamp, zero)))
        codes = _divided(divide, clamp, zero, kernel)
        twist = "padding counts as cells"
        found.append(Hypothesis((name,), codes, twist=twist, common=False))
    return found


def _divided(divide: _Divide, clamp: tuple[int, int], zero: int, kernel: int = 0) -> Codes:
    def codes(states: States) -> np.ndarray:
        total, count = states
        cells = np.full_like(count, kernel) if kernel else count
        return np.clip(divide(total - zero * count, cells) + zero, *clamp)

    return codes
