"""Sessions: what they take and give, traces and prefixes."""

import os
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from graphs import Draft, codes
from oracles import tflm
from oracles.networks import network

from npusim import Accumulator, ModelError, Session
from npusim.check import check
from npusim.constants import with_biases
from npusim.formats import tflite
from npusim.headroom import WEIGHTED

pytestmark = pytest.mark.usefixtures("isa")
NETWORKS = range(12)


@cache
def random_network(seed):
    drawn = network(seed)
    return drawn, tflite.parse(drawn.model, drawn.description)


def branched():
    """Two inputs; a sum of two convolutions, and a classifier behind it."""
    draft = Draft(3)
    a, b = draft.input((1, 4, 4, 2)), draft.input((1, 4, 4, 3))
    left, right = draft.conv2d(a, 4, bias=False), draft.depthwise_conv2d(b, multiplier=2)
    right = draft.conv2d(right, 4, (1, 1))
    both = draft.node("add", [left, right], activation="relu")
    flat = draft.node("reshape", [both], shape=(1, 64))
    logits = draft.fully_connected(flat, 5)
    return draft.graph(both, logits)


def single():
    draft = Draft(4)
    return draft.graph(draft.fully_connected(draft.input((1, 6)), 3))


def constants_of(graph):
    """Names of all weights and biases."""
    return [
        name
        for node in graph.nodes
        if node.op in WEIGHTED
        for name in (node.name, f"{node.name}/bias")
    ]


def as_dict(session, results):
    if isinstance(results, dict):
        return results
    return {session.graph.tensors[session.graph.outputs[0]].name: results}


def assert_equal(actual, expected):
    assert list(actual) == list(expected)
    for name, array in expected.items():
        assert actual[name].dtype == array.dtype
        assert np.array_equal(actual[name], array), name


@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_any_batch_gives_what_each_image_gives(count):
    session = Session(branched())
    x = codes(session.graph, 5)
    part = {name: array[:count] for name, array in x.items()}
    actual = session.run(part)
    alone = [session.run({name: array[k : k + 1] for name, array in x.items()}) for k in range(5)]
    for name, array in actual.items():
        assert array.shape == (count, *session.graph.tensor(name).shape[1:])
        expected = [one[name] for one in alone[:count]]
        assert count == 0 or np.array_equal(array, np.concatenate(expected))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("seed", range(4))
def test_threads_do_not_change_a_bit(seed, threads):
    _, graph = random_network(seed)
    x = codes(graph, 5, seed)
    expected, session = Session(graph, threads=1), Session(graph, threads=threads)
    assert session.threads == threads
    assert_equal(as_dict(session, session.run(x)), as_dict(expected, expected.run(x)))
    assert_equal(dict(session.trace(x)), dict(expected.trace(x)))


def test_threads_are_the_processors_of_this_process_by_default(monkeypatch):
    assert Session(single()).threads == len(os.sched_getaffinity(0))
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {5})
    assert Session(single()).threads == 1
    monkeypatch.delattr(os, "sched_getaffinity")
    assert Session(single()).threads == os.cpu_count()


@pytest.mark.parametrize("threads", [0, -1])
def test_session_rejects_no_threads(threads):
    with pytest.raises(ValueError, match=f"threads must be at least 1, got {threads}"):
        Session(single(), threads=threads)


def test_one_output_is_an_array_and_several_are_a_dictionary():
    assert isinstance(Session(single()).run(np.zeros((2, 6), np.int8)), np.ndarray)
    graph = branched()
    results = Session(graph).run(codes(graph))
    assert list(results) == [graph.tensors[i].name for i in graph.outputs]


def test_input_may_be_an_array_a_list_or_a_mapping():
    session = Session(single())
    x = np.linspace(-4, 4, 12).reshape(2, 6)
    expected = session.run(x)
    assert np.array_equal(session.run(x.tolist()), expected)
    assert np.array_equal(session.run({"x_0": x}), expected)
    assert np.array_equal(session.run(np.asfortranarray(x)), expected)


