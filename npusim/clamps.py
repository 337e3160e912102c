"""Where Neural-ART clamps on the way to a code: what can get there, what did, what that changed.

    t    partial sums of 24 bits, after every piece but the last as well
    r0   first stage, 16 bits; with 16-bit partial sums each of these too
    r1   second stage, 16 bits
    p    a global average's POOL unit, 16 bits

A clamp changes a code if the same stages without any clamp but the output's give another one. Most
change none: r1 holds more codes than the output has.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .affine import LIMITS, zero_point
from .channels import Channels
from .graph import Graph, Node
from .headroom import WEIGHTED, bits_of_range
from .kernels.structs import NeuralArt, NeuralArtMean
from .neural_art.stored import on_hardware
from .parameters import bind
from .reference import neural_art
from .reference.neural_art import saturated

ENOUGH = 1 << 46
"""More than any sum; r1 beyond it gives the first or last code, for any BC_c, s2 and A2 but 0."""


class Stage(NamedTuple):
    """A stage that clamps to `bits` bits, and what can get there before it does.

    low, high   int64 (O,): the least and greatest value that any input leads to
    """

    name: str
    bits: int
    low: np.ndarray
    high: np.ndarray

    @property
    def bits_needed(self) -> int:
        """Bits of the narrowest register that would not have to clamp."""
        return bits_of_range(int(self.low.min()), int(self.high.max()))


class Clamps(NamedTuple):
    """What a node's stages did on given inputs, int64 (O,) each.

    stages    by name: outputs on whose way the stage clamped
    outputs   outputs on whose way any did
    changed   outputs whose code is another one for it
    """

    stages: Mapping[str, np.ndarray]
    outputs: np.ndarray
    changed: np.ndarray

    def joined(self, other: "Clamps") -> "Clamps":
        """The clamps of both."""
        stages = {name: counts + other.stages[name] for name, counts in self.stages.items()}
        return Clamps(stages, self.outputs + other.outputs, self.changed + other.changed)


class Reach(NamedTuple):
    """What holds for all inputs: the stages, and the channels whose code a clamp may change."""

    stages: tuple[Stage, ...]
    unproven: Channels


class _Watch:
    """A clamp that keeps, of every element and by width, the least and greatest value it met."""

    def __init__(self) -> None:
        self.met: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def __call__(self, values: np.ndarray, bits: int) -> np.ndarray:
        low, high = self.met.get(bits, (values, values))
        self.met[bits] = np.minimum(low, values), np.maximum(high, values)
        return saturated(values, bits)


class _Walk(NamedTuple):
    """Codes with and without clamps, and (bits, least, greatest) of every stage."""

    codes: np.ndarray
    free: np.ndarray
    met: Mapping[str, tuple[int, np.ndarray, np.ndarray]]

    def left(self, name: str) -> np.ndarray:
        """Where the stage clamps."""
        bits, low, high = self.met[name]
        return (saturated(low, bits) != low) | (saturated(high, bits) != high)


def clamps_inside(graph: Graph, node: Node) -> bool:
    """Whether the node has such stages: Neural-ART's, but for ADD, which clamps its code only."""
    return on_hardware(graph, node) and node.op != "add"


def reach(graph: Graph, node: Node) -> Reach:
    """What any input can bring to the stages of a node that has some.

    Exact for outputs whose whole kernel lies inside the image: every stage is monotonic, so the
    two extreme sums lead to the extremes. Only a sum in pieces may clamp on the way and come back;
    where one of its pieces may clamp, the channel is unproven.
    """
    structs = bind(graph, node)
    walk = _walk(_extreme_sums(graph, node, structs), structs[-1])
    stages = tuple(Stage(n, b, low.min(0), high.max(0)) for n, (b, low, high) in walk.met.items())
    changing = walk.codes != walk.free
    if isinstance(structs[-1], NeuralArt) and structs[-1].runs[:, 2].sum() > 1:
        for name in walk.met.keys() - {"r1"}:
            changing |= walk.left(name)
    return Reach(stages, tuple(np.flatnonzero(changing.any(0)).tolist()))


