"""Counts of overflows: equal to Python integers, product by product, in both executors."""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from graphs import Draft
from hostile_layers import LAYERS, hostile, saturating, sums, wrapping

from npusim import Accumulator
from npusim.headroom import channel_bounds
from npusim.tally import node_sums

pytestmark = pytest.mark.usefixtures("isa")
STEPS = {"wrap": wrapping, "saturate": saturating, "error": lambda bits: lambda a, b: a + b}
WIDTHS = (8, 12, 16, 17, 24, 31, 32, 33, 34, 40, 64)


class State(NamedTuple):
    """One output on its way: the exact sum, its extremes, the accumulator, how often that left."""

    exact: int
    low: int
    high: int
    kept: int
    left: int


def follow(bits, overflow):
    """A step of the naive twin that follows both sums; the twin begins with step(0, bias)."""
    hold, end = STEPS[overflow](bits), 1 << (bits - 1)

    def step(state, product):
        first = state == 0
        exact, low, high, kept, left = (0, 0, 0, 0, 0) if first else state
        exact, total = exact + product, kept + product
        leaves = -end <= kept < end and not -end <= total < end
        return State(exact, exact if first else min(low, exact),
                     exact if first else max(high, exact), hold(kept, product),
                     left + leaves)  # fmt: skip

    return step


def expected_sums(graph, x, bits, overflow):
    """The fields of `Sums` by loops over Python integers."""
    states = sums(graph, x, lambda bias, _: bias, follow(bits, overflow))
    channels = states.reshape(-1, states.shape[-1]).T
    return [
        [min(s.low for s in c) for c in channels],
        [max(s.high for s in c) for c in channels],
        [sum(s.left for s in c) for c in channels],
        [sum(s.left > 0 for s in c) for c in channels],
        [sum(s.kept != s.exact for s in c) for c in channels],
    ]


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("overflow", STEPS)
def test_counts_match_python_integers(op, overflow):
    moved = np.zeros(3, int)
    for bits in WIDTHS:
        for seed in range(6):
            graph, x = hostile(op, 100 * bits + seed)
            actual = node_sums(graph, graph.nodes[0], x, Accumulator(bits, overflow))
            expected = expected_sums(graph, x, bits, overflow)
            assert [field.tolist() for field in actual] == expected, (bits, seed)
            moved += [sum(field) > 0 for field in expected[2:]]
    assert (moved[:2] > 5).all()
    assert (moved[2] > 5) == (overflow != "error")


@pytest.mark.parametrize("op", LAYERS)
def test_extremes_of_int32_match_python_integers(op):
    """Where nothing can overflow, sums are formed in 32 bits; they start at the bias."""
    for seed in range(6):
        graph, x = hostile(op, seed)
        bias = graph.nodes[0].inputs[2]
        small = replace(graph.tensors[bias], data=graph.tensors[bias].data >> 4)
        tensors = (*graph.tensors[:bias], small, *graph.tensors[bias + 1 :])
        graph = replace(graph, tensors=tensors)
        actual = node_sums(graph, graph.nodes[0], x, Accumulator(32, "wrap"))
        assert [field.tolist() for field in actual] == expected_sums(graph, x, 32, "wrap")
        assert not any(field.any() for field in actual[2:])
        bounds = channel_bounds(graph, graph.nodes[0])
        assert (np.maximum(np.abs(actual.low), np.abs(actual.high)) <= bounds).all()


def test_the_start_is_a_sum():
    """A bias of 200 does not fit 8 bits: it leaves at once, and a product of 0 changes nothing."""
    draft = Draft()
    graph = draft.graph(draft.fully_connected(draft.input((1, 2), zero_point=5), 1))
    bias = graph.nodes[0].inputs[2]
    tensors = list(graph.tensors)
    tensors[bias] = replace(tensors[bias], data=np.array([200], np.int32))
    graph = replace(graph, tensors=tuple(tensors))
    x = np.full((3, 2), 5, np.int8)
    for overflow, changed in (("saturate", 3), ("wrap", 3), ("error", 0)):
        actual = node_sums(graph, graph.nodes[0], x, Accumulator(8, overflow))
        assert [field.tolist() for field in actual] == [[200], [200], [3], [3], [changed]]


def test_sums_of_two_batches_join():
    graph, x = hostile("conv2d", 3)
    node, narrow = graph.nodes[0], Accumulator(12, "saturate")
    parts = [node_sums(graph, node, image[None], narrow) for image in x]
    whole = node_sums(graph, node, x, narrow)
    joined = parts[0].joined(parts[1])
    assert [f.tolist() for f in joined] == [f.tolist() for f in whole]