def test_session_does_not_keep_or_change_the_callers_input():
    session = Session(single())
    x = codes(session.graph)["x_0"]
    kept = x.copy()
    y = session.run(x)
    y[:] = 0
    assert np.array_equal(x, kept)
    assert session.run(x).any()


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_real_input_is_quantised_half_away_from_zero(dtype):
    """scale 0.5, zero point -3: ties, both ends and what lies beyond them."""
    draft = Draft()
    graph = draft.graph(draft.node("relu", [draft.input((1, 8), scale=0.5, zero_point=-3)],
                                   affine={"scale": 0.5, "zero_point": -3}))  # fmt: skip
    session = Session(graph)
    x = np.array([[0.25, 0.75, -0.25, -0.74, 1e4, -1e4, 65.0, np.inf]], dtype)
    expected = np.array([[-2, -1, -4, -4, 127, -128, 127, 127]], np.int8)
    assert np.array_equal(dict(session.trace(x))["x_0"], expected)


def test_real_input_of_a_real_graph_may_be_of_any_width():
    draft = Draft()
    x = draft.input((1, 3), "float32")
    session = Session(draft.graph(draft.node("quantize", [x], affine={"scale": 0.5})))
    values = np.array([[0.3, -1.2, 1e300]])
    assert session.run(values).tolist() == [[-2, -5, 127]]
    assert session.run(values[:, [0, 1, 1]].astype(np.float16)).tolist() == [[-2, -5, -5]]


@pytest.mark.parametrize("dtype", ["int8", "float32"])
def test_session_rejects_nan(dtype):
    draft = Draft()
    op = "quantize" if dtype == "float32" else "relu"
    graph = draft.graph(draft.node(op, [draft.input((1, 3), dtype)], affine={}))
    with pytest.raises(ValueError, match="input x_0: real numbers must not be NaN"):
        Session(graph).run(np.array([[0.0, np.nan, 1.0]]))


@pytest.mark.parametrize(
    ("x", "error", "message"),
    [
        (np.zeros((2, 5), np.int8), ValueError, "input x_0: shape must be (batch, 6), got (2, 5)"),
        (np.zeros(6, np.int8), ValueError, "input x_0: shape must be (batch, 6), got (6,)"),
        (np.zeros((1, 6, 1)), ValueError, "input x_0: shape must be (batch, 6), got (1, 6, 1)"),
        (np.zeros((1, 6), np.uint8), TypeError,
         "input x_0: type must be int8 (codes) or floating (real numbers), got uint8"),
        (np.zeros((1, 6), np.int64), TypeError,
         "input x_0: type must be int8 (codes) or floating (real numbers), got int64"),
        (np.zeros((1, 6), bool), TypeError,
         "input x_0: type must be int8 (codes) or floating (real numbers), got bool"),
        (np.zeros((1, 6), complex), TypeError,
         "input x_0: type must be int8 (codes) or floating (real numbers), got complex128"),
        ({"y": np.zeros((1, 6))}, ValueError, "inputs must have the keys ['x_0'], got ['y']"),
        ({}, ValueError, "inputs must have the keys ['x_0'], got []"),
    ],
)  # fmt: skip
def test_session_rejects_input(x, error, message):
    with pytest.raises(error) as caught:
        Session(single()).run(x)
    assert str(caught.value) == message


def test_session_rejects_codes_of_a_graph_that_takes_reals():
    draft = Draft()
    graph = draft.graph(draft.node("quantize", [draft.input((1, 3), "float32")], affine={}))
    with pytest.raises(TypeError, match="input x_0: type must be float32, got int8"):
        Session(graph).run(np.zeros((1, 3), np.int8))


def test_session_rejects_one_array_for_two_inputs():
    message = r"inputs must be a mapping with the keys \['x_0', 'x_1'\], got one array"
    with pytest.raises(TypeError, match=message):
        Session(branched()).run(np.zeros((1, 4, 4, 2), np.int8))


def test_session_rejects_unequal_batches():
    graph = branched()
    x = codes(graph, 2)
    x["x_1"] = x["x_1"][:1]
    with pytest.raises(ValueError, match="inputs must hold equally many images, got"):
        Session(graph).run(x)


