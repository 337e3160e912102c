"""ADD and global average on Neural-ART with scales of any size: rules and outputs as the twin's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from graphs import Draft, codes
from naive import neural_art as naive
from numpy.random import Generator

from fuzz.agreement import EXECUTORS, open_session
from fuzz.neural_art_draws import TIES
from npusim.graph import Graph, ModelError
from npusim.neural_art.settle import settle

ROUNDINGS = ("floor", *TIES)
COUNTS = [range(60), pytest.param(range(60, 1500), marks=pytest.mark.full)]


def affine(rng: Generator) -> tuple[float, int]:
    """Scale and zero point; half of the scales are powers of two."""
    exponent = rng.uniform(-12, 4)
    exponent = np.rint(exponent) if rng.random() < 0.5 else exponent
    return float(np.float32(2.0**exponent)), int(rng.integers(-128, 128))


def average(rng: Generator) -> tuple[Graph, dict[str, Any], Callable[..., Any]]:
    """A global average, what it is given, and its twin."""
    h, w, c = rng.integers(1, 9, 3).tolist()
    (s_x, zp_x), (s_y, zp_y) = x_affine, y_affine = affine(rng), affine(rng)
    draft = Draft()
    x = draft.input((1, h, w, c), scale=s_x, zero_point=zp_x)
    y = draft.node("mean", [x], axes=(1, 2), keep_dims=bool(rng.integers(2)),
                   affine={"scale": s_y, "zero_point": zp_y})  # fmt: skip
    ties, rounding = [str(name) for name in rng.choice(TIES, 2)], str(rng.choice(ROUNDINGS))
    given = {"ties": ties, "product_rounding": rounding}

    def twin(values: np.ndarray) -> np.ndarray:
        p = naive.derived_average(x_affine, y_affine, h * w)
        return naive.mean(values, p._replace(ties=tuple(ties), product_rounding=rounding))

    return draft.graph(y, profile="neural-art"), given, twin


def addition(rng: Generator) -> tuple[Graph, dict[str, Any], Callable[..., Any]]:
    """An add, of one operand broadcast now and then, what it is given, and its twin."""
    h, w, c = rng.integers(1, 5, 3).tolist()
    affines = [affine(rng) for _ in range(3)]
    shapes = [(1, h, w, c), (1, 1, 1, c) if rng.random() < 0.3 else (1, h, w, c)]
    draft = Draft()
    operands = [
        draft.input(shape, scale=scale, zero_point=zero)
        for shape, (scale, zero) in zip(shapes, affines, strict=False)
    ]
    y = draft.node("add", operands, activation="none",
                   affine={"scale": affines[2][0], "zero_point": affines[2][1]})  # fmt: skip
    ties, rounding = str(rng.choice(TIES)), str(rng.choice(ROUNDINGS))
    given = {"ties": ties, "operand_rounding": rounding}

    def twin(*values: np.ndarray) -> np.ndarray:
        p = naive.derived_sum(*affines)
        return naive.add(*values, p._replace(ties=ties, operand_rounding=rounding))

    return draft.graph(y, profile="neural-art"), given, twin


@pytest.mark.parametrize("make", [average, addition])
@pytest.mark.parametrize("seeds", COUNTS, ids=["few", "many"])
def test_units_match_naive(make: Callable[[Generator], Any], seeds: range) -> None:
    refused = 0
    for seed in seeds:
        graph, given, twin = make(np.random.default_rng(seed))
        x = codes(graph, 2, seed)
        try:
            expected = twin(*x.values())
        except ValueError:
            refused += 1
            with pytest.raises(ModelError, match=r"_0/.*: scales must give a coefficient below"):
                settle(graph, {graph.nodes[0].name: given})
            continue
        graph = settle(graph, {graph.nodes[0].name: given})
        for executor in EXECUTORS:
            actual = open_session(graph, executor).run(x)
            assert np.array_equal(np.ravel(actual), np.ravel(expected)), (seed, executor)
    assert refused * 20 < len(seeds)
