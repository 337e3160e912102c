"""`npusim.identify`: what explains holds the truth, and is unique after a suggested input."""

from __future__ import annotations

from dataclasses import replace

import faults
import numpy as np
import pytest
from graphs import Draft, codes

import npusim
from npusim.diff.sides import Dump, Side
from npusim.identify import identify, suggest
from npusim.identify.equality import classes, reach, thresholds
from npusim.identify.weighted import hypotheses
from npusim.models import digits_cnn
from npusim.neural_art.settle import settle
from npusim.tensor_files import random_inputs

IMAGES = 20
PROFILES = ("tflm", "litert-ref", "litert-x86", "xnnpack", "single-rounding", "neural-art")


def side(tensors) -> Side:
    return Side("dump", "folder", tuple(Dump(name, "", x) for name, x in tensors.items()))


def images(graph):
    drawn = [random_inputs(graph, seed) for seed in range(IMAGES)]
    return {name: np.concatenate([d[name] for d in drawn]) for name in drawn[0]}


def dump(graph, inputs, **settings) -> Side:
    return side(dict(npusim.Session(replace(graph, **settings)).trace(inputs)))


def layer(seed=3, **attributes):
    """One convolution."""
    draft = Draft(seed)
    return draft.graph(draft.conv2d(draft.input((1, 7, 8, 3)), 5, **attributes))


def faulty(graph, name, seed=5):
    """A dump of a device with a fault, computed by tests' own code."""
    values = {i: t.data for i, t in enumerate(graph.tensors) if t.data is not None}
    node = graph.nodes[0]
    values[graph.inputs[0]] = codes(graph, IMAGES, seed)[graph.tensors[graph.inputs[0]].name]
    wrong = faults.FAULTS[name].make(np.random.default_rng(seed), graph, node, values)
    names = graph.tensors[graph.inputs[0]].name, graph.tensors[node.outputs[0]].name
    return side({names[0]: values[graph.inputs[0]], names[1]: wrong})


def small():
    """A convolution, a mean and a classifier: enough to tell the profiles apart."""
    draft = Draft(seed=3)
    y = draft.conv2d(draft.input((1, 6, 6, 3)), 5)
    y = draft.node("mean", (y,), axes=(1, 2), keep_dims=False)
    return draft.graph(draft.fully_connected(y, 4))


ORDINARY = {(small, "litert-ref"), (small, "neural-art")}


@pytest.mark.parametrize(
    ("network", "profile"),
    [
        pytest.param(network, profile, id=f"{name}-{profile}",
                     marks=[] if (network, profile) in ORDINARY else pytest.mark.full)
        for name, network in (("small", small), ("digits", digits_cnn))
        for profile in PROFILES
    ],
)  # fmt: skip
def test_truth_explains_and_is_unique_after_the_suggested_input(network, profile):
    graph = network()
    device = settle(replace(graph, profile=profile))
    report = identify(dump(device, images(graph)), graph)
    assert report.explained
    assert profile in report.consistent
    suggestion = suggest(graph, report)
    assert suggestion is not None
    again = identify(dump(device, suggestion.inputs), graph)
    assert again.explained
    (unique,) = again.distinct
    assert profile in unique


@pytest.mark.parametrize(("bits", "overflow"), [(17, "saturate"), (16, "wrap")])
def test_narrow_accumulator_is_found(bits, overflow):
    graph = digits_cnn()
    narrow = npusim.Accumulator(bits, overflow)
    report = identify(dump(graph, images(graph), accumulator=narrow), graph)
    assert report.explained
    assert report.accumulators.needed
    assert (bits, overflow) in report.accumulators.others
    assert "tflm" in report.consistent


@pytest.mark.parametrize(
    ("fault", "rule", "twist"),
    [
        ("padding code", "double_rounding", "padding holds the code 0, not the zero point"),
        ("rounds down", "truncation (shift without rounding)", ""),
    ],
)
def test_convention_of_a_device_is_named(fault, rule, twist):
    graph = layer()
    (kind,) = identify(faulty(graph, fault), graph).kinds
    assert (rule, twist) in kind.rules


def test_missing_zero_point_of_the_input_is_named():
    draft = Draft(4)
    graph = draft.graph(draft.fully_connected(draft.input((1, 40)), 9))
    (kind,) = identify(faulty(graph, "zero point of the input"), graph).kinds
    assert ("double_rounding", "input's zero point not subtracted") in kind.rules


def test_nothing_is_named_where_nothing_explains():
    graph = layer()
    report = identify(faulty(graph, "kernels turned"), graph)
    (verdict,) = report.verdicts
    assert (report.explained, verdict.status, report.consistent) == (False, "unexplained", ())
    assert verdict.survivors == ()
    assert verdict.nearest.differing > 0


def test_one_differing_element_excludes_a_rule():
    graph = layer()
    tensors = dict(npusim.Session(graph).trace(images(graph)))
    name = graph.tensors[graph.outputs[0]].name
    inside = np.flatnonzero(np.abs(tensors[name]) < 100)[7]
    tensors[name].reshape(-1)[inside] += 1
    (verdict,) = identify(side(tensors), graph).verdicts
    assert verdict.status == "unexplained"
    assert verdict.nearest.differing == 1


def test_node_without_inputs_is_not_judged():
    graph = digits_cnn()
    tensors = dict(npusim.Session(graph).trace(images(graph)))
    report = identify(side({k: v for k, v in tensors.items() if k != "image"}), graph)
    first = report.verdicts[0]
    assert (first.status, first.reason) == (
        "not judged", "the dump does not hold image, an input of the model"
    )  # fmt: skip
    assert report.explained


def test_hidden_tensor_is_judged_with_the_next():
    graph = digits_cnn()
    tensors = dict(npusim.Session(graph).trace(images(graph)))
    del tensors["pointwise/relu"]
    report = identify(side(tensors), graph)
    together = {v.node: v.together for v in report.verdicts if v.together}
    assert together == {"conv2d_2": ("mean_0",), "mean_0": ("conv2d_2",)}
    assert "tflm" in report.consistent


def test_dump_without_tensors_of_the_model_is_refused():
    graph = layer()
    name = graph.tensors[graph.inputs[0]].name
    with pytest.raises(ValueError) as error:
        identify(side({name: images(graph)[name]}), graph)
    assert str(error.value) == (
        "dump: must hold a tensor of draft and what it is made from, got neither; name the "
        "model's input with --input"
    )


def test_classes_are_those_of_every_reachable_accumulator():
    """Thresholds against codes of all accumulators, one after the other."""
    graph = layer(kernel=(1, 1))
    node = graph.nodes[0]
    low, high = reach(graph, node)
    chosen = [h for h in hypotheses(graph, node) if h.monotone and not h.twist][::7]
    states = [
        np.concatenate([np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]),
        np.repeat(np.arange(len(low)), high - low + 1),
    ]
    states.append(np.zeros_like(states[0]))
    listed: dict[bytes, set[str]] = {}
    for h in chosen:
        every = h.codes(tuple(states))
        listed.setdefault(every.tobytes(), set()).add(h.label)
        edges = thresholds(h, (low, high))
        for c in range(len(low)):
            own = every[states[1] == c]
            counted = [low[c] + np.count_nonzero(own < code) for code in range(-127, 128)]
            assert edges[c].tolist() == counted
    found = {frozenset(h.label for h in group) for group in classes(graph, node, chosen)}
    assert found == set(map(frozenset, listed.values()))