def test_declared_batch_of_independent_images_is_no_constraint():
    draft = Draft()
    x = draft.conv2d(draft.input((4, 5, 5, 2)), 3)
    pooled = draft.node("mean", [x], axes=(1, 2), keep_dims=False)
    flat = draft.node("reshape", [pooled], shape=(4, 3))
    session = Session(draft.graph(draft.fully_connected(flat, 2)))
    x = codes(session.graph, 7)["x_0"]
    assert session.graph.tensors[0].shape[0] == 1
    expected = [session.run(x[k : k + 1]) for k in range(7)]
    assert np.array_equal(session.run(x), np.concatenate(expected))


def mixing():
    """A graph for two images that meet: their mean is taken off axis 0."""
    draft = Draft()
    x = draft.conv2d(draft.input((2, 3, 3, 2)), 3)
    return draft.graph(draft.node("mean", [x], axes=(0,), keep_dims=True))


def test_images_that_meet_come_in_the_declared_batch():
    session = Session(mixing())
    x = codes(session.graph, 3)["x_0"]
    y = session.run(x)
    assert y.shape == (3, 3, 3, 3)
    assert np.array_equal(y[1:2], session.run(x[2:4]))
    swapped = session.run(x[[1, 0, 3, 2, 5, 4]])
    assert np.array_equal(swapped, y)


def test_session_rejects_a_part_of_a_batch_that_meets():
    message = "input x_0: this graph mixes images of a batch, so the batch must be a multiple of 2"
    with pytest.raises(ValueError, match=message):
        Session(mixing()).run(np.zeros((3, 3, 3, 2), np.int8))


def test_scalars_run():
    draft = Draft()
    graph = draft.graph(draft.node("relu", [draft.input(())], affine={"scale": 0.1}))
    assert Session(graph).run(np.int8(57)).tolist() == [27]
    assert Session(graph).run(np.float32(-1.0)).tolist() == [-3]


def test_session_rejects_an_illegal_graph():
    graph = replace(single(), profile="nothing")
    with pytest.raises(ModelError, match="profile: must be one of"):
        Session(graph)


@pytest.mark.parametrize("seed", NETWORKS)
def test_trace_has_the_tensors_and_the_order_of_tflite_micro(seed):
    drawn, graph = random_network(seed)
    names = {tensor.stream: tensor.name for tensor in graph.tensors}
    expected = {names[i]: codes for i, codes in tflm.trace(drawn.model, [drawn.x]).items()}
    assert_equal(dict(Session(graph).trace(drawn.x)), expected)


@pytest.mark.parametrize("seed", NETWORKS)
def test_run_from_a_prefix_gives_what_run_gives_for_every_cut(seed):
    _, graph = random_network(seed)
    x = codes(graph, 3, seed)
    expected = Session(graph, threads=1)
    expected = as_dict(expected, expected.run(x))
    for name in constants_of(with_biases(graph)):
        session = Session(graph, trainable=[name], threads=2)
        prefix = session.prefix(x)
        assert len(prefix) == len(next(iter(x.values()))) // session.graph.tensors[0].shape[0]
        assert_equal(as_dict(session, session.run_from(prefix)), expected)


def test_prefix_without_trainable_weights_holds_the_outputs():
    graph = branched()
    session = Session(graph)
    x = codes(graph, 4)
    assert session.macs_from_prefix == 0
    assert_equal(session.run_from(session.prefix(x)), session.run(x))


@pytest.mark.parametrize("rows", [slice(1, 3), [3, 0, 0], [True, False, True, False], 2])
def test_prefix_is_indexed_by_images(rows):
    graph = branched()
    session = Session(graph, trainable=["fully_connected_0"])
    x = codes(graph, 4)
    chosen = session.prefix(x)[rows]
    images = np.atleast_1d(np.arange(4)[rows])
    assert len(chosen) == len(images)
    assert_equal(session.run_from(chosen), session.run({name: a[images] for name, a in x.items()}))


def test_prefix_outlives_changes_of_the_weights_behind_it():
    graph = branched()
    session = Session(graph, trainable=["fully_connected_0"])
    x = codes(graph, 3)
    prefix = session.prefix(x)
    session.weights["fully_connected_0"][1] += 1
    assert_equal(session.run_from(prefix), session.run(x))


