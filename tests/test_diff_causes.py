"""Faults that are put into a device blindly are found: the first wrong tensor, and the cause."""

from __future__ import annotations

import re
from dataclasses import replace

import faulty_device
import numpy as np
import pytest
from faults import FAULTS
from faulty_device import Dumped
from graphs import Draft

from npusim.diff import Dump, Report, Side, diff, of_golden
from npusim.diff.case import Case
from npusim.diff.causes import explain
from npusim.golden import record
from npusim.graph import Quantization
from npusim.rules import arithmetic

SEEDS = range(20)
A_QUARTER_OR_THE_REST = pytest.mark.parametrize(
    "seeds", [SEEDS[:5], pytest.param(SEEDS[5:], marks=pytest.mark.full)], ids=["quarter", "rest"]
)
# faults that only the model can tell from others; without it they are unknown, or look like these
NEED_THE_MODEL = {
    "padding side": {"unknown"},
    "kernels turned": {"unknown"},
    "kernels transposed": {"unknown"},
    "accumulator saturates": {"unknown", "clamp", "accumulator"},
    "accumulator wraps": {"unknown"},
    "zero point of the input": {"unknown"},
    "scale per tensor": {"scale", "unknown"},
    "no bias": {"bias", "unknown"},
}
PAIRS = (
    ("rounds down", "padding code"),
    ("channels swapped", "rounds toward zero"),
    ("accumulator wraps", "no bias"),
    ("zero point", "padding counted"),
    ("no activation", "channel scale"),
)


def compared(dumped: Dumped, model: bool = True) -> Report:
    """The device's dump against a recorded run."""
    graph = dumped.graph
    inputs = {graph.tensors[i].name: dumped.tensors[graph.tensors[i].name] for i in graph.inputs}
    golden = record(graph, inputs, threads=1)
    dumps = tuple(Dump(name, "", values) for name, values in dumped.tensors.items())
    return diff(of_golden("A", golden, graph if model else None), Side("B", "folder", dumps))


def kinds(report: Report) -> dict[str, str]:
    """Tensors with a fault of their own, and the kinds of their causes."""
    return {t.name: t.cause.kind for t in report.departures}


@A_QUARTER_OR_THE_REST
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found_and_named(fault, seeds):
    for seed in seeds:
        dumped = faulty_device.dump(seed, fault)
        report = compared(dumped)
        assert kinds(report) == dumped.faults, f"seed {seed}"
        assert report.first.name in dumped.faults
        assert report.first.cause.explained > 0.9


@A_QUARTER_OR_THE_REST
@pytest.mark.parametrize("fault", FAULTS)
def test_fault_is_found_without_the_model(fault, seeds):
    for seed in seeds:
        dumped = faulty_device.dump(seed, fault)
        (name,), (kind,) = zip(*dumped.faults.items(), strict=True)
        report = compared(dumped, model=False)
        assert report.first.name == name, f"seed {seed}"
        assert report.first.cause.kind in NEED_THE_MODEL.get(fault, {kind}), f"seed {seed}"
        later = [t for t in report.tensors if t.verdict == "departs" and t.name != name]
        assert later == []


@A_QUARTER_OR_THE_REST
@pytest.mark.parametrize("pair", PAIRS)
def test_second_fault_is_not_hidden_by_the_first(pair, seeds):
    for seed in seeds:
        dumped = faulty_device.dump(seed, *pair)
        report = compared(dumped)
        assert kinds(report) == dumped.faults, f"seed {seed}"
        assert [t.name for t in report.departures] == list(dumped.faults)


@A_QUARTER_OR_THE_REST
@pytest.mark.parametrize("profile", ["litert-x86", "xnnpack", "single-rounding"])
def test_device_of_another_profile_is_told_by_its_rules(profile, seeds):
    """The rules that are named always include the device's."""
    departures = 0
    for seed in seeds:
        graph = faulty_device.network(seed)
        graph = faulty_device.with_ties(graph) if seed % 2 else graph
        device = replace(graph, profile=profile)
        inputs = faulty_device.codes(graph, 3, seed)
        sides = [of_golden(g.profile, record(g, inputs, threads=1)) for g in (graph, device)]
        report = diff(*sides, graph)
        for tensor in report.departures:
            truth = arithmetic(device, device.node(tensor.node)).rule
            named = re.findall(r"\w+", re.split(r", not |, twice", tensor.cause.sentence)[0])
            assert tensor.cause.kind == "rounding", f"seed {seed}"
            assert truth in named, f"seed {seed}"
        departures += len(report.departures)
    assert departures >= len(seeds) // 2


