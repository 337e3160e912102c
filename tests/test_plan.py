"""Plans: no node overwrites what is still needed, and every sum gets a kernel that is exact."""

import itertools
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from graphs import Draft
from oracles.networks import network

from npusim.arena import aligned, tensor_bytes
from npusim.constants import with_biases
from npusim.formats import tflite
from npusim.graph import Accumulator, Graph
from npusim.headroom import accumulator_bound, bits_needed
from npusim.kernels import table
from npusim.plan import build_plan

NETWORKS = range(40)
BUILD = {
    "conv2d": lambda draft, x: draft.conv2d(x, 3, (2, 2)),
    "depthwise_conv2d": lambda draft, x: draft.depthwise_conv2d(x, (2, 2)),
    "fully_connected": lambda draft, x: draft.fully_connected(x, 3),
}


@cache
def random_graph(seed) -> Graph:
    drawn = network(seed)
    return with_biases(tflite.parse(drawn.model, drawn.description))


def span(buffer):
    return set(range(buffer.offset, buffer.offset + buffer.nbytes))


def needed_after(graph, step):
    """Activations made by node `step` or before, or fed, that are read after it."""
    made = {*graph.inputs, *(i for node in graph.nodes[: step + 1] for i in node.outputs)}
    read = {i for node in graph.nodes[step + 1 :] for i in node.inputs} | set(graph.outputs)
    return made & read


def scratch_of(plan, step):
    """Bytes of the node's scratch slots in the arena."""
    found = set()
    for slot in (table.SCRATCH, table.SUMS):
        column = table.OPERANDS + slot * table.OPERAND_COLUMNS
        space, offset, nbytes = plan.table[step, column : column + 3].tolist()
        if space == table.ARENA:
            found |= set(range(offset, offset + nbytes))
    return found


@pytest.mark.parametrize("seed", NETWORKS)
def test_no_node_overwrites_what_is_needed(seed):
    graph = random_graph(seed)
    plan = build_plan(graph)
    for step, node in enumerate(graph.nodes):
        written = span(plan.buffers[node.outputs[0]])
        scratch = scratch_of(plan, step)
        assert not written & scratch
        kept = {i for i in node.inputs if i >= 0} | needed_after(graph, step)
        for i in kept - set(node.outputs):
            place = plan.buffers[i]
            if place.space == table.ARENA:
                assert not span(place) & scratch, (node.name, i)
                assert shares(graph, i, node.outputs[0]) or not span(place) & written


def shares(graph, a, b):
    """Whether two tensors are one memory, seen through reshapes."""
    origin = {n.outputs[0]: n.inputs[0] for n in graph.nodes if n.op == "reshape"}
    ends = []
    for i in (a, b):
        while i in origin:
            i = origin[i]
        ends.append(i)
    return ends[0] == ends[1]


@pytest.mark.parametrize("seed", NETWORKS)
def test_trace_plan_gives_every_tensor_memory_of_its_own(seed):
    graph = random_graph(seed)
    plan = build_plan(graph, keep_all=True)
    activations = [i for i, t in enumerate(graph.tensors) if t.data is None]
    for a, b in itertools.combinations(activations, 2):
        if not shares(graph, a, b):
            assert not span(plan.buffers[a]) & span(plan.buffers[b])


@pytest.mark.parametrize("seed", NETWORKS)
def test_trace_plan_has_the_constants_where_the_other_has_them(seed):
    graph = random_graph(seed)
    plan, traced = build_plan(graph), build_plan(graph, keep_all=True)
    assert np.array_equal(plan.constants, traced.constants)
    assert plan.scales == traced.scales
    for i, tensor in enumerate(graph.tensors):
        if tensor.data is not None:
            assert plan.buffers[i] == traced.buffers[i]


@pytest.mark.parametrize("seed", NETWORKS)
def test_arena_is_not_much_larger_than_what_lives_at_once(seed):
    graph = random_graph(seed)
    plan = build_plan(graph)
    live = [
        {*(i for i in node.inputs if graph.tensors[i].data is None), *node.outputs}
        | needed_after(graph, step)
        for step, node in enumerate(graph.nodes)
    ]
    owners = [{min(j for j in group if shares(graph, i, j)) for i in group} for group in live]
    peak = max(
        sum(aligned(tensor_bytes(graph, i)) for i in group) + len(scratch_of(plan, step))
        for step, group in enumerate(owners)
    )
    assert plan.arena_bytes <= 1.5 * peak + 10 * 64