def node_clamps(graph: Graph, node: Node, x: np.ndarray) -> Clamps:
    """What the stages of a node that has some do on its input.

    x   int8, axis 0 as long as the declared one or a multiple of it
    """
    structs, declared = bind(graph, node), graph.tensors[node.inputs[0]].shape[0]
    found = None
    for first in range(0, len(x), declared):
        sums = _sums(graph, node, x[first : first + declared], structs)
        fresh = _counted(_walk(sums, structs[-1]))
        found = fresh if found is None else found.joined(fresh)
    assert found is not None
    return found


def _counted(walk: _Walk) -> Clamps:
    """The clamps of a walk, by channel."""
    left = {name: _rows(walk.left(name)) for name in walk.met}
    outputs = np.logical_or.reduce(list(left.values())).sum(0)
    stages = {name: mask.sum(0) for name, mask in left.items()}
    return Clamps(stages, outputs, _rows(walk.codes != walk.free).sum(0))


def _walk(sums: Sequence[np.ndarray], p: NamedTuple) -> _Walk:
    """The stages on sums (.., O): of every piece, or those of a map's codes."""
    first, second = _Watch(), _Watch()
    if isinstance(p, NeuralArtMean):
        (total,) = sums
        codes = neural_art.mean_codes(neural_art.pooled(total, p, first), p)
        free = neural_art.mean_codes(neural_art.pooled(total, p, _free), p)
        return _Walk(codes, free, {"p": (16, *first.met[16])})
    assert isinstance(p, NeuralArt)
    r1 = neural_art.second_stage(neural_art.reduced(sums, p, first), p, second)
    far = neural_art.second_stage(neural_art.reduced(sums, p, _free), p, _free)
    met = {{24: "t", 16: "r0"}[bits]: (bits, *ends) for bits, ends in first.met.items()}
    codes, free = neural_art.third_stage(r1, p), neural_art.third_stage(far, p)
    return _Walk(codes, free, {**met, "r1": (16, *second.met[16])})


def _free(values: np.ndarray, bits: int) -> np.ndarray:
    """No clamp; only what is out of all reach is brought back to where int64 holds products."""
    return np.clip(values, -ENOUGH, ENOUGH)


def _sums(
    graph: Graph, node: Node, x: np.ndarray, structs: tuple[NamedTuple, ...]
) -> Sequence[np.ndarray]:
    """What the first stage is given on an input."""
    if node.op not in WEIGHTED:
        return [x.astype(np.int64).sum((1, 2))]
    geometry, r = structs
    assert isinstance(r, NeuralArt)
    weights = graph.tensors[node.inputs[1]].data
    return list(neural_art.piece_sums(neural_art.RUNS[node.op](x, weights, geometry), r))


def _extreme_sums(
    graph: Graph, node: Node, structs: tuple[NamedTuple, ...]
) -> Sequence[np.ndarray]:
    """As `_sums`, (2, O): the least and the greatest there can be."""
    x = graph.tensors[node.inputs[0]]
    low, high = LIMITS[x.dtype]
    if node.op not in WEIGHTED:
        (p,) = structs
        assert isinstance(p, NeuralArtMean)
        return [np.array([[low], [high]], np.int64) * np.full(p.channels, p.cells)]
    r, weights = structs[-1], graph.tensors[node.inputs[1]].data
    assert isinstance(r, NeuralArt)
    assert weights is not None
    rows = weights if node.op == "depthwise_conv2d" else np.moveaxis(weights, 0, -1)
    rows = rows.reshape(-1, rows.shape[-1]).astype(np.int64)
    ends = rows * (low - zero_point(x)), rows * (high - zero_point(x))
    products = np.stack([np.minimum(*ends), np.maximum(*ends)])
    return list(neural_art.piece_sums(lambda i, n: products[:, i : i + n].sum(1), r))


def _rows(values: np.ndarray) -> np.ndarray:
    """(outputs of a channel, O)"""
    return values.reshape(-1, values.shape[-1])
