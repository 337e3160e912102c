"""Hypotheses about Neural-ART: every s0, every rule for ties of every stage."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ..graph import Graph, ModelError, Node
from ..kernels.structs import TIES, NeuralArt, NeuralArtAdd, NeuralArtMean
from ..neural_art.settle import settle
from ..neural_art.stored import PROFILE, RULE, family
from ..parameters import bias, bind, geometry
from ..reference import neural_art
from .hypothesis import Codes, Hypothesis, States

LARGEST_S0 = 6
NEAREST = tuple(TIES)[:3]
"""Rules for ties: away from zero, to even, up."""


def settled(graph: Graph, node: Node, **given: Any) -> tuple[Graph, Node] | None:
    """The node under neural-art with some parameters given; None where it cannot run there."""
    other = replace(graph, profile=PROFILE, nodes=(replace(node, rule=None),))
    if family(other, other.nodes[0]) is None:
        return None
    try:
        other = settle(other, {node.name: given} if given else None)
    except (ModelError, ValueError):
        return None
    return other, other.nodes[0]


def piece_columns(graph: Graph, node: Node, x: np.ndarray) -> list[np.ndarray]:
    """The sums of a large kernel's pieces, each shaped as the accumulators; else none."""
    found = settled(graph, node)
    if found is None:
        return []
    r = bind(*found)[1]
    assert isinstance(r, NeuralArt)
    if _pieces(r) == 1:
        return []
    total = neural_art.RUNS[node.op](x, graph.tensors[node.inputs[1]].data, geometry(graph, node))
    return list(neural_art.piece_sums(total, r))


def three_stages(graph: Graph, node: Node) -> Iterator[Hypothesis]:
    """Of a weighted node: s0 of 0..6 and the rule's own, three or two stages, every tie rule."""
    for given, r in _tails(graph, node):
        start, pieces = bias(graph, node).astype(np.int64), _pieces(r)
        own = f"s0 {r.s0}"
        own += ", two stages" if given["stages"] == 2 else ""
        own += ", 24-bit partial sums" if pieces > 1 and given["partial_bits"] == 24 else ""
        memo = _Memo()
        for ties in product(NEAREST, repeat=3):
            numbers = [TIES[word] for word in ties]
            rounded = r._replace(round0=numbers[0], round1=numbers[1], round2=numbers[2])
            codes = _by_stages(rounded, start, pieces, memo)
            yield Hypothesis((_named(ties),), codes, own, common=False, monotone=pieces == 1)


def _tails(graph: Graph, node: Node) -> Iterator[tuple[dict[str, int], NeuralArt]]:
    """Parameters that are tried, and the tails they give; each different tail once."""
    seen = set()
    shifts = [{"s0": s0} for s0 in range(LARGEST_S0 + 1)]
    default = settled(graph, node)
    if default is not None:
        tail = bind(*default)[1]
        assert isinstance(tail, NeuralArt)
        shifts += [{"s0": tail.s0}] if tail.s0 > LARGEST_S0 else []
    for s0, stages, bits in product(shifts, (3, 2), (16, 24)):
        given = {**s0, "stages": stages, "partial_bits": bits}
        found = settled(graph, node, **given)
        if found is None:
            continue
        r = bind(*found)[1]
        assert isinstance(r, NeuralArt)
        key = r.s0, stages, bits if _pieces(r) > 1 else 16
        if key not in seen:
            seen.add(key)
            yield given, r


def _pieces(r: NeuralArt) -> int:
    return int(r.runs[:, 2].sum())


@dataclass(eq=False)
class _Memo:
    """The last r0 and r1: hypotheses that differ in a later stage come one after the other."""

    acc: np.ndarray | None = None
    keys: tuple[int, ...] = ()
    r0: np.ndarray | None = None
    r1: np.ndarray | None = None


def _by_stages(r: NeuralArt, start: np.ndarray, pieces: int, memo: _Memo) -> Codes:
    def codes(states: States) -> np.ndarray:
        acc, channel = states[:2]
        arrays = r._replace(a_c=r.a_c[channel], bc_c=r.bc_c[channel])
        known = memo.keys if memo.acc is acc else ()
        if memo.r0 is None or known[:1] != (r.round0,):
            sums = states[3 : 3 + pieces] if pieces > 1 else (acc - start[channel],)
            memo.r0, memo.r1 = neural_art.reduced(sums, r), None
        if memo.r1 is None or known != (r.round0, r.round1):
            memo.r1 = neural_art.second_stage(memo.r0, arrays)
        memo.acc, memo.keys = acc, (r.round0, r.round1)
        return neural_art.third_stage(memo.r1, arrays).astype(np.int64)

    return codes


def added(graph: Graph, node: Node) -> Iterator[Hypothesis]:
    """Of ADD; states are both codes."""
    found = settled(graph, node)
    if found is None:
        return
    (p,) = bind(*found)
    assert isinstance(p, NeuralArtAdd)
    for ties, inner in product(NEAREST, TIES):
        chosen = p._replace(round0=TIES[inner], round1=TIES[ties])
        yield Hypothesis((_named((ties,), "operands", inner),), _by_sum(chosen), common=False)


def _by_sum(p: NeuralArtAdd) -> Codes:
    return lambda states: neural_art.add(states[0], states[1], p).astype(np.int64)


def averaged(graph: Graph, node: Node) -> Iterator[Hypothesis]:
    """Of the global average; states are sums of codes."""
    found = settled(graph, node)
    if found is None:
        return
    (p,) = bind(*found)
    assert isinstance(p, NeuralArtMean)
    for ties, inner in product(product(NEAREST, repeat=2), TIES):
        chosen = p._replace(round0=TIES[ties[0]], round1=TIES[inner], round2=TIES[ties[1]])
        yield Hypothesis((_named(ties, "product", inner),), _by_average(chosen), common=False)


def _by_average(p: NeuralArtMean) -> Codes:
    return lambda states: neural_art.mean(states[0][:, np.newaxis], (1,), p).astype(np.int64)


def _named(ties: tuple[str, ...], inner: str = "", how: str = "floor") -> str:
    """ "neural_art, ties away", or each stage's where they differ; an inner shift if it rounds."""
    words = ties[0] if len(set(ties)) == 1 else "/".join(ties)
    more = f", {inner} rounded {how}" if how != "floor" else ""
    return f"{RULE}, ties {words}{more}"
