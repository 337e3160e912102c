"""Weights are found in blobs made here by loops, and not found where nobody could tell."""

from dataclasses import replace

import numpy as np
import pytest
from blob.test_layouts import deep_bytes
from one_node import activation, pointwise

from npusim import models
from npusim.blob import block_diagonal, locate_weights, plain
from npusim.blob.locate import ABSENT, AMBIGUOUS, FOUND, UNDECIDABLE


@pytest.fixture(scope="module")
def graph():
    return models.digits_cnn()


def noise(seed, n):
    return np.random.default_rng(seed).integers(0, 256, n, np.uint8).tobytes()


def weights_of(graph):
    """Node -> weights, of every weighted node."""
    ops = ("conv2d", "depthwise_conv2d", "fully_connected")
    return {n.name: graph.tensors[n.inputs[1]].data for n in graph.nodes if n.op in ops}


def compiled(graph):
    """(blob, node -> offset): as Neural-ART may have it, every tensor in a layout of its own."""
    blob, offsets = noise(1, 101), {}
    for name, w in weights_of(graph).items():
        if w.ndim == 2 or w.shape[1:3] == (1, 1):
            data = np.array(deep_bytes(w, 16, 128, "OI", "O"), np.int8)
        elif w.shape[0] == 1:
            data = block_diagonal(w.shape, 8).pack(w)
        else:
            data = w.transpose(0, 3, 1, 2).ravel()
        offsets[name] = len(blob)
        blob += data.tobytes() + noise(len(blob), 64)
    return blob, offsets


def test_weights_are_found_in_every_layout(graph):
    blob, offsets = compiled(graph)
    found = list(locate_weights(graph, blob))
    assert [one.verdict for one in found] == [FOUND] * len(offsets)
    assert {one.node: one.places[0].offset for one in found} == offsets
    assert {one.node: one.places[0].layout.name for one in found} == {
        "conv2d_0": "plain OHWI",
        "conv2d_1": "plain OIHW",
        "depthwise_conv2d_0": "block-diagonal, 8 channels, OHWI",
        "conv2d_2": "plain OHWI",  # of one slab, in pieces that three divides
        "fully_connected_0": "plain OI",
    }
    for one in found:
        place = one.places[0]
        packed = np.frombuffer(blob, np.int8)[place.offset : place.offset + place.size]
        assert np.array_equal(place.layout.unpack(packed), weights_of(graph)[one.node])


@pytest.mark.parametrize("order", ["OI", "IO"])
@pytest.mark.parametrize("outer", "OI")
def test_slabs_are_found(order, outer):
    """All pieces and their padding, of a kernel larger than a unit holds."""
    w = np.random.default_rng(3).integers(-128, 128, (40, 200)).astype(np.int8)
    graph = pointwise(0.1, w, activation((1, 1, 1, 40)), 0.1)
    packed = np.array(deep_bytes(w, 16, 128, order, outer), np.int8)
    assert packed.size > w.size
    (one,) = locate_weights(graph, noise(2, 33) + packed.tobytes() + noise(3, 9))
    place = one.places[0]
    assert (one.verdict, place.offset, place.size) == (FOUND, 33, packed.size)
    assert place.layout.name == f"deep 1x1, 16 kernels by 128 channels, {order} in {outer}"
    assert np.array_equal(place.layout.unpack(packed).reshape(w.shape), w)


def test_addresses_are_where_training_writes(graph):
    """A changed byte at a weight's address is that weight changed."""
    blob, _ = compiled(graph)
    (one,) = locate_weights(graph, blob, ["conv2d_2"])
    place = one.places[0]
    memory = bytearray(blob)
    weights = np.array(weights_of(graph)["conv2d_2"])
    memory[place.offset + place.layout.addresses()[3, 0, 0, 2]] = 77
    weights[3, 0, 0, 2] = 77
    after = np.frombuffer(memory, np.int8)[place.offset : place.offset + place.size]
    assert np.array_equal(place.layout.unpack(after), weights)


def test_only_named_tensors_are_looked_for(graph):
    blob, _ = compiled(graph)
    assert [one.node for one in locate_weights(graph, blob, ["conv2d_1"])] == ["conv2d_1"]
    with pytest.raises(KeyError, match="no weights or bias are called 'conv9'"):
        list(locate_weights(graph, blob, ["conv9"]))


def test_weights_at_two_places_are_ambiguous(graph):
    blob, offsets = compiled(graph)
    found = {one.node: one for one in locate_weights(graph, blob + b"x" + blob)}
    one = found["conv2d_1"]
    assert (one.verdict, one.reason) == (AMBIGUOUS, "its bytes stand at 2 places")
    second = offsets["conv2d_1"] + len(blob) + 1
    assert [p.offset for p in one.places] == [offsets["conv2d_1"], second]


def test_tensors_of_equal_weights_are_ambiguous(graph):
    k = next(i for i, t in enumerate(graph.tensors) if t.data is not None and t.data.ndim == 4)
    twin = replace(graph.tensors[k], name="twin")
    node = next(n for n in graph.nodes if n.inputs[1:2] == (k,))
    second = replace(node, name="second", inputs=(node.inputs[0], len(graph.tensors)))
    both = replace(graph, tensors=(*graph.tensors, twin), nodes=(*graph.nodes, second))
    blob, _ = compiled(graph)
    found = {one.node: one for one in locate_weights(both, blob)}
    assert found[node.name].verdict == AMBIGUOUS
    assert found[node.name].reason == "twin has the same weights"


def test_other_weights_are_absent(graph):
    found = list(locate_weights(graph, noise(5, 100_000)))
    assert {one.verdict for one in found} == {ABSENT}
    assert found[1].reason.startswith("in no known layout; none of 48 output channels is there")


def test_channels_by_themselves_are_told(graph):
    """An order nobody knows: output channels apart, each with a byte behind it."""
    w = weights_of(graph)["conv2d_1"]
    blob = b"".join(w[o].tobytes() + b"\7" for o in range(len(w)))
    found = {one.node: one for one in locate_weights(graph, blob)}
    assert found["conv2d_1"].verdict == ABSENT
    assert found["conv2d_1"].reason == (
        "in no known layout; 48 of 48 output channels are there by themselves"
    )


def test_weights_that_are_nearly_all_zero_are_undecidable(graph):
    k = next(n.inputs[1] for n in graph.nodes if n.name == "conv2d_1")
    data = np.zeros(graph.tensors[k].shape, np.int8)
    data.flat[:7] = 1
    tensors = list(graph.tensors)
    tensors[k] = replace(tensors[k], data=data)
    sparse = replace(graph, tensors=tuple(tensors))
    (one,) = locate_weights(sparse, bytes(plain(data.shape).pack(data)), ["conv2d_1"])
    assert (one.verdict, one.reason, one.places) == (
        UNDECIDABLE,
        "only 7 weights differ from 0, 8 must",
        (),
    )
