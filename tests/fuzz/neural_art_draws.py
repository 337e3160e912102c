"""Seeded draws of Neural-ART's parameters, as a user gives them, and their naive twins."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from naive import neural_art as naive
from numpy.random import Generator

from npusim.graph import Graph, Node
from npusim.neural_art.stored import read, rules
from npusim.requantization import clamp_of

TIES = ("away", "even", "up")
ROUNDINGS = ("floor", *TIES)
FREE = {"s0", "rows", "columns", "slabs", "partial_bits", "ties", "operand_rounding",
        "product_rounding"}  # fmt: skip


def parameters(graph: Graph, rng: Generator) -> dict[str, dict[str, Any]]:
    """Parameters of every node on Neural-ART: none, all, or those that any others go with."""
    drawn = {}
    for node in graph.nodes:
        known = rules(graph, node)
        if known:
            every = _weighted(graph, node, rng) if "s0" in known else _unit(known, rng)
            chosen = [set(), set(every) & FREE, set(every)][int(rng.integers(3))]
            drawn[node.name] = {k: v for k, v in every.items() if k in chosen}
    return drawn


def tail(graph: Graph, node: Node) -> naive.Tail:
    """The naive twin of a weighted node's parameters."""
    v = {name: values.tolist() for name, values in read(node).values.items()}
    limits = clamp_of(graph, node)
    return naive.Tail(v["s0"][0], v["s1"][0], v["s2"][0], v["A_c"], v["A2"][0], v["BC_c"],
                      v["rows"], v["columns"], v["slabs"], v["partial_bits"][0],
                      tuple(TIES[k] for k in v["ties"]), limits)  # fmt: skip


def unit_sum(graph: Graph, node: Node) -> naive.Sum:
    """The naive twin of an add's parameters."""
    v = {name: int(values[0]) for name, values in read(node).values.items()}
    limits = clamp_of(graph, node)
    shifts = (v["a_shift"], v["b_shift"], v["c_shift"], v["sum_shift"])
    roundings = (_rounding(v["operand_rounding"]), TIES[v["ties"]])
    return naive.Sum(v["A"], v["B"], v["C"], *shifts, *roundings, limits)


def average(node: Node) -> naive.Average:
    """The naive twin of a global average's parameters."""
    v = {name: int(values[0]) for name, values in read(node).values.items()}
    pool, output = (TIES[k] for k in read(node).values["ties"].tolist())
    return naive.Average(v["mulval"], v["k"], v["A"], v["q"], v["C"], (pool, output),
                         _rounding(v["product_rounding"]))  # fmt: skip


def _rounding(number: int) -> str:
    return (*TIES, "floor")[number]


def _weighted(graph: Graph, node: Node, rng: Generator) -> dict[str, Any]:
    weights = graph.tensors[node.inputs[1]].shape
    kh, kw, i = weights[1:] if len(weights) == 4 else (1, 1, weights[1])
    depthwise = node.op == "depthwise_conv2d"
    o = weights[3] if depthwise else weights[0]
    return {
        "s0": int(rng.integers(0, 9)),
        "s1": int(rng.integers(0, 19)),
        "s2": int(rng.integers(16, 24)),
        "A_c": _extreme(rng, 1 << 15, o),
        "A2": int(_extreme(rng, 1 << 15, 1)[0]),
        "BC_c": _extreme(rng, 1 << 31, o),
        "rows": _cut(rng, kh),
        "columns": _cut(rng, kw),
        "slabs": _cut(rng, 1 if depthwise else i),
        "partial_bits": int(rng.choice([16, 24])),
        "ties": [str(name) for name in rng.choice(TIES, 3)],
    }


def _unit(known: Mapping[str, Any], rng: Generator) -> dict[str, Any]:
    """Parameters of an add or a mean."""
    drawn: dict[str, Any] = {"ties": str(rng.choice(TIES))}
    for name in sorted(known.keys() & {"A", "B"}):
        drawn[name] = int(_extreme(rng, 1 << 15, 1)[0])
    for name in sorted(known.keys() & {"a_shift", "b_shift"}):
        drawn[name] = int(rng.integers(0, 6))
    for name in known.keys() & {"operand_rounding", "product_rounding"}:
        drawn[name] = str(rng.choice(ROUNDINGS))
    if "k" in known:
        drawn |= {"mulval": int(rng.integers(1, 1 << 15)), "k": int(rng.integers(8, 24))}
        drawn |= {"q": int(rng.integers(0, 20)), "C": int(_extreme(rng, 1 << 22, 1)[0])}
    if "sum_shift" in known:
        drawn |= {"sum_shift": int(rng.integers(6, 20)), "c_shift": int(rng.integers(0, 8)),
                  "C": int(_extreme(rng, 1 << 15, 1)[0])}  # fmt: skip
    return drawn


def _extreme(rng: Generator, end: int, count: int) -> list[int]:
    """Numbers of -end..end-1: of any magnitude, and now and then at an end."""
    sizes = np.exp2(rng.uniform(0, np.log2(end), count)) * rng.choice([-1, 1], count)
    numbers = np.clip(np.rint(sizes), -end, end - 1).astype(np.int64)
    at_end = rng.random(count) < 0.1
    return np.where(at_end, rng.choice([-end, end - 1], count), numbers).tolist()


def _cut(rng: Generator, length: int) -> list[int]:
    """The length in one part, or in random ones."""
    if rng.random() < 0.5:
        return [length]
    ends = np.flatnonzero(rng.random(length - 1) < 0.4) + 1
    return np.diff([0, *ends, length]).tolist()
