"""What identify aims an input at: the codes tensors can have, the states at which rules part, and
inputs at which a sum is a given number."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft

import npusim
from npusim import delegation
from npusim.diff.ideal import exact_sums
from npusim.diff.replay import leading_to
from npusim.diff.sides import Dump, Side
from npusim.identify import identify
from npusim.identify.aims import aim
from npusim.identify.approach import approach
from npusim.identify.equality import reach, thresholds
from npusim.identify.ranges import EVERYTHING
from npusim.identify.solve import Solver, source_of

RNG = np.random.default_rng(5)


def images(graph, count):
    """Noise, and flat pictures, which bring sums to their ends."""
    t = graph.tensors[graph.inputs[0]]
    noise = RNG.integers(-128, 128, (count, *t.shape[1:]), np.int8)
    flat = np.broadcast_to(RNG.choice([-128, 127], (count, 1, 1, t.shape[-1])), noise.shape)
    return {t.name: np.concatenate([noise, flat.astype(np.int8)])}


def report_of(graph, x):
    tensors = dict(npusim.Session(graph).trace(x))
    return identify(
        Side("dump", "folder", tuple(Dump(n, "", t) for n, t in tensors.items())), graph
    )


def chain(seed):
    draft = Draft(seed)
    x = draft.conv2d(draft.input((1, 9, 9, 3)), 5, activation="relu")
    x = draft.node("max_pool2d", (x,), kernel=(2, 2), stride=(2, 2), padding="valid",
                   activation="none")  # fmt: skip
    x = draft.depthwise_conv2d(x)
    x = draft.node("mean", (doubled(draft, x),), axes=(1, 2), keep_dims=False)
    return draft.graph(draft.fully_connected(x, 6))


def doubled(draft, x, scale=0.1):
    return draft.node("add", (x, x), affine={"scale": scale, "zero_point": 3}, activation="none")


@pytest.mark.parametrize("profile", ["tflm", "xnnpack"])
def test_no_code_is_outside_its_range(profile):
    for seed in range(4):
        graph = replace(chain(seed), profile=profile)
        report = report_of(graph, images(graph, 8))
        assert report.ranges
        traced = dict(npusim.Session(graph).trace(images(graph, 200)))
        for name, (low, high) in report.ranges.items():
            codes = traced[name].reshape(-1, len(low))
            assert (codes.min(axis=0) >= low).all(), name
            assert (codes.max(axis=0) <= high).all(), name


def test_range_of_a_layer_is_narrower_than_its_type_and_is_reached():
    draft = Draft(2)
    graph = draft.graph(draft.conv2d(draft.input((1, 1, 1, 3)), 4, kernel=(1, 1)))
    (node,) = graph.nodes
    weights = graph.tensors[node.inputs[1]].data.reshape(4, 3)
    low, high = reach(graph, node)
    for c, row in enumerate(weights.astype(int)):
        for end, code in (
            (low, np.where(row > 0, -128, 127)),
            (high, np.where(row > 0, 127, -128)),
        ):
            x = code.astype(np.int8).reshape(1, 1, 1, 3)
            assert exact_sums(graph, node, x)[..., c].item() == end[c]


def part_of(graph, node):
    return leading_to(graph, graph.tensors[node.outputs[0]].name, [t.name for t in graph.tensors])


def two_rules(part, first, second):
    named = approach(part.graph, part.last).hypotheses(part.graph, part.last)
    return [next(h for h in named if name in h.names and not h.twist) for name in (first, second)]


@pytest.mark.parametrize("kind", ["conv2d", "depthwise_conv2d", "fully_connected"])
def test_solver_makes_inputs_at_which_rules_part(kind):
    for seed in range(20):
        draft = Draft(seed)
        x = draft.input((1, 40) if kind == "fully_connected" else (1, 6, 6, 3))
        y = draft.depthwise_conv2d(x) if kind == "depthwise_conv2d" else getattr(draft, kind)(x, 5)
        graph = draft.graph(y)
        part = part_of(graph, graph.nodes[0])
        first, second = two_rules(part, "single_rounding", "float32_even")
        found = aim(part, EVERYTHING, first, second)
        if found is not None:
            break
    assert source_of(graph, part) == graph.tensors[graph.inputs[0]].name

    t = graph.tensors[graph.inputs[0]]
    base = RNG.integers(-128, 128, (64, *t.shape[1:]), np.int8)
    made = Solver(part).images(found.sums, base, RNG)

    def differing(x):
        states = approach(part.graph, part.last).states(part.graph, part.last, [x])
        part_ways = first.codes(states) != second.codes(states)
        assert np.array_equal(part_ways, found.nearest(states) == 0)
        return part_ways.reshape(len(x), -1).any(axis=1).sum()

    assert differing(base) < 8
    assert differing(made) > 32


def test_distance_is_to_the_nearest_sum_that_decides():
    graph = chain(1)
    part = part_of(graph, graph.nodes[0])
    first, second = two_rules(part, "double_rounding", "single_rounding")
    found = aim(part, EVERYTHING, first, second)
    low, high = (thresholds(h, reach(part.graph, part.last)) for h in (first, second))
    channel, acc = 2, 1234
    listed = np.minimum(low, high)[channel][low[channel] != high[channel]]
    states = tuple(np.array([v]) for v in (acc, channel, 0))
    assert found.nearest(states) == [np.abs(listed - acc).min()]


def test_sum_of_a_tensor_with_itself_has_no_two_codes():
    draft = Draft(6)
    x = draft.input((1, 4, 4, 2))
    graph = draft.graph(doubled(draft, x))
    (node,) = graph.nodes
    a, b, _ = approach(graph, node).domain(graph, node, EVERYTHING)
    assert np.array_equal(a, b)
    assert set(a.tolist()) == set(range(-128, 128))


def test_profile_with_two_rules_for_an_operator_explains_it():
    """XNNPACK leaves one of two sums to other kernels, which round otherwise."""
    draft = Draft(8)
    x = draft.input((1, 6, 6, 4))
    near, far = doubled(draft, x), doubled(draft, x, scale=0.07 * 2**11)
    graph = replace(draft.graph(near, far), profile="xnnpack")
    assert [delegation.takes(graph, node) for node in graph.nodes] == [True, False]
    report = report_of(graph, images(graph, 30))
    assert "xnnpack" in report.consistent
    assert report.explained