@pytest.mark.parametrize("fault", ["rounds down", "channel scale", "padding code"])
def test_tensors_behind_a_fault_inherit_it(fault):
    dumped = faulty_device.dump(0, fault)
    report = compared(dumped)
    names = [t.name for t in report.tensors]
    behind = report.tensors[names.index(next(iter(dumped.faults))) + 1 :]
    assert {t.verdict for t in behind} <= {"inherited", "equal"}
    assert [t.own.differing for t in behind if t.verdict == "inherited"] == [0] * sum(
        t.verdict == "inherited" for t in behind
    )


def one_convolution(**attributes):
    draft = Draft(7)
    x = draft.input((1, 9, 9, 3))
    return draft.graph(draft.conv2d(x, 5, **attributes))


def one_sum():
    """Two operands with different scales and zero points."""
    draft = Draft(8)
    a = draft.input((1, 6, 6, 4), scale=0.03, zero_point=-20)
    b = draft.input((1, 6, 6, 4), scale=0.09, zero_point=11)
    return draft.graph(draft.node("add", (a, b), activation="none", affine={"scale": 0.1}))


def exchanged(graph):
    """The graph with its operands' quantisation exchanged."""
    a, b, *rest = graph.tensors
    tensors = replace(a, quantization=b.quantization), replace(b, quantization=a.quantization)
    return replace(graph, tensors=(*tensors, *rest))


DEVICES = {
    "dilation 1x3 is taken as 3x1": (
        one_convolution(dilation=(1, 3)),
        one_convolution(dilation=(3, 1)),
    ),
    "padding is symmetric": (
        one_convolution(stride=(2, 2), padding=(0, 2, 0, 2)),
        one_convolution(stride=(2, 2), padding=(1, 1, 1, 1)),
    ),
    "padding is absent: the image starts at the edge": (
        one_convolution(padding=(1, 1, 1, 1)),
        one_convolution(padding=(0, 2, 0, 2)),
    ),
    "scales and zero points of the two operands are exchanged": (one_sum(), exchanged(one_sum())),
}


@pytest.mark.parametrize("sentence", DEVICES)
def test_changed_node_is_told_by_its_change(sentence):
    graph, device = DEVICES[sentence]
    inputs = faulty_device.codes(graph, 2)
    dumps = tuple(Dump(t.name, "", t.values) for t in record(device, inputs, threads=1).sequence())
    report = diff(of_golden("A", record(graph, inputs, 1), graph), Side("B", "folder", dumps))
    assert report.first.cause.sentence == sentence
    assert report.first.cause.basis == "simulated"


@pytest.mark.parametrize("seed", SEEDS)
def test_noise_has_no_cause(seed):
    """Codes of which some are replaced by random ones."""
    rng = np.random.default_rng(seed)
    expected = rng.integers(-128, 128, (2, 6, 6, 8))
    actual = expected.copy()
    chosen = rng.random(expected.shape) < rng.uniform(0.05, 0.5)
    actual[chosen] = rng.integers(-128, 128, int(chosen.sum()))
    cause = explain(Case(expected, actual, "int8", Quantization(0.1, -5)))
    assert (cause.kind, cause.explained) == ("unknown", 0.0)


@pytest.mark.parametrize("elements", [1, 2, 3, 10])
def test_few_elements_are_not_explained_by_fitting(elements):
    """Two vectors of a few codes are always a permutation, a scale or an offset of each other."""
    rng = np.random.default_rng(elements)
    expected = rng.permutation(100)[:elements].reshape(1, -1)
    actual = np.roll(expected, 1, axis=1) + 7
    cause = explain(Case(expected, actual, "int8", Quantization(0.1, 0)))
    assert cause.kind in ("unknown", "zero point")


def test_evidence_counts_what_speaks_against_a_cause():
    rng = np.random.default_rng(0)
    expected = rng.integers(-60, 60, (1, 20, 20, 4))
    actual = expected + 9
    actual[0, 0, 0, :3] = 100
    cause = explain(Case(expected, actual, "int8", Quantization(0.1, 3)))
    assert cause.kind == "zero point"
    assert cause.evidence == "it accounts for 1,597 of 1,600 differing elements"
    assert not cause.whole
    assert cause.explained == 1597 / 1600


@pytest.mark.parametrize(
    ("faulty", "words"),
    [(1, "the only differing element"), (2, "all 2 differing elements")],
)
def test_evidence_counts_in_words(faulty, words):
    expected = np.zeros((1, 40), np.int64)
    actual = expected.copy()
    actual[0, :faulty] = 1
    assert words in explain(Case(expected, actual, "int8")).evidence
