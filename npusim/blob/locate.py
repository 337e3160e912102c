"""Find a model's weights in a compiled blob: its own values, under every known layout.

    npusim.blob.locate_weights(graph, Path("network_atonbuf.xSPI2.raw").read_bytes())

A tensor is found where its bytes stand at one place only. Where it cannot be said, the reason is.
"""

import hashlib
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..constants import find_constant
from ..graph import Graph, Node
from ..headroom import WEIGHTED
from .layouts import Layout, known_layouts

FOUND, AMBIGUOUS, ABSENT, UNDECIDABLE = "found", "ambiguous", "absent", "undecidable"
ENOUGH = 8
"""Weights that differ from 0: with fewer, other bytes would look the same."""
MOST_PLACES = 16
"""Places of one tensor that are told apart; more mean that its bytes say nothing."""
SAMPLED_CHANNELS = 64


class Place(NamedTuple):
    """Bytes that are a tensor's weights: a layout, where it begins, and how long it is."""

    layout: Layout
    offset: int
    size: int


class Located(NamedTuple):
    """What was found of one tensor of weights.

    tensor, node   their names
    shape          of the weights
    verdict        FOUND, AMBIGUOUS, ABSENT or UNDECIDABLE
    places         all places, one if found
    reason         why there is not one place, else ""
    """

    tensor: str
    node: str
    shape: tuple[int, ...]
    verdict: str
    places: tuple[Place, ...]
    reason: str


def locate_weights(
    graph: Graph, blob: bytes, names: Iterable[str] | None = None
) -> Iterator[Located]:
    """Look for the weights of weighted nodes, one tensor at a time, in the graph's order.

    names    of tensors or nodes; all if None
    raises   KeyError for a name that has no weights
    """
    wanted = None if names is None else {find_constant(graph, name) for name in names}
    tensors = {node.inputs[1]: node for node in graph.nodes if node.op in WEIGHTED}
    contents = _contents(graph, tensors)
    for index, node in tensors.items():
        if wanted is None or index in wanted:
            yield _locate(graph, index, node, blob, contents)


def _locate(
    graph: Graph, index: int, node: Node, blob: bytes, contents: dict[bytes, list[str]]
) -> Located:
    tensor = graph.tensors[index]
    weights = np.asarray(tensor.data)
    places: tuple[Place, ...] = ()
    nonzero = int(np.count_nonzero(weights))
    if nonzero < ENOUGH:
        verdict, reason = UNDECIDABLE, f"only {nonzero} weights differ from 0, {ENOUGH} must"
    else:
        places = tuple(_places(weights, blob, _multiplier(graph, node)))
        twins = [name for name in contents[weights.tobytes()] if name != tensor.name]
        verdict, reason = _judge(places, twins)
        if verdict == ABSENT:
            reason = f"in no known layout; {_by_channel(weights, blob)}"
    return Located(tensor.name, node.name, weights.shape, verdict, places, reason)


def _judge(places: tuple[Place, ...], twins: list[str]) -> tuple[str, str]:
    """(verdict, reason)"""
    if not places:
        return ABSENT, ""
    if twins:
        return AMBIGUOUS, f"{', '.join(twins)} has the same weights"
    if len(places) >= MOST_PLACES:
        return AMBIGUOUS, f"its bytes stand at {MOST_PLACES} places or more"
    if len(places) > 1:
        return AMBIGUOUS, f"its bytes stand at {len(places)} places"
    return FOUND, ""


def _places(weights: NDArray[np.int8], blob: bytes, multiplier: int) -> Iterator[Place]:
    """Places that put at least one weight elsewhere than all places before."""
    seen = set()
    for layout in known_layouts(weights.shape, multiplier):
        packed = layout.pack(weights).tobytes()
        offset = blob.find(packed)
        while offset >= 0:
            key = hashlib.sha256((layout.addresses() + offset).tobytes()).digest()
            if key not in seen:
                seen.add(key)
                yield Place(layout, offset, len(packed))
                if len(seen) == MOST_PLACES:
                    return
            offset = blob.find(packed, offset + 1)


def _by_channel(weights: NDArray[np.int8], blob: bytes) -> str:
    """What can be said of weights in no known layout: are output channels there by themselves?"""
    rows = weights.reshape(weights.shape[0], -1)
    if weights.ndim == 4 and weights.shape[0] == 1:
        rows = np.ascontiguousarray(weights.reshape(-1, weights.shape[3]).T)
    chosen = np.linspace(0, len(rows) - 1, min(len(rows), SAMPLED_CHANNELS)).astype(int)
    telling = [rows[i].tobytes() for i in chosen if np.count_nonzero(rows[i]) >= ENOUGH]
    there = sum(row in blob for row in telling)
    if not telling:
        return "its output channels are too short to be looked for by themselves"
    if not there:
        return f"none of {len(telling)} output channels is there by itself"
    return f"{there} of {len(telling)} output channels are there by themselves"


def _contents(graph: Graph, tensors: Iterable[int]) -> dict[bytes, list[str]]:
    """Names of the tensors of each content."""
    found: dict[bytes, list[str]] = {}
    for index in tensors:
        data = np.asarray(graph.tensors[index].data).tobytes()
        found.setdefault(data, []).append(graph.tensors[index].name)
    return found


def _multiplier(graph: Graph, node: Node) -> int:
    """Output channels of one input channel of a depthwise node, 0 for other nodes."""
    if node.op != "depthwise_conv2d":
        return 0
    channels = graph.tensors[node.inputs[0]].shape[3]
    return graph.tensors[node.inputs[1]].shape[3] // channels
