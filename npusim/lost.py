"""Multipliers that have become 0, and why: what is multiplied by them counts for nothing.

Every kind of parameter loses them in a way of its own: a fixed-point pair at its smallest shift, a
float where no sum reaches half a code, an integer coefficient where it rounds to 0.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from .channels import Channels
from .graph import Graph, Node
from .headroom import WEIGHTED, accumulator_of
from .kernels.structs import (
    Add,
    AddXnnpack,
    MeanXnnpack,
    NeuralArt,
    NeuralArtAdd,
    NeuralArtMean,
    Requantization,
    RescaleXnnpack,
    Softmax,
)
from .neural_art.stored import read
from .parameters import bind
from .requantization import reads_scale

SMALLEST = 32
"""M below 2^-32 has no multiplier and shift; products of codes and their sums have 32 bits."""


class Lost(NamedTuple):
    """Why a multiplier is 0, and the channels it is 0 for; one for all of a tensor is channel 0."""

    reason: str
    channels: Channels


class _Place(NamedTuple):
    """A node, and the names of what it was given."""

    graph: Graph
    node: Node
    given: frozenset[str]


def lost_multipliers(graph: Graph, node: Node) -> tuple[Lost, ...]:
    """The multipliers of a settled node that are 0, one entry for each reason."""
    place = _Place(graph, node, frozenset({*node.given, *read(node).given}))
    found = ((reason, np.flatnonzero(np.asarray(zero)).tolist())
             for struct in bind(graph, node) if type(struct) in _LOST
             for reason, zero in _LOST[type(struct)](place, struct))  # fmt: skip
    return tuple(Lost(reason, tuple(channels)) for reason, channels in found if channels)


_Found = Iterator[tuple[str, Any]]


def _requantization(place: _Place, r: Requantization) -> _Found:
    if "multiplier" in place.given:
        yield "multiplier is given as 0", r.multiplier == 0
    elif not reads_scale(r):
        yield f"M is below 2^-{SMALLEST}, where shift ends", r.multiplier == 0
    else:
        summing = place.node.op in WEIGHTED
        bits = accumulator_of(place.graph, place.node).bits if summing else SMALLEST
        yield f"M, a float, is below 2^-{bits}, half a code at {bits} bits", r.scale < 2.0**-bits


def _add(place: _Place, p: Add) -> _Found:
    for index, r in enumerate((p.a, p.b)):
        ratio = f"below 2^-{SMALLEST - 1} of the other's"
        yield f"the scale of {_input(place, index)} is {ratio}", r.multiplier == 0


def _add_xnnpack(place: _Place, p: AddXnnpack) -> _Found:
    for index, factor in enumerate((p.a_multiplier, p.b_multiplier)):
        ratio = "rounds to 0 of 21 bits beside the other's"
        yield f"the scale of {_input(place, index)} {ratio}", [factor == 0]


def _rescale_xnnpack(place: _Place, p: RescaleXnnpack) -> _Found:
    yield "s_x / s_y, an integer of 2^-8, rounds to 0", [p.multiplier == 0]


def _mean_xnnpack(place: _Place, p: MeanXnnpack) -> _Found:
    yield "s_x / s_y / cells is 0 in float32", [p.scale == 0]


def _softmax(place: _Place, p: Softmax) -> _Found:
    yield "beta * s_x is below 2^-58, where shift ends", [p.multiplier == 0]


def _neural_art(place: _Place, r: NeuralArt) -> _Found:
    yield _coefficient(place, "A_c"), r.a_c == 0
    yield _coefficient(place, "A2"), np.full(r.a_c.shape, r.a2 == 0)


def _neural_art_add(place: _Place, p: NeuralArtAdd) -> _Found:
    for index, (name, factor) in enumerate((("A", p.a), ("B", p.b))):
        yield f"{_coefficient(place, name)}, that of {_input(place, index)}", [factor == 0]


def _neural_art_mean(place: _Place, p: NeuralArtMean) -> _Found:
    yield _coefficient(place, "mulval"), [p.mulval == 0]
    yield _coefficient(place, "A"), [p.a == 0]


def _coefficient(place: _Place, name: str) -> str:
    return f"{name} {'is given as' if name in place.given else 'rounds to'} 0"


def _input(place: _Place, index: int) -> str:
    return f"input {index} ({place.graph.tensors[place.node.inputs[index]].name})"


_LOST: Mapping[type, Callable[[_Place, Any], _Found]] = {
    Requantization: _requantization,
    Add: _add,
    AddXnnpack: _add_xnnpack,
    RescaleXnnpack: _rescale_xnnpack,
    MeanXnnpack: _mean_xnnpack,
    Softmax: _softmax,
    NeuralArt: _neural_art,
    NeuralArtAdd: _neural_art_add,
    NeuralArtMean: _neural_art_mean,
}
