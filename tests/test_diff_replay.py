"""Nodes run by themselves, their exact results, and verdicts where a device dumps less."""

from __future__ import annotations

import re
from dataclasses import replace

import faulty_device
import numpy as np
import pytest
from broken_graphs import legal
from graphs import codes
from oracles import cases

import npusim
from npusim.diff import Dump, Side, diff, of_golden
from npusim.diff.ideal import exact_sums, ideal
from npusim.diff.replay import leading_to
from npusim.golden import record
from npusim.graph import Accumulator, ModelError
from npusim.headroom import WEIGHTED

ROUNDING = [op for op in cases.OPERATORS
            if op not in ("max_pool2d", "pad", "reshape", "transpose", "dequantize")]  # fmt: skip


def traced(graph, count=3, seed=0):
    inputs = codes(graph, count, seed)
    return dict(npusim.Session(graph, threads=1).trace(inputs))


@pytest.mark.usefixtures("isa")
def test_every_node_repeats_its_output_from_the_tensors_it_reads():
    graph = legal()
    values = traced(graph)
    for node in graph.nodes:
        name = graph.tensors[node.outputs[0]].name
        part = leading_to(graph, name, values)
        assert [n.name for n in part.graph.nodes] == [node.name]
        assert np.array_equal(part.run(values), values[name])


def test_nodes_lead_from_the_nearest_tensors_that_are_known():
    graph = legal()
    values = traced(graph)
    names = [n.name for n in graph.nodes]
    part = leading_to(graph, "y_8", {"y_3"})
    assert part.inputs == ("y_3",)
    assert [n.name for n in part.graph.nodes] == names[1:4]
    assert np.array_equal(part.run(values), values["y_8"])
    whole = leading_to(graph, "y_17", ())
    assert whole.inputs == ("x_0",)
    assert [n.name for n in whole.graph.nodes] == names
    assert np.array_equal(whole.run(values), values["y_17"])


def test_parts_take_another_accumulator():
    graph = legal()
    values = traced(graph)
    part = leading_to(graph, "y_3", values)
    narrow = part.run(values, Accumulator(12, "saturate"))
    assert not np.array_equal(narrow, values["y_3"])
    with pytest.raises(ModelError, match="must stay in 12 bits"):
        part.run(values, Accumulator(12, "error"))


@pytest.mark.parametrize("op", ROUNDING)
def test_exact_results_are_within_a_code_of_the_codes(op, tmp_path):
    """Half a code for rounding, and what rounding twice, or in fixed point, adds to it."""
    margin = 1.0 if op in ("softmax", "add", "mean") else 0.76
    for seed in range(12):
        case = cases.case(op, seed)
        path = tmp_path / "m.tflite"
        path.write_bytes(case.model)
        graph = npusim.load(path)
        inputs = dict(zip((graph.tensors[i].name for i in graph.inputs), case.inputs, strict=True))
        found = ideal(graph, inputs)
        y = npusim.Session(graph, threads=1).run(inputs)
        exact = np.clip(found.steps + found.zero_point, found.low, found.high)
        fits = np.abs(found.steps) < 2**15  # a sum that wraps is no result
        if op in WEIGHTED:
            x = next(iter(inputs.values()))
            fits &= np.abs(exact_sums(graph, graph.nodes[0], x)).reshape(y.shape) < 2**31
        assert found.steps.shape == y.shape
        assert np.abs(exact - y)[fits].max(initial=0) <= margin, case.description


def test_operators_that_round_nothing_have_no_exact_result():
    graph = legal()
    values = traced(graph)
    for name in ("y_9", "y_10", "y_12", "y_17"):
        part = leading_to(graph, name, values)
        assert ideal(part.graph, values) is None