def test_prefix_tensor_reads_what_a_prefix_holds():
    graph = branched()
    session = Session(graph, trainable=["fully_connected_0"])
    x = codes(graph, 3)
    flat, traced = graph.nodes[4].outputs[0], dict(session.trace(x))
    name = graph.tensors[flat].name
    assert np.array_equal(session.prefix_tensor(session.prefix(x), name), traced[name])
    with pytest.raises(KeyError):
        session.prefix_tensor(session.prefix(x), "x_0")


@pytest.mark.parametrize("seed", NETWORKS)
def test_prefix_continued_node_by_node_gives_what_trace_gives(seed):
    _, graph = random_network(seed)
    session = Session(graph, threads=2)
    x = codes(graph, 3, seed)
    traced, prefix = dict(session.trace(x)), x
    for node in session.graph.nodes:
        prefix = session.prefix(prefix, until=node.name)
        name = session.graph.tensors[node.outputs[0]].name
        assert np.array_equal(session.prefix_tensor(prefix, name), traced[name])
    assert_equal(*(as_dict(session, y) for y in (session.run_from(prefix), session.run(x))))


def test_continued_prefix_takes_present_scales_and_keeps_what_has_run():
    graph = branched()
    session = Session(graph, threads=1)
    x = codes(graph, 3)
    before = session.prefix(x, until="depthwise_conv2d_0")
    for name in ("depthwise_conv2d_0", "conv2d_1"):
        session.requantization[name].shift[:] -= 1
    after = session.prefix(before, until="add_0")
    session.requantization["depthwise_conv2d_0"].shift[:] += 1
    assert np.array_equal(after.rows, session.prefix(x, until="add_0").rows)
    session.requantization["conv2d_1"].shift[:] += 1
    assert not np.array_equal(after.rows, session.prefix(x, until="add_0").rows)


def test_prefix_rejects_nodes_it_cannot_reach():
    graph = branched()
    session = Session(graph, threads=1)
    prefix = session.prefix(codes(graph), until="conv2d_1")
    message = "prefix: must stand behind 1 node of .* at most, got one behind 3"
    with pytest.raises(ValueError, match=message):
        session.prefix(prefix, until="conv2d_0")
    with pytest.raises(KeyError, match="no node is called 'conv2d_9'"):
        session.prefix(prefix, until="conv2d_9")


def test_run_from_rejects_a_prefix_of_another_session():
    graph = branched()
    x = codes(graph)
    prefix = Session(graph, trainable=["fully_connected_0"]).prefix(x)
    with pytest.raises(ValueError, match=r"must stand behind 0 nodes of .*, got one behind"):
        Session(graph, trainable=["conv2d_0"]).run_from(prefix)
    other = Session(single(), trainable=["fully_connected_0"]).prefix(codes(single()))
    message = "prefix: must be one that this session made, 80 bytes an image, got 6"
    with pytest.raises(ValueError, match=message):
        Session(graph, trainable=["conv2d_0"]).run_from(other)


def test_macs_count_the_whole_graph_and_what_follows_the_prefix():
    graph = branched()
    parts = [16 * 4 * 9 * 2, 16 * 6 * 9, 16 * 4 * 6, 5 * 64]
    assert Session(graph).macs == sum(parts)
    for name, rest in (("conv2d_0", sum(parts)), ("depthwise_conv2d_0", sum(parts[1:])),
                       ("conv2d_1", sum(parts[2:])), ("fully_connected_0", parts[3])):  # fmt: skip
        assert Session(graph, trainable=[name]).macs_from_prefix == rest


def test_macs_count_one_image_of_a_declared_batch():
    draft = Draft()
    graph = draft.graph(draft.fully_connected(draft.input((8, 6)), 3))
    assert Session(graph).macs == 18
    assert Session(mixing()).macs == 9 * 3 * 9 * 2


def test_accumulator_overrides_the_graphs():
    graph = replace(single(), accumulator=Accumulator(24, "saturate"))
    assert Session(graph).graph.accumulator == Accumulator(24, "saturate")
    session = Session(graph, accumulator=Accumulator(16, "error"))
    assert session.graph.accumulator == Accumulator(16, "error")
    check(session.snapshot())
    assert session.snapshot().accumulator == Accumulator(16, "error")
