"""The compiled executor: images one by one, what it copies in and out, and where it stops."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft

from npusim.constants import with_biases
from npusim.graph import Accumulator
from npusim.kernels.executor import execute
from npusim.plan import build_plan

GUARD = 77
MARGIN = 64


def network():
    """x -> two layers -> their sum: (graph, x, first, second, total)."""
    draft = Draft(9)
    x = draft.input((1, 4, 4, 3))
    first = draft.conv2d(x, 5)
    second = draft.depthwise_conv2d(first)
    total = draft.node("add", [first, second], activation="none")
    return with_biases(draft.graph(total)), x, first, second, total


def moves(plan, *columns):
    """(column, arena offset, bytes) of tensors, given as (tensor, column)."""
    places = [(plan.buffers[tensor], column) for tensor, column in columns]
    return np.array([(c, b.offset, b.nbytes) for b, c in places], np.int64).reshape(-1, 3)


def run(plan, loads, source, stores, width, rows=slice(None)):
    """(sink, fault); memory around arena and sink must stay as it is."""
    memory = np.full(plan.arena_bytes + 2 * MARGIN, GUARD, np.int8)
    sink = np.full((len(source) + 2, width), GUARD, np.int8)
    fault = np.full(4, -1, np.int64)
    arena = memory[MARGIN : MARGIN + plan.arena_bytes]
    kept = plan.constants.copy()
    execute(plan.table[rows], arena, plan.constants, loads, source, stores, sink[1:-1], fault)
    assert (memory[:MARGIN] == GUARD).all()
    assert (memory[-MARGIN:] == GUARD).all()
    assert (sink[[0, -1]] == GUARD).all()
    assert np.array_equal(plan.constants, kept)
    return sink[1:-1], fault.tolist()


def images(count, width=48, seed=0):
    return np.random.default_rng(seed).integers(-128, 128, (count, width)).astype(np.int8)


def test_images_are_independent():
    graph, x, *_, total = network()
    plan = build_plan(graph)
    source = images(6)
    loads, stores = moves(plan, (x, 0)), moves(plan, (total, 0))
    together, fault = run(plan, loads, source, stores, 80)
    assert fault == [-1] * 4
    for k in range(6):
        alone, _ = run(plan, loads, source[k : k + 1], stores, 80)
        assert np.array_equal(alone[0], together[k])
    assert len(np.unique(together)) > 50


def test_no_image_is_no_work():
    graph, x, *_, total = network()
    plan = build_plan(graph)
    sink, fault = run(plan, moves(plan, (x, 0)), images(0), moves(plan, (total, 0)), 80)
    assert sink.shape == (0, 80)
    assert fault == [-1] * 4


def test_columns_say_where_rows_are_read_and_written():
    graph, x, first, _, total = network()
    plan = build_plan(graph, keep_all=True)
    source = images(3, 100)
    plain, _ = run(plan, moves(plan, (x, 0)), source[:, 30:78].copy(), moves(plan, (total, 0)), 80)
    stores = moves(plan, (total, 5), (first, 90), (x, 200))
    sink, _ = run(plan, moves(plan, (x, 30)), source, stores, 300)
    assert np.array_equal(sink[:, 5:85], plain)
    assert np.array_equal(sink[:, 200:248], source[:, 30:78])
    for columns in (slice(0, 5), slice(85, 90), slice(170, 200), slice(248, 300)):
        assert (sink[:, columns] == GUARD).all()


@pytest.mark.parametrize("cut", range(4))
def test_nodes_may_be_run_in_two_parts(cut):
    """Every tensor between the parts is carried over in rows."""
    graph, x, first, second, total = network()
    plan = build_plan(graph)
    source = images(3)
    whole, _ = run(plan, moves(plan, (x, 0)), source, moves(plan, (total, 0)), 80)
    live = [(x,), (first,), (first, second), (total,)][cut]
    columns = [(tensor, 100 * k) for k, tensor in enumerate(live)]
    between, _ = run(plan, moves(plan, (x, 0)), source, moves(plan, *columns), 300, slice(0, cut))
    rest, _ = run(plan, moves(plan, *columns), between, moves(plan, (total, 0)), 80,
                  slice(cut, None))  # fmt: skip
    assert np.array_equal(rest, whole)


def test_nothing_is_left_of_the_image_before():
    """Scratch and accumulators begin anew: an arena full of garbage changes nothing."""
    graph, x, *_, total = network()
    plan = build_plan(graph)
    loads, stores = moves(plan, (x, 0)), moves(plan, (total, 0))
    source, sink = images(1), np.zeros((1, 80), np.int8)
    expected, fault = run(plan, loads, source, stores, 80)
    for seed in range(5):
        arena = images(1, plan.arena_bytes, seed)[0]
        execute(plan.table, arena, plan.constants, loads, source, stores, sink, np.array(fault))
        assert np.array_equal(sink, expected)


def test_execution_stops_at_the_first_overflow():
    """The fault names image, node, output and sum; images before it are finished."""
    graph, x, *_, total = network()
    graph = replace(graph, accumulator=Accumulator(17, "error"))
    plan = build_plan(graph)
    loads, stores = moves(plan, (x, 0)), moves(plan, (total, 0))
    quiet = np.full((4, 48), -3, np.int8)
    expected, fault = run(plan, loads, quiet, stores, 80)
    assert fault == [-1] * 4
    loud = quiet.copy()
    loud[2] = images(1)[0]
    sink, fault = run(plan, loads, loud, stores, 80)
    image, node, output, total_sum = fault
    assert (image, node) == (2, 0)
    assert 0 <= output < 80
    assert abs(total_sum) >= 2**16
    assert np.array_equal(sink[:2], expected[:2])
    assert (sink[2:] == GUARD).all()


def test_a_fault_names_the_node_of_the_graph():
    """Also when execution began later than with the first node."""
    graph, x, first, *_, total = network()
    bias = graph.nodes[1].inputs[2]
    tensors = list(graph.tensors)
    tensors[bias] = replace(tensors[bias], data=np.full(5, 1 << 20, np.int32))
    graph = replace(graph, tensors=tuple(tensors), accumulator=Accumulator(20, "error"))
    plan = build_plan(graph)
    stores = moves(plan, (total, 0))
    _, fault = run(plan, moves(plan, (x, 0)), images(1), stores, 80)
    assert fault == [0, 1, 0, 1 << 20]
    _, fault = run(plan, moves(plan, (first, 0)), images(2, 80), stores, 80, slice(1, None))
    assert fault == [0, 1, 0, 1 << 20]