def missing_sources(graph, name, kept):
    """Tensors that lead to one and are not dumped, up to those that are."""
    makers = {graph.tensors[n.outputs[0]].name: n for n in graph.nodes}
    if name not in makers:
        return set()
    read = [graph.tensors[i] for i in makers[name].inputs if i >= 0]
    direct = {t.name for t in read if t.kind != "constant" and t.name not in kept}
    return direct.union(*(missing_sources(graph, n, kept) for n in direct))


def compared(graph, tensors, golden):
    dumps = tuple(Dump(name, "", values) for name, values in tensors.items())
    return diff(of_golden("A", golden, graph), Side("B", "folder", dumps))


@pytest.mark.parametrize("seed", range(5))
def test_device_that_dumps_less_is_judged_from_the_nearest_tensors(seed):
    """Every second tensor is missing; the fault is seen in the next one that is there."""
    dumped = faulty_device.dump(seed, "zero point")
    graph, (faulty,) = dumped.graph, dumped.faults
    inputs = {graph.tensors[i].name: dumped.tensors[graph.tensors[i].name] for i in graph.inputs}
    golden = record(graph, inputs, threads=1)
    names = list(dumped.tensors)
    kept = [n for n in names if names.index(n) % 2 == (names.index(faulty) + 1) % 2]
    report = compared(graph, {n: dumped.tensors[n] for n in kept}, golden)
    expected = [n for n in kept if faulty in missing_sources(graph, n, kept)]
    assert [t.name for t in report.departures] == expected != []
    maker = next(n.name for n in graph.nodes if graph.tensors[n.outputs[0]].name == faulty)
    assert re.search(
        rf", through (\w+, )*{maker}, .*which B does not show$", report.first.judged_from
    )


def test_inputs_that_are_not_dumped_are_taken_from_side_a():
    dumped = faulty_device.dump(2, "rounds down")
    graph = dumped.graph
    inputs = {graph.tensors[i].name: dumped.tensors[graph.tensors[i].name] for i in graph.inputs}
    golden = record(graph, inputs, threads=1)
    rest = {n: v for n, v in dumped.tensors.items() if n not in inputs}
    report = compared(graph, rest, golden)
    assert {t.name: t.cause.kind for t in report.departures} == dumped.faults
    assert report.missing == tuple(inputs)


def test_dump_out_of_the_types_range_spoils_no_verdict_behind_it():
    """uint8 codes cannot be fed to an int8 node; what they stand for can."""
    graph = faulty_device.network(4)
    values = faulty_device.named(graph, faulty_device.healthy(graph, 4))
    inputs = {graph.tensors[i].name: values[graph.tensors[i].name] for i in graph.inputs}
    unsigned = {n: (v.astype(int) + 128).astype(np.uint8) for n, v in values.items()}
    report = compared(graph, unsigned, record(graph, inputs, threads=1))
    assert {t.cause.kind for t in report.departures} == {"signedness"}
    assert len(report.departures) == len(values)


def test_fault_in_real_numbers_is_found_and_not_explained():
    graph = legal()
    values = traced(graph)
    golden = record(graph, {"x_0": values["x_0"]}, threads=1)
    changed = values | {"y_17": values["y_17"] + np.float32(0.5)}
    report = compared(graph, changed, golden)
    (departed,) = report.departures
    assert (departed.name, departed.total.max_lsb) == ("y_17", None)
    assert departed.cause.sentence == "float32 values have no codes to explain"


def test_accumulator_that_refuses_does_not_stop_the_comparison():
    """Side A's model raises on side B's inputs: then only A's tensors are known."""
    graph = replace(faulty_device.network(1), accumulator=Accumulator(18, "error"))
    inputs = {name: x * 0 for name, x in codes(graph, 2).items()}
    golden = record(graph, inputs, threads=1)
    values = {t.name: t.values for t in golden.sequence()}
    loud = codes(graph, 2, seed=1)
    report = compared(graph, values | loud, golden)
    assert report.first.name == next(iter(loud))
    assert all(t.verdict == "equal" for t in report.tensors[1:])
