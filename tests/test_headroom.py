"""The static bound: no sum passes it, the worst input reaches it, and trainable weights count."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft
from hypothesis import given
from hypothesis import strategies as st
from naive import operators as naive

from npusim.graph import Accumulator
from npusim.headroom import (
    AccumulatorError,
    accumulator,
    accumulator_bound,
    bits_needed,
    order_matters,
    overflow_message,
)

WIDTHS = st.integers(8, 64)
SAME = ((1, 1), (1, 1), "SAME")


def conv2d(draft, x):
    return draft.conv2d(x, 4, (2, 2), groups=2)


def depthwise_conv2d(draft, x):
    return draft.depthwise_conv2d(x, (2, 2), multiplier=2)


def fully_connected(draft, x):
    return draft.fully_connected(x, 5)


LAYERS = [conv2d, depthwise_conv2d, fully_connected]


def layer(build, zero_point=-3, seed=0, change=lambda values: values):
    """The graph of one layer on (1, 2, 2, 4), its weights changed."""
    draft = Draft(seed)
    x = draft.input((1, 2, 2, 4), zero_point=zero_point)
    y = build(draft, x)
    weights = draft.nodes[0].inputs[1]
    draft.tensors[weights] = replace(
        draft.tensors[weights], data=change(draft.tensors[weights].data)
    )
    return draft.graph(y)


def sums(graph, x, step):
    """All partial sums' last values, made in order by the naive twin."""
    node = graph.nodes[0]
    weights, bias = (graph.tensors[i].data for i in node.inputs[1:])
    zero_point = int(graph.tensors[0].quantization.zero_point[0])
    window = () if node.op == "fully_connected" else (SAME,)
    return getattr(naive, f"{node.op}_accumulators")(x, weights, bias, zero_point, *window, step)


@pytest.mark.parametrize("build", LAYERS)
@pytest.mark.parametrize("zero_point", [-128, -3, 127])
def test_no_partial_sum_passes_the_bound(build, zero_point):
    graph = layer(build, zero_point)
    bound = accumulator_bound(graph, graph.nodes[0])
    seen = []

    def step(total, product):
        seen.append(abs(total + product))
        return total + product

    for low, high in ((-128, -127), (127, 128), (-128, 128)):
        sums(graph, np.random.default_rng(1).integers(low, high, (1, 2, 2, 4)), step)
    assert max(seen) <= bound


@pytest.mark.parametrize("build", LAYERS)
@pytest.mark.parametrize(("zero_point", "worst"), [(-128, 127), (127, -128)])
def test_the_worst_input_reaches_the_bound(build, zero_point, worst):
    """Where all products have the sign of the bias, as large as they can be."""
    graph = layer(build, zero_point, change=np.abs)
    node = graph.nodes[0]
    sign = 1 if worst > 0 else -1
    bias = graph.tensors[node.inputs[2]]
    largest = replace(bias, data=sign * np.abs(bias.data))
    tensors = [largest if t is bias else t for t in graph.tensors]
    graph = replace(graph, tensors=tuple(tensors))
    reached = sums(graph, np.full((1, 2, 2, 4), worst), lambda total, product: total + product)
    assert max(abs(total) for total in reached.ravel()) == accumulator_bound(graph, node)


@pytest.mark.parametrize("build", LAYERS)
def test_trainable_weights_count_with_their_whole_range(build):
    bounds = set()
    for seed in range(3):
        graph = layer(build, seed=seed)
        node = graph.nodes[0]
        weights, bias = node.inputs[1:]
        frozen = accumulator_bound(graph, node)
        moving = accumulator_bound(graph, node, frozenset({weights}))
        taps = graph.tensors[weights].data.size // graph.tensors[bias].data.size
        largest_bias = int(np.abs(graph.tensors[bias].data.astype(np.int64)).max())
        assert moving == largest_bias + taps * 128 * 130
        assert moving > frozen
        both = accumulator_bound(graph, node, frozenset({weights, bias}))
        bounds.add(both)
        assert both == 2**31 + taps * 128 * 130
    assert len(bounds) == 1


def test_bias_alone_may_be_trainable():
    graph = layer(fully_connected)
    node = graph.nodes[0]
    weights = graph.tensors[node.inputs[1]].data.astype(int)
    expected = 2**31 + np.abs(weights).sum(1).max() * 130
    assert accumulator_bound(graph, node, frozenset({node.inputs[2]})) == expected


def test_bound_of_the_smallest_codes_does_not_overflow():
    """|-2^31| and |-128| do not exist in int32 and int8."""
    draft = Draft()
    x = draft.input((1, 2), zero_point=127)
    graph = draft.graph(draft.fully_connected(x, 1))
    weights, bias = graph.nodes[0].inputs[1:]
    tensors = list(graph.tensors)
    tensors[weights] = replace(tensors[weights], data=np.full((1, 2), -128, np.int8))
    tensors[bias] = replace(tensors[bias], data=np.array([-(2**31)], np.int32))
    graph = replace(graph, tensors=tuple(tensors))
    assert accumulator_bound(graph, graph.nodes[0]) == 2**31 + 2 * 128 * 255


def test_layer_without_bias_has_a_bound():
    draft = Draft()
    graph = draft.graph(draft.fully_connected(draft.input((1, 3)), 2, bias=False))
    weights = np.abs(graph.tensors[1].data.astype(int)).sum(1).max()
    assert accumulator_bound(graph, graph.nodes[0]) == weights * 130


@given(st.integers(0, 2**62))
def test_bits_needed_hold_the_bound_and_one_bit_less_does_not(bound):
    bits = bits_needed(bound)
    assert bound <= 2 ** (bits - 1) - 1
    assert bits == 1 or bound > 2 ** (bits - 2) - 1


@given(st.integers(0, 2**40), WIDTHS, st.sampled_from(["wrap", "saturate", "error"]))
def test_order_matters_exactly_where_int32_sums_could_differ(bound, bits, overflow):
    fits = bound < 2 ** (bits - 1) and bound < 2**31
    wraps_as_int32 = (bits, overflow) == (32, "wrap")
    assert order_matters(bound, Accumulator(bits, overflow)) == (not fits and not wraps_as_int32)


@pytest.mark.parametrize(("bits", "bound"), list(itertools.product([8, 16, 32], [0, 1])))
def test_order_matters_at_the_edge(bits, bound):
    edge = 2 ** (bits - 1) - 1 + bound
    assert order_matters(edge, Accumulator(bits, "saturate")) == bool(bound)


def test_graph_overrides_the_profiles_accumulator():
    graph = layer(fully_connected)
    assert accumulator(graph) == Accumulator(32, "wrap")
    assert accumulator(replace(graph, accumulator=Accumulator(24, "error"))).bits == 24


@pytest.mark.parametrize(("index", "coordinate"), [(0, "(0, 0)"), (9, "(1, 4)"), (15, "(3, 0)")])
def test_overflow_message_counts_images_on_axis_0(index, coordinate):
    """The output of one image is (1, 5); the index counts through the whole batch."""
    draft = Draft()
    graph = draft.graph(draft.fully_connected(draft.input((1, 4)), 5))
    graph = replace(graph, accumulator=Accumulator(20, "error"))
    message = overflow_message(graph, graph.nodes[0], AccumulatorError(index, -524289))
    assert message == (
        "fully_connected_0/fully_connected: accumulator: must stay in 20 bits, got -524289 at "
        f"output {coordinate}; use a wider accumulator"
    )