def test_buffers_hold_their_tensors():
    graph = random_graph(0)
    plan = build_plan(graph)
    for i, tensor in enumerate(graph.tensors):
        buffer = plan.buffers[i]
        assert buffer.nbytes == tensor_bytes(graph, i)
        if tensor.data is not None:
            data = plan.constants[buffer.offset : buffer.offset + buffer.nbytes]
            assert data.tobytes() == tensor.data.tobytes()


def test_reshape_costs_no_memory():
    draft = Draft()
    x = draft.conv2d(draft.input((1, 2, 2, 3)), 4)
    flat = draft.node("reshape", [draft.node("reshape", [x], shape=(4, 4))], shape=(1, 16))
    plan = build_plan(draft.graph(draft.fully_connected(flat, 3)))
    assert plan.buffers[flat] == plan.buffers[x]
    assert [plan.kernel(k) for k in range(4)] == ["conv2d", "move", "move", "fully_connected"]


@pytest.mark.parametrize("op", BUILD)
@pytest.mark.parametrize("overflow", ["wrap", "saturate", "error"])
def test_ordered_kernel_is_chosen_exactly_where_the_bound_does_not_fit(op, overflow):
    draft = Draft(7)
    graph = draft.graph(BUILD[op](draft, draft.input((1, 3, 3, 2))))
    needed = bits_needed(accumulator_bound(graph, graph.nodes[0]))
    assert 8 < needed < 31
    for bits in (8, needed - 1, needed, needed + 1, 32, 33, 64):
        plan = build_plan(replace(graph, accumulator=Accumulator(bits, overflow)))
        assert plan.kernel(0) == (f"{op}_ordered" if bits < needed else op), bits


@pytest.mark.parametrize("op", BUILD)
def test_trainable_weights_are_bounded_by_what_they_may_become(op):
    draft = Draft(7)
    graph = draft.graph(BUILD[op](draft, draft.input((1, 3, 3, 2))))
    weights, bias = graph.nodes[0].inputs[1:]
    frozen = bits_needed(accumulator_bound(graph, graph.nodes[0]))
    graph = replace(graph, accumulator=Accumulator(frozen, "saturate"))
    assert build_plan(graph).kernel(0) == op
    assert build_plan(graph, {weights}).kernel(0) == f"{op}_ordered"
    moving = bits_needed(accumulator_bound(graph, graph.nodes[0], frozenset({weights})))
    graph = replace(graph, accumulator=Accumulator(moving, "saturate"))
    assert build_plan(graph, {weights}).kernel(0) == op
    graph = replace(graph, accumulator=Accumulator(32, "saturate"))
    assert build_plan(graph, {weights}).kernel(0) == op
    assert build_plan(graph, {bias}).kernel(0) == f"{op}_ordered"


def test_sums_that_could_pass_int32_are_ordered_unless_they_wrap_there():
    """The default accumulator wraps at 32 bits, as every kernel does."""
    draft = Draft()
    graph = draft.graph(draft.fully_connected(draft.input((1, 4)), 2))
    bias = graph.nodes[0].inputs[2]
    tensors = list(graph.tensors)
    tensors[bias] = replace(tensors[bias], data=np.array([2**31 - 1, -(2**31)], np.int32))
    graph = replace(graph, tensors=tuple(tensors))
    assert build_plan(graph).kernel(0) == "fully_connected"
    for bits, overflow in ((32, "saturate"), (32, "error"), (64, "wrap"), (31, "wrap")):
        plan = build_plan(replace(graph, accumulator=Accumulator(bits, overflow)))
        assert plan.kernel(0) == "fully_connected_ordered"


def test_each_node_gets_its_own_kernel():
    draft = Draft(1)
    x = draft.conv2d(draft.input((1, 8, 8, 16)), 2, (5, 5))
    graph = draft.graph(draft.conv2d(x, 3, (1, 1)))
    bounds = [bits_needed(accumulator_bound(graph, node)) for node in graph.nodes]
    assert bounds[0] > bounds[1]
    plan = build_plan(replace(graph, accumulator=Accumulator(bounds[1], "saturate")))
    assert [plan.kernel(0), plan.kernel(1)] == ["conv2d_ordered", "conv2d"]


def test_rows_carry_their_nodes_index():
    plan = build_plan(random_graph(3))
    assert plan.table[:, table.NODE].tolist() == list(range(len(plan.table)))
    assert plan.table.shape[1] == table.WIDTH
