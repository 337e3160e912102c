"""`npusim diff` of a board: parameters that nobody knows are found from what it computed."""

import json
from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft, codes

import npusim
from npusim.affine import quantization
from npusim.diff import Dump, Side, diff, of_golden
from npusim.golden import record
from npusim.graph import ABSENT
from npusim.neural_art.settle import settle


def network(seed=1):
    """A large kernel, an add, a deep 1x1 convolution, a global average and a classifier.

    Scales of weights are powers of two, so that ties are frequent.
    """
    draft = Draft(seed)
    x = draft.input((1, 9, 8, 5), zero_point=-128)
    y = draft.conv2d(x, 5, (5, 5))
    y = draft.node("add", [y, x], activation="none", affine={"scale": 0.1})
    y = draft.conv2d(draft.conv2d(y, 130, (1, 1)), 6, (1, 1), activation="relu")
    y = draft.node("mean", [y], axes=(1, 2), keep_dims=False, affine={"scale": 0.03})
    graph = draft.graph(draft.fully_connected(y, 12), profile="neural-art")
    tensors = list(graph.tensors)
    for i, t in enumerate(tensors):
        if t.dtype == "int8" and t.kind == "constant":
            q = quantization(t)
            powers = np.exp2(np.rint(np.log2(q.scale))).astype(np.float32)
            tensors[i] = replace(t, quantization=replace(q, scale=powers))
    return replace(graph, tensors=tuple(tensors))


def report(graph, board, images=10):
    """What is said of a board that runs `board` where `graph` was recorded."""
    inputs = codes(graph, images)
    a = of_golden("A", record(graph, inputs, threads=1), graph)
    dumped = dict(npusim.Session(board, threads=1).trace(inputs))
    return diff(a, Side("B", "folder", tuple(Dump(k, "", v) for k, v in dumped.items())))


@pytest.mark.parametrize(
    ("node", "given", "sentence"),
    [
        ("conv2d_0", {"s0": 2}, "s0 is 2, not 6 (derived)"),
        ("conv2d_1", {"s0": 6}, "s0 is 6, not 2 (derived)"),
        ("conv2d_1", {"ties": ["up", "away", "away"]},
         "ties are up / any / away, not away (derived)"),
        ("conv2d_1", {"s0": 6, "ties": ["even", "away", "away"]},
         "s0 is 6, not 2 (derived) and ties are even / any / away, not away (derived)"),
        ("conv2d_2", {"partial_bits": 24}, "partial_bits is 24, not 16 (derived)"),
        ("add_0", {"ties": "even"}, "ties are even, not away (derived)"),
    ],
)  # fmt: skip
def test_parameter_is_found_and_can_be_given(node, given, sentence):
    graph = network()
    board = settle(graph, {node: given})
    (departure,) = report(graph, board).departures
    assert (departure.node, departure.cause.kind) == (node, "parameter")
    assert departure.cause.sentence == sentence
    found, _ = json.JSONDecoder().raw_decode(departure.cause.evidence.split("to be given as ")[1])
    assert found == {node: departure.cause.given}
    assert report(settle(graph, found), board).equal


def test_given_parameter_is_called_so():
    graph = settle(network(), {"conv2d_1": {"s0": 4}})
    (departure,) = report(graph, settle(graph, {"conv2d_1": {"s0": 6}})).departures
    assert departure.cause.sentence == "s0 is 6, not 4 (given)"


def test_other_faults_are_told_from_parameters():
    graph = network()
    first = graph.nodes[0]
    bare = replace(first, inputs=(*first.inputs[:2], ABSENT))
    (departure,) = report(graph, replace(graph, nodes=(bare, *graph.nodes[1:]))).departures
    assert departure.cause.sentence == "the bias is not added"


def test_host_nodes_have_no_such_causes():
    graph = replace(network(), profile="tflm")
    board = replace(graph, profile="single-rounding")
    causes = {t.cause.kind for t in report(graph, board).departures}
    assert causes == {"rounding"}
