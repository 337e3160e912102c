"""Clamps of Neural-ART's stages: every count and every bound as the naive twin has them."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from graphs import Draft
from naive import neural_art as naive

from fuzz import neural_art_kinds as kinds
from fuzz.neural_art_draws import average, parameters, tail
from fuzz.neural_art_kinds import DENSE, KINDS, Kind
from npusim.clamps import node_clamps, reach
from npusim.graph import Graph, ModelError
from npusim.neural_art.settle import settle

ZERO_POINTS = (-128, -1, 0, 127)
DEEP = [kind for kind in KINDS if kind.depth > 512]
COUNTS = [pytest.param([*KINDS[::5], *DEEP], 4), pytest.param(KINDS, 16, marks=pytest.mark.full)]


class Watch:
    """Registers that note, by stage, the values they were given."""

    def __init__(self, saturating: bool) -> None:
        self.saturating = saturating
        self.met: dict[str, list[int]] = {}
        self.last = ""

    def hold(self, names: dict[int, str]) -> naive.Hold:
        """Registers of stages that are called so by their width."""

        def held(value: int, bits: int) -> int:
            self.met.setdefault(names[bits], []).append(value)
            return naive.saturate(value, bits) if self.saturating else value

        return held


FIRST, SECOND = {16: "r0", 24: "t"}, {16: "r1"}
WIDTH = {"t": 24, "r0": 16, "r1": 16, "p": 16}


def followed(products: naive.Products, channel: int, p: naive.Tail, saturating: bool = True) -> Any:
    """The code of one output, and what every stage was given."""
    watch = Watch(saturating)
    r0 = naive.reduced(products, p, watch.hold(FIRST))
    return naive.finished(r0, channel, p, watch.hold(SECOND)), watch.met


def leaving(met: dict[str, list[int]]) -> set[str]:
    """Stages that clamped."""
    return {name for name, values in met.items()
            if any(naive.saturate(v, WIDTH[name]) != v for v in values)}  # fmt: skip


def naive_counts(kind: Kind, graph: Graph, x: np.ndarray) -> Counter[tuple[str, int]]:
    """(stage, "outputs" or "changed", channel) -> count."""
    p, counts = tail(graph, graph.nodes[0]), Counter()

    def each(products: naive.Products, channel: int, _: naive.Tail) -> int:
        code, met = followed(products, channel, p)
        free, _ = followed(products, channel, p, saturating=False)
        found = leaving(met)
        counts.update((name, channel) for name in (*found, *["outputs"] * bool(found)))
        counts["changed", channel] += code != free
        return code

    zero = int(graph.tensors[0].quantization.zero_point[0])
    window = [] if kind.op == DENSE else [(kind.stride, kind.dilation, kind.padding.upper())]
    getattr(naive, kind.op)(x, graph.tensors[1].data, zero, *window, p, each)
    return counts


def extremes(kind: Kind, graph: Graph, channel: int) -> list[naive.Products]:
    """The products of the least and of the greatest sum."""
    zero, weights = int(graph.tensors[0].quantization.zero_point[0]), graph.tensors[1].data
    rows = weights.reshape(*kind.kernel, 1, -1)[..., channel] if kind.op == kinds.DEPTHWISE else (
        weights[channel].reshape(*kind.kernel, -1))  # fmt: skip
    ends = {place: sorted((code - zero) * int(w) for code in (-128, 127))
            for place, w in np.ndenumerate(rows)}  # fmt: skip
    return [{place: pair[end] for place, pair in ends.items()} for end in (0, 1)]


def drawn(kind: Kind, rng: np.random.Generator) -> Graph | None:
    """A layer with parameters, some of them its own; None where Neural-ART cannot hold them.

    In half of them a channel's weights stand all at one end, so that sums go far.
    """
    graph = kinds.layer(kind, rng, int(rng.choice(ZERO_POINTS)))
    if rng.random() < 0.5:
        weights = graph.tensors[1]
        ends = rng.choice(np.array([-127, 127], np.int8), kind.outputs)
        shape = (1, 1, 1, -1) if kind.op == kinds.DEPTHWISE else (-1,) + (1,) * (
            len(weights.shape) - 1)  # fmt: skip
        data = np.broadcast_to(ends.reshape(shape), weights.shape)
        tensors = (graph.tensors[0], replace(weights, data=data), *graph.tensors[2:])
        graph = replace(graph, tensors=tensors)
    try:
        return settle(graph, parameters(graph, rng))
    except ModelError as error:
        assert "scales must give a coefficient below 2^15" in str(error)  # noqa: PT017
        return None


@pytest.mark.parametrize(("some", "seeds"), COUNTS, ids=["few", "many"])
def test_counts_of_weighted_layers_match_naive(some: list[Kind], seeds: int) -> None:
    seen: Counter[str] = Counter()
    refused = 0
    for kind in some:
        for seed in range(seeds):
            rng = np.random.default_rng([0x636C, seed, KINDS.index(kind)])
            graph = drawn(kind, rng)
            if graph is None:
                refused += 1
                continue
            shape = (2 * graph.tensors[0].shape[0], *graph.tensors[0].shape[1:])
            x = rng.choice(np.array([-128, -127, 0, 126, 127], np.int8), shape)
            x[: len(x) // 2] = rng.choice([-128, 127])
            expected = naive_counts(kind, graph, x)
            found = node_clamps(graph, graph.nodes[0], x)
            actual = {**found.stages, "outputs": found.outputs, "changed": found.changed}
            for name, counts in actual.items():
                wanted = [expected[name, channel] for channel in range(kind.outputs)]
                assert counts.tolist() == wanted, (kind.name, seed, name)
                seen[name] += bool(sum(wanted))
            assert {name for name, _ in +expected} <= actual.keys()
    assert min(seen[name] for name in ("r0", "r1", "changed")) > len(some) * seeds // 10, seen
    assert seen["t"] > 0
    assert refused * 8 < len(some) * seeds


@pytest.mark.parametrize(("some", "seeds"), COUNTS, ids=["few", "many"])
def test_bounds_of_weighted_layers_match_naive(some: list[Kind], seeds: int) -> None:
    """Those of extreme sums; and where there is one piece, a code can change if they change it."""
    seen: set[bool] = set()
    for kind in some:
        for seed in range(seeds):
            graph = drawn(kind, np.random.default_rng([0x7263, seed, KINDS.index(kind)]))
            if graph is None:
                continue
            p, found = tail(graph, graph.nodes[0]), reach(graph, graph.nodes[0])
            whole = len(p.rows) * len(p.columns) * len(p.slabs) == 1
            for channel in range(kind.outputs):
                walks = [followed(ends, channel, p) for ends in extremes(kind, graph, channel)]
                for stage in found.stages:
                    met = [v for _, values in walks for v in values[stage.name]]
                    bounds = int(stage.low[channel]), int(stage.high[channel])
                    assert bounds == (min(met), max(met)), (kind.name, seed, stage.name)
                free = [followed(e, channel, p, False)[0] for e in extremes(kind, graph, channel)]
                changes = [code for code, _ in walks] != free
                cut = any(leaving(values) & {"t", "r0"} for _, values in walks)
                expected = changes or (cut and not whole)
                assert (channel in found.unproven) == expected, (kind.name, seed)
                seen.add(expected)
    assert seen == {True, False}


def test_a_sum_that_comes_back_after_a_clamp_is_unproven() -> None:
    """Both extremes give the first or last code, clamped or not; a sum of both ends does not."""
    draft = Draft()
    weights = draft.constant("weights", np.full((1, 600), 127, np.int8), 1.0)
    y = draft.node("fully_connected", [draft.input((1, 600), zero_point=0), weights],
                   affine={"scale": 1.0, "zero_point": 0}, activation="none",
                   keep_dims=False)  # fmt: skip
    given = {"s0": 5, "s1": 0, "s2": 8, "A_c": 1, "A2": 1, "BC_c": 0}
    pieces = {"one": [600], "two": [300, 300]}
    found = {}
    for name, slabs in pieces.items():
        graph = replace(draft.graph(y), profile="neural-art")
        graph = settle(graph, {graph.nodes[0].name: {**given, "slabs": slabs}})
        x = np.full((3, 600), 127, np.int8)
        x[1], x[2, 300:] = -128, -128
        clamps = [node_clamps(graph, graph.nodes[0], image[None]).changed.tolist() for image in x]
        found[name] = clamps, reach(graph, graph.nodes[0]).unproven
    assert found == {"one": ([[0], [0], [0]], ()), "two": ([[0], [0], [1]], (0,))}


@pytest.mark.parametrize("seed", range(30))
def test_clamps_of_a_global_average_match_naive(seed: int) -> None:
    rng = np.random.default_rng([0x6D, seed])
    draft = Draft(seed)
    x = draft.input((1, 3, 3, 4), zero_point=int(rng.choice(ZERO_POINTS)))
    graph = draft.graph(draft.node("mean", [x], axes=(1, 2), keep_dims=True))
    graph = replace(graph, profile="neural-art")
    graph = settle(graph, {graph.nodes[0].name: {"k": int(rng.integers(14, 19))}})
    node, p = graph.nodes[0], average(graph.nodes[0])
    images = rng.choice(np.array([-128, -120, 120, 127], np.int8), (5, 3, 3, 4))
    images[0], images[1] = -128, 127
    ways = [Watch(saturating=True), Watch(saturating=False)]
    codes, free = (naive.mean(images, p, way.hold({16: "p"})) for way in ways)
    met = np.reshape(ways[0].met["p"], (5, 4))
    found, (stage,) = node_clamps(graph, node, images), reach(graph, node).stages
    assert found.stages["p"].tolist() == (met != np.clip(met, -(2**15), 2**15 - 1)).sum(0).tolist()
    assert found.outputs.tolist() == found.stages["p"].tolist()
    assert found.changed.tolist() == (codes != free).sum(0).tolist()
    assert (stage.low.tolist(), stage.high.tolist()) == (met[0].tolist(), met[1].tolist())
    expected = tuple(np.flatnonzero((codes != free)[:2].any(0)).tolist())
    assert reach(graph, node).unproven == expected
