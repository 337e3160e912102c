"""Where each tensor lies in memory: liveness, aliases and offsets.

Every thread owns one arena; a tensor keeps its place from the node that writes it to the last one
that reads it, and others may use the place before and after.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

import numpy as np

from .graph import Graph

ALIGNMENT = 64


@dataclass(frozen=True)
class Buffer:
    """The place of one tensor (or scratch) in a memory space.

    space    `table.ARENA` or `table.CONSTANTS`
    offset   first byte
    nbytes   length in bytes
    """

    space: int
    offset: int
    nbytes: int


@dataclass(frozen=True)
class Lifetime:
    """Bytes needed from step `first` to step `last`, both included."""

    nbytes: int
    first: int
    last: int


def tensor_bytes(graph: Graph, tensor: int) -> int:
    """Size of a tensor in bytes."""
    t = graph.tensors[tensor]
    return prod(t.shape) * np.dtype(t.dtype).itemsize


def lifetimes(graph: Graph, owner: dict[int, int], keep_all: bool) -> dict[int, Lifetime]:
    """Lifetime of every activation and input that owns memory.

    owner      alias -> tensor whose memory it shares
    keep_all   nothing is overwritten before the end: every tensor can be read afterwards
    """
    end = len(graph.nodes)
    first = dict.fromkeys(graph.inputs, -1)
    last = dict.fromkeys(graph.inputs, 0)
    for step, node in enumerate(graph.nodes):
        for i in (*node.inputs, *node.outputs):
            if i < 0 or graph.tensors[i].kind == "constant":
                continue
            place = owner.get(i, i)
            first.setdefault(place, step)
            last[place] = step
    for i in graph.outputs:
        last[owner.get(i, i)] = end
    if keep_all:
        last = dict.fromkeys(last, end)
    return {i: Lifetime(tensor_bytes(graph, i), first[i], last[i]) for i in first}


def place(requests: Sequence[Lifetime]) -> tuple[list[int], int]:
    """Offsets for each request and the arena's size; the largest requests are placed first.

    Two requests overlap in memory only if their lifetimes do not overlap.
    """
    offsets = [0] * len(requests)
    placed: list[int] = []
    for index in sorted(range(len(requests)), key=lambda i: (-requests[i].nbytes, i)):
        want = requests[index]
        rivals = sorted(
            (offsets[i], offsets[i] + requests[i].nbytes)
            for i in placed
            if requests[i].first <= want.last and want.first <= requests[i].last
        )
        offset = 0
        for start, stop in rivals:
            if offset + want.nbytes <= start:
                break
            offset = max(offset, aligned(stop))
        offsets[index] = offset
        placed.append(index)
    size = max((o + r.nbytes for o, r in zip(offsets, requests, strict=True)), default=0)
    return offsets, aligned(size)


def aligned(offset: int) -> int:
    """The next multiple of ALIGNMENT."""
    return -(-offset // ALIGNMENT) * ALIGNMENT
