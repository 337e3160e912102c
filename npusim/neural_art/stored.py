"""Parameters of a node as its `given` holds them, and as the kernels take them.

A given parameter is stored under its name, a derived one as "derived_" and its name; all are int32
vectors, single numbers of length 1.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..graph import Graph, Node
from ..kernels.structs import TIES, NeuralArt, NeuralArtAdd, NeuralArtMean
from ..rules import own_rule, profile_of, variant
from .derive import MEAN_FRACTION
from .pieces import runs

PROFILE, RULE = "neural-art", "neural_art"
DERIVED = "derived_"
VISIBLE_BITS = 24
"""Width of the sums a board shows."""

Values = Mapping[str, np.ndarray]


class Rule(NamedTuple):
    """A legal parameter: smallest and largest value, and how many there are.

    size    "one", "outputs" (a number for each channel), "ties" (one for each stage that rounds to
            nearest), or "rows", "columns", "channels": parts that add up to the kernel's
    names   what the numbers are called, number low first; () where they are numbers
    """

    low: int
    high: int
    size: str = "one"
    names: tuple[str, ...] = ()


class Stored(NamedTuple):
    """A node's parameters by name: those given, and those that followed from them."""

    given: dict[str, np.ndarray]
    derived: dict[str, np.ndarray]

    @property
    def values(self) -> dict[str, np.ndarray]:
        """All of them."""
        return {**self.derived, **self.given}


class Label(NamedTuple):
    """A parameter for people: its values, numbers or words, and "given" or "derived".

    by_rule   what the rules make of it instead, where it was given another value that follows from
              what else is known; else empty
    """

    name: str
    values: tuple[int | str, ...]
    origin: str
    by_rule: tuple[int | str, ...] = ()


_SHIFT = Rule(0, 31)
_INT16 = Rule(-(1 << 15), (1 << 15) - 1)
_INT32 = Rule(-(1 << 31), (1 << 31) - 1)
_TIES = Rule(0, 2, "ties", tuple(TIES)[:3])
_ROUNDING = Rule(0, 3, names=tuple(TIES))
_PART = Rule(1, _INT32.high)

WEIGHTED: Mapping[str, Rule] = {
    "stages": Rule(2, 3),
    "s0": _SHIFT,
    "f": Rule(-256, 256),
    "s1": _SHIFT,
    "A_c": _INT16._replace(size="outputs"),
    "s2": _SHIFT,
    "A2": _INT16,
    "BC_c": _INT32._replace(size="outputs"),
    "rows": _PART._replace(size="rows"),
    "columns": _PART._replace(size="columns"),
    "slabs": _PART._replace(size="channels"),
    "partial_bits": Rule(16, 24),
    "ties": _TIES,
}
ADD: Mapping[str, Rule] = {
    "A": _INT16,
    "a_shift": _SHIFT,
    "B": _INT16,
    "b_shift": _SHIFT,
    "C": _INT16,
    "c_shift": _SHIFT,
    "sum_shift": _SHIFT,
    "ties": _TIES,
    "operand_rounding": _ROUNDING,
}
MEAN: Mapping[str, Rule] = {
    "cells": Rule(1, 1 << 24),
    "mulval": _INT16._replace(low=0),
    "k": Rule(MEAN_FRACTION, 31 + MEAN_FRACTION),
    "A": _INT16,
    "q": _SHIFT,
    "C": _INT32,
    "ties": _TIES,
    "product_rounding": _ROUNDING,
}
_EVERY = {**WEIGHTED, **ADD, **MEAN}
NAMES = frozenset(_EVERY)
STAGES = {"weighted": 3, "add": 1, "mean": 2}
"""Roundings to nearest: of the three stages; of the sum; of the pool and of the output."""


def family(graph: Graph, node: Node) -> str | None:
    """How a node runs on Neural-ART: "weighted", "add" or "mean"; None for the host's operators."""
    own = profile_of(graph, node).operators.get(variant(graph, node))
    rule = own_rule(node) or (own and own.rule)
    if rule != RULE:
        return None
    return node.op if node.op in ("add", "mean") else "weighted"


def on_hardware(graph: Graph, node: Node) -> bool:
    """Whether Neural-ART's own arithmetic computes the node, and not the host's."""
    return family(graph, node) is not None


def rules(graph: Graph, node: Node) -> Mapping[str, Rule]:
    """The parameters a node has, in the order of their derivation; none for the host's."""
    return {"weighted": WEIGHTED, "add": ADD, "mean": MEAN}.get(family(graph, node) or "", {})


def read(node: Node) -> Stored:
    """What a node's `given` holds of Neural-ART's parameters."""
    given = {k: v for k, v in node.given.items() if k in NAMES}
    derived = {
        k.removeprefix(DERIVED): v
        for k, v in node.given.items()
        if k.startswith(DERIVED) and k.removeprefix(DERIVED) in NAMES
    }
    return Stored(given, derived)


def without(node: Node) -> dict[str, np.ndarray]:
    """What a node's `given` holds besides."""
    stored = {*read(node).given, *(DERIVED + name for name in read(node).derived)}
    return {k: v for k, v in node.given.items() if k not in stored}


def underived(node: Node) -> Node:
    """The node without what follows from its scales; s0, which follows from weights, stays."""
    dropped = {DERIVED + name for name in read(node).derived if name != "s0"}
    return replace(node, given={k: v for k, v in node.given.items() if k not in dropped})


def labelled(graph: Graph, node: Node) -> list[Label]:
    """A settled node's parameters in the order of their derivation; none for the host's nodes."""
    stored = read(node)
    found = []
    for name in rules(graph, node):
        words = in_words(name, stored.values[name])
        found.append(Label(name, words, "given" if name in stored.given else "derived"))
    return found


def in_words(name: str, values: np.ndarray) -> tuple[int | str, ...]:
    """A stored parameter as a user gives it: rules of rounding by name, all else in numbers."""
    words = dict(enumerate(_EVERY[name].names))
    return tuple(words.get(n, n) for n in values.reshape(-1).tolist())


def weighted(node: Node, clamp: tuple[int, int]) -> NeuralArt:
    """The tail of a weighted node whose parameters are settled."""
    v, n = read(node).values, _numbers(node)
    pieces = runs(*(v[name].tolist() for name in ("rows", "columns", "slabs")))
    shifts, (first, second, third) = (n["s0"], n["s1"], n["s2"]), v["ties"].tolist()
    return NeuralArt(v["A_c"], v["BC_c"], pieces, *shifts, n["A2"], n["partial_bits"],
                     first, second, third, *clamp)  # fmt: skip


def add(node: Node, clamp: tuple[int, int]) -> NeuralArtAdd:
    """The coefficients of an add whose parameters are settled."""
    v = _numbers(node)
    shifts = (v["a_shift"], v["b_shift"], v["c_shift"], v["sum_shift"])
    return NeuralArtAdd(v["A"], v["B"], v["C"], *shifts, v["operand_rounding"], v["ties"], *clamp)


def mean(node: Node, channels: int) -> NeuralArtMean:
    """The coefficients of a global average whose parameters are settled."""
    v = _numbers(node)
    pool, output = read(node).values["ties"].tolist()
    return NeuralArtMean(v["cells"], channels, v["mulval"], v["k"] - MEAN_FRACTION, v["A"], v["C"],
                         v["q"], pool, v["product_rounding"], output)  # fmt: skip


def _numbers(node: Node) -> dict[str, int]:
    """The first number of every parameter."""
    return {name: int(values[0]) for name, values in read(node).values.items()}
