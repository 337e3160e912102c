"""Finding, cutting and replacing a graph's classifier."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft

import npusim
from npusim import ModelError, Session
from npusim.head import (
    Head,
    find_head,
    frozen_part,
    replace_head,
    until,
    until_features,
    until_logits,
    with_features,
    with_head,
)
from npusim.models import digits_cnn


def head_graph(kind, softmax=False):
    """A convolution, a pool to 1x1, and a head of 5 classes of this kind, perhaps softmax."""
    draft = Draft(seed=1)
    x = draft.input((1, 6, 6, 3))
    y = draft.node("average_pool2d", [draft.conv2d(x, 4)], kernel=(6, 6), stride=(1, 1),
                   padding="valid", activation="none")  # fmt: skip
    if kind == "conv2d":
        y = draft.node("reshape", [draft.conv2d(y, 5, (1, 1), padding="valid")], shape=(-1, 5))
    else:
        y = draft.fully_connected(y, 5)
    if softmax:
        affine = {"scale": 1 / 256, "zero_point": -128}
        y = draft.node("softmax", [y], affine=affine, beta=1.0)
    return draft.graph(y)


def new_head(classes, features=4, scale=0.07):
    rng = np.random.default_rng(classes)
    return Head(
        rng.integers(-126, 127, (classes, features)).astype(np.int8),
        rng.uniform(0.001, 0.01, classes).astype(np.float32),
        rng.integers(-500, 500, classes).astype(np.int32),
        scale,
    )


@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize("kind", ["conv2d", "fully_connected"])
def test_head_is_found_before_what_follows_it(kind, softmax):
    node = find_head(head_graph(kind, softmax))
    assert node.op == kind
    assert node.name == ("conv2d_1" if kind == "conv2d" else "fully_connected_0")


def test_find_head_rejects_graphs_without_one():
    draft = Draft()
    convolution = draft.graph(draft.conv2d(draft.input((1, 4, 4, 3)), 4))
    with pytest.raises(ModelError, match=r"must end in a fully connected.*, got conv2d_0/conv2d"):
        find_head(convolution)
    draft = Draft()
    passed_on = draft.graph(draft.node("reshape", [draft.input((1, 4))], shape=(-1, 4)))
    with pytest.raises(ModelError, match="got its input"):
        find_head(passed_on)


@pytest.mark.parametrize("reshaped", [False, True])
@pytest.mark.parametrize(("op", "attributes"), [
    ("mean", {"axes": (1, 2), "keep_dims": False}),
    ("mean", {"axes": (1, 2), "keep_dims": True}),
    ("average_pool2d", {"kernel": (4, 4), "stride": (4, 4), "padding": "valid",
                        "activation": "none"}),
])  # fmt: skip
def test_a_graph_that_ends_at_its_features_gets_a_head(op, attributes, reshaped):
    draft = Draft()
    x = draft.node(op, [draft.conv2d(draft.input((1, 4, 4, 3)), 6)], **attributes)
    graph = draft.graph(draft.node("reshape", [x], shape=(-1, 6)) if reshaped else x)
    with pytest.raises(
        ModelError, match="put a classifier behind its features: npusim quantize or zo train"
    ):
        find_head(graph)
    blank = with_head(graph, 3)
    images = np.random.default_rng(0).integers(-128, 128, (2, 4, 4, 3)).astype(np.int8)
    assert np.array_equal(Session(blank, threads=1).run(images), np.zeros((2, 3)))
    assert until_features(blank) == graph
    streams = [tensor.stream for tensor in blank.tensors]
    assert len(set(streams)) == len(streams)
    assert replace_head(blank, new_head(3, 6)).tensor("head").shape == (3, 6)


def test_a_head_in_place_of_none_is_refused_where_the_graph_ends_at_no_features():
    draft = Draft()
    convolution = draft.graph(draft.conv2d(draft.input((1, 4, 4, 3)), 4))
    with pytest.raises(ModelError, match="got conv2d_0/conv2d; name another output"):
        with_head(convolution, 3)
    whole = head_graph("fully_connected", softmax=True)
    assert with_head(whole, 3) == until_logits(whole)


@pytest.mark.parametrize("kind", ["conv2d", "fully_connected"])
def test_cut_graphs_compute_what_the_whole_one_does(kind):
    graph = head_graph(kind, softmax=True)
    images = np.random.default_rng(0).integers(-128, 128, (3, 6, 6, 3)).astype(np.int8)
    head = find_head(graph)
    traced = dict(Session(graph, threads=1).trace(images))
    features, logits = (graph.tensors[i].name for i in (head.inputs[0], head.outputs[0]))
    assert np.array_equal(Session(until_features(graph), threads=1).run(images), traced[features])
    assert np.array_equal(Session(until_logits(graph), threads=1).run(images), traced[logits])
    both = Session(with_features(until_logits(graph)), threads=1).run(images)
    assert np.array_equal(both[features], traced[features])
    assert np.array_equal(both[logits], traced[logits])


@pytest.mark.parametrize("kind", ["conv2d", "fully_connected"])
@pytest.mark.parametrize("classes", [3, 7])
def test_replaced_head_computes_the_new_logits(kind, classes):
    graph, head = head_graph(kind, softmax=True), new_head(classes)
    replaced = replace_head(graph, head)
    images = np.random.default_rng(0).integers(-128, 128, (6, 6, 6, 3)).astype(np.int8)
    x = Session(until_features(graph), threads=1).run(images).reshape(6, -1)
    q = graph.tensors[find_head(graph).inputs[0]].quantization
    acc = (x.astype(np.int64) - q.zero_point) @ head.weights.astype(np.int64).T + head.bias
    exact = acc * (q.scale.astype(np.float64) * head.weight_scale / head.scale)
    assert np.abs(exact - np.rint(exact)).max() < 0.4999
    logits = Session(replaced, threads=1).run(images).reshape(6, classes)
    assert np.array_equal(logits, np.clip(np.rint(exact), -128, 127))
    assert replaced.tensor("logits").quantization.zero_point.tolist() == [0]


def test_replacing_a_head_keeps_streams_and_other_tensors():
    graph = head_graph("fully_connected", softmax=True)
    old = find_head(graph)
    replaced = replace_head(graph, new_head(3))
    streams = [graph.tensors[i].stream for i in old.inputs[1:]]
    assert [replaced.tensor(name).stream for name in ("head", "head/bias")] == streams
    for tensor in until_features(graph).tensors:
        assert replaced.tensor(tensor.name) == tensor
    numbers = [t.stream for t in replaced.tensors if t.data is not None]
    assert len(set(numbers)) == len(numbers)


def test_a_bias_where_there_was_none_gets_a_free_stream():
    draft = Draft()
    graph = draft.graph(draft.fully_connected(draft.input((1, 4)), 5, bias=False))
    replaced = replace_head(graph, new_head(3))
    assert replaced.tensor("head/bias").stream > max(t.stream for t in graph.tensors)


def test_replacing_twice_keeps_the_names():
    once = replace_head(digits_cnn(), new_head(3, 64))
    twice = replace_head(once, new_head(4, 64))
    assert [t.name for t in twice.tensors[-3:]] == ["head", "head/bias", "logits"]


def test_taken_names_get_a_suffix():
    graph = head_graph("fully_connected")
    tensors = [replace(t, name="head") if t.kind == "input" else t for t in graph.tensors]
    replaced = replace_head(replace(graph, tensors=tuple(tensors)), new_head(3))
    assert [t.name for t in replaced.tensors[-3:]] == ["head#2", "head/bias", "logits"]


def test_replaced_head_round_trips_through_a_file(tmp_path):
    graph = replace_head(digits_cnn(), new_head(3, 64))
    npusim.save(graph, tmp_path / "m.h5")
    assert npusim.load(tmp_path / "m.h5") == graph


def test_replace_head_rejects_what_does_not_fit():
    graph = head_graph("fully_connected")
    with pytest.raises(ModelError, match=r"must be \(O, 4\), \(O,\), \(O,\), got \(3, 5\), \(3,\)"):
        replace_head(graph, new_head(3, features=5))
    with pytest.raises(ModelError, match=r"got \(3, 4\), \(2,\), \(3,\)"):
        replace_head(graph, new_head(3)._replace(weight_scale=np.ones(2, np.float32)))


def test_frozen_part_computes_what_a_prefix_keeps():
    graph = digits_cnn()
    images = np.random.default_rng(0).integers(-128, 128, (4, 8, 8, 1)).astype(np.int8)
    for trainable in (["head"], ["down", "head"]):
        session = Session(graph, trainable=trainable, threads=1)
        part = Session(frozen_part(session.graph, trainable), threads=1)
        assert np.array_equal(part.prefix(images).rows, session.prefix(images).rows)
    nothing = frozen_part(graph, ["stem/bias"])
    assert nothing.nodes == ()
    assert nothing.outputs == nothing.inputs


def test_until_keeps_what_a_later_node_reads():
    draft = Draft()
    x = draft.input((1, 4, 4, 3))
    y = draft.conv2d(x, 3)
    graph = draft.graph(draft.node("add", [draft.conv2d(y, 3), y], activation="none"))
    part = until(graph, 2)
    assert [part.tensors[i].name for i in part.outputs] == [
        graph.tensors[i].name for i in (y, graph.nodes[1].outputs[0])
    ]


@pytest.mark.parametrize("kind", ["conv2d", "fully_connected"])
def test_head_names_the_classifier_of_any_name(kind):
    graph = head_graph(kind, softmax=True)
    node = find_head(graph)
    weights, bias = (graph.tensors[i].name for i in node.inputs[1:])
    assert "head" not in (weights, bias)
    session = Session(graph, trainable=["head", "head/bias"], threads=1)
    assert session.trainable == (weights, bias)
    assert session.weights["head"] is session.weights[weights]


def test_a_tensor_called_head_comes_before_the_classifier():
    graph = head_graph("fully_connected")
    first = graph.nodes[0].inputs[1]
    tensors = list(graph.tensors)
    tensors[first] = replace(tensors[first], name="head")
    session = Session(replace(graph, tensors=tuple(tensors)), trainable=["head"], threads=1)
    assert session.weights["head"].shape == tensors[first].shape
    assert session.frozen_nodes == 0
