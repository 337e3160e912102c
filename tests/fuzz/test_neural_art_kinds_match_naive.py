"""Every kind of layer that Neural-ART makes otherwise, under every combination of tie rules.

Kernels in pieces, slabs, 16-bit inputs, groups, single channels, weights with one scale in two
stages; parameters by the rules or given. Outputs and parameters as the naive twin has them.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest
from naive import neural_art as naive

from fuzz import neural_art_kinds as kinds
from fuzz.agreement import EXECUTORS, open_session
from fuzz.neural_art_draws import TIES, tail
from fuzz.neural_art_kinds import KINDS, Kind
from npusim.graph import Graph, ModelError
from npusim.neural_art.settle import settle
from npusim.requantization import clamp_of

RULES = list(product(TIES, repeat=3))
LATIN = [(TIES[a], TIES[b], TIES[(a + b) % 3]) for a in range(3) for b in range(3)]
"""Nine combinations in which any two stages have every pair of rules."""
COUNTS = [pytest.param(LATIN, 1), pytest.param(RULES, 8, marks=pytest.mark.full)]
ZERO_POINTS = (-128, -128, -127, 0, 127)
NAMED = [pytest.param(kind, id=kind.name) for kind in KINDS]


@pytest.mark.parametrize("kind", NAMED)
@pytest.mark.parametrize(("rules", "seeds"), COUNTS, ids=["few", "many"])
def test_every_kind_matches_naive(kind: Kind, rules: list[tuple[str, ...]], seeds: int) -> None:
    for seed in range(seeds):
        for number, ties in enumerate(rules):
            rng = np.random.default_rng([seed, number, KINDS.index(kind)])
            graph = kinds.layer(kind, rng, int(rng.choice(ZERO_POINTS)))
            given = drawn(kind, rng) | {"ties": list(ties)}
            check(kind, graph, given, rng)


def drawn(kind: Kind, rng: np.random.Generator) -> dict[str, Any]:
    """s0, or what passes between pieces, or two stages; or nothing.

    Half of the layers of three stages have a second stage that meets ties often, and a third one in
    which they are seen.
    """
    given: dict[str, Any] = {}
    if rng.random() < 0.6:
        given["s0"] = int(rng.integers(0, 7))
    if rng.random() < 0.3:
        given["partial_bits"] = 24
    if kind.one_scale and rng.random() < 0.7:
        given["stages"] = 2
    elif rng.random() < 0.5:
        given |= {"s1": int(rng.integers(1, 9)), "A_c": int(rng.choice([-3, -1, 1, 5]))}
        given |= {"s2": int(rng.integers(14, 17)), "A2": 1 << 14}
    return given


def check(kind: Kind, graph: Graph, given: dict[str, Any], rng: np.random.Generator) -> None:
    """Parameters and outputs are the naive twin's; what it has no parameters for is refused."""
    node = graph.nodes[0]
    try:
        expected = kinds.rule_tail(kind, graph, given, clamp_of(graph, node))
    except ValueError:
        with pytest.raises(ModelError, match=r"layer/.*: scales must give a coefficient below"):
            settle(graph, {"layer": given})
        return
    graph = settle(graph, {"layer": given})
    assert listed(tail(graph, graph.nodes[0])) == listed(expected)
    x = rng.integers(-128, 128, graph.tensors[0].shape).astype(np.int8)
    y = naive_output(kind, graph, x, expected)
    for executor in EXECUTORS:
        actual = open_session(graph, executor).run(x)
        assert np.array_equal(np.ravel(actual), np.ravel(y)), (executor, given)


def listed(found: naive.Tail) -> list[Any]:
    """Every field as plain lists and numbers."""
    return [list(v) if isinstance(v, list | tuple) else v for v in found]


def naive_output(kind: Kind, graph: Graph, x: np.ndarray, p: naive.Tail) -> np.ndarray:
    """The layer in Python integers."""
    zero = int(graph.tensors[0].quantization.zero_point[0])
    weights = graph.tensors[1].data
    if kind.op == kinds.DENSE:
        return naive.fully_connected(x, weights, zero, p)
    window = (kind.stride, kind.dilation, kind.padding.upper())
    return getattr(naive, kind.op)(x, weights, zero, window, p)
