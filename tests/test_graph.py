"""Graphs are frozen data: equal when all they hold is equal, and nobody can change them."""

import copy
import pickle
import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from graphs import Draft

from npusim.graph import Accumulator, Node, Quantization, Tensor


def small_graph():
    draft = Draft(seed=5)
    x = draft.input((1, 4, 4, 2))
    y = draft.conv2d(x, 3)
    return draft.graph(draft.node("relu", [y]), provenance={"file": "a.tflite"})


def with_tensor(graph, index, **changes):
    tensors = list(graph.tensors)
    tensors[index] = replace(tensors[index], **changes)
    return replace(graph, tensors=tuple(tensors))


def with_node(graph, index, **changes):
    nodes = list(graph.nodes)
    nodes[index] = replace(nodes[index], **changes)
    return replace(graph, nodes=tuple(nodes))


def one_weight_moved(graph):
    data = graph.tensors[1].data.copy()
    data[0, 0, 0, 0] ^= 1
    return with_tensor(graph, 1, data=data)


def one_scale_moved(graph):
    q = graph.tensors[1].quantization
    scale = q.scale.copy()
    scale[1] = np.nextafter(scale[1], np.float32(1))
    return with_tensor(graph, 1, quantization=Quantization(scale, q.zero_point, q.axis))


CHANGES = {
    "name": lambda g: replace(g, name="other"),
    "profile": lambda g: replace(g, profile="other"),
    "accumulator": lambda g: replace(g, accumulator=Accumulator(24, "saturate")),
    "layout": lambda g: replace(g, layout="NCHW"),
    "provenance": lambda g: replace(g, provenance={"file": "b.tflite"}),
    "outputs": lambda g: replace(g, outputs=(3,)),
    "tensor name": lambda g: with_tensor(g, 0, name="other"),
    "stream": lambda g: with_tensor(g, 0, stream=99),
    "dtype": lambda g: with_tensor(g, 0, dtype="uint8"),
    "weight": one_weight_moved,
    "scale": one_scale_moved,
    "no quantization": lambda g: with_tensor(g, 0, quantization=None),
    "zero point": lambda g: with_tensor(g, 0, quantization=Quantization(0.05, -4)),
    "attribute": lambda g: with_node(g, 0, attributes={**g.nodes[0].attributes, "stride": (2, 1)}),
    "given": lambda g: with_node(g, 0, given={"shift": np.zeros(3, np.int32)}),
    "inputs": lambda g: with_node(g, 0, inputs=(0, 1, -1)),
    "a node less": lambda g: replace(g, nodes=g.nodes[:1]),
}


def test_equal_graphs_are_equal():
    assert small_graph() == small_graph()
    assert small_graph() is not small_graph()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_graph_differs_from_a_changed_one(change):
    graph = small_graph()
    assert change(graph) != graph
    assert graph == small_graph()


def test_arrays_differ_when_only_their_type_does():
    def node(dtype):
        return Node("conv2d", "a", (0,), (1,), given={"shift": np.zeros(3, dtype)})

    assert node(np.int32) == node(np.int32)
    assert node(np.int32) != node(np.uint32) != node(np.float32)


def test_graphs_differ_from_other_things():
    graph = small_graph()
    assert graph != graph.tensors
    assert graph.tensors[0] != graph.nodes[0]
    assert graph.tensors[0].quantization != None  # noqa: E711


@pytest.mark.parametrize("part", [
    small_graph(), small_graph().nodes[0], small_graph().tensors[0],
    small_graph().tensors[0].quantization,
], ids=["graph", "node", "tensor", "quantization"])  # fmt: skip
def test_parts_are_not_hashable(part):
    with pytest.raises(TypeError, match="unhashable"):
        hash(part)


def test_arrays_are_read_only():
    graph = small_graph()
    node = replace(graph.nodes[0], given={"shift": np.zeros(3, np.int32)})
    weights = graph.tensors[1]
    for array in (weights.data, weights.quantization.scale, weights.quantization.zero_point,
                  node.given["shift"]):  # fmt: skip
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1


@pytest.mark.parametrize("view", [lambda a: a, lambda a: a[:], lambda a: a[::-1]])
def test_tensor_does_not_follow_the_callers_array(view):
    values = np.arange(6, dtype=np.int8)
    expected = view(values).copy()
    tensor = Tensor("w", (6,), "int8", "constant", data=view(values))
    values[:] = 99
    assert np.array_equal(tensor.data, expected)
    assert values.flags.writeable


def test_tensor_keeps_a_read_only_array_without_a_copy():
    values = np.frombuffer(b"abcdef", np.int8)
    tensor = Tensor("w", (6,), "int8", "constant", data=values)
    assert np.shares_memory(tensor.data, values)


def test_scalar_constant_keeps_its_shape():
    assert Tensor("w", (), "int32", "constant", data=np.int32(5)).data.shape == ()


def test_fields_and_mappings_cannot_be_set():
    graph = small_graph()
    with pytest.raises(FrozenInstanceError):
        graph.name = "other"
    with pytest.raises(TypeError):
        graph.nodes[0].attributes["stride"] = (2, 2)
    with pytest.raises(TypeError):
        graph.provenance["file"] = "other"


def test_attributes_do_not_follow_the_callers_dictionary():
    attributes = {"beta": 1.0}
    node = Node("softmax", "softmax_0", (0,), (1,), attributes)
    attributes["beta"] = 2.0
    assert node.attributes["beta"] == 1.0


def test_quantization_of_numbers_is_per_tensor():
    q = Quantization(0.5, -3)
    assert (q.scale.dtype, q.zero_point.dtype, q.axis) == (np.float32, np.int64, None)
    assert (q.scale.tolist(), q.zero_point.tolist()) == ([0.5], [-3])


def test_graph_finds_tensors_and_nodes_by_name():
    graph = small_graph()
    assert graph.tensor("y_3") is graph.tensors[3]
    assert graph.node("relu_0") is graph.nodes[1]


def test_graph_names_the_closest_of_what_it_does_not_find():
    graph = small_graph()
    message = "graph draft: no tensor is called 'y_33'; closest of 5: y_3, y_4"
    with pytest.raises(KeyError, match=whole(message)):
        graph.tensor("y_33")
    message = "graph draft: no node is called 'relu'; closest of 2: relu_0"
    with pytest.raises(KeyError, match=whole(message)):
        graph.node("relu")
    message = "graph draft: no node is called 'head'; first of 2: conv2d_0, relu_0"
    with pytest.raises(KeyError, match=whole(message)):
        graph.node("head")
    message = "graph draft: no node is called 'relu'; there are none"
    with pytest.raises(KeyError, match=whole(message)):
        replace(graph, nodes=()).node("relu")


def whole(message):
    """Matches a KeyError of exactly this message, which str() shows with its quotes."""
    return f"^{re.escape(repr(message))}$"


PARTS = [
    small_graph(), small_graph().nodes[0], small_graph().tensors[1],
    small_graph().tensors[1].quantization, Accumulator(24, "saturate"),
]  # fmt: skip


@pytest.mark.parametrize("part", PARTS, ids=lambda part: type(part).__name__)
@pytest.mark.parametrize("again", [
    copy.copy, copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part)),
], ids=["copy", "deepcopy", "pickle"])  # fmt: skip
def test_copies_and_pickles_are_equal(part, again):
    assert again(part) == part
    assert type(again(part)) is type(part)


def test_pickled_graph_is_frozen():
    graph = pickle.loads(pickle.dumps(small_graph()))
    with pytest.raises(TypeError):
        graph.nodes[0].attributes["stride"] = (2, 2)
    for array in (graph.tensors[1].data, graph.tensors[1].quantization.scale):
        assert not array.flags.writeable


def test_repr_names_and_counts_and_holds_no_data():
    graph = small_graph()
    assert repr(graph) == "<Graph draft: 2 nodes, 5 tensors, profile tflm>"
    assert repr(graph.nodes[0]) == "<Node conv2d_0: conv2d, 3 inputs, 1 output>"
    assert repr(graph.tensors[1]) == "<Tensor weights_1: int8 (3, 3, 3, 2), constant>"


@pytest.mark.parametrize("bits", [16.5, 16.0, "16", None])
def test_accumulator_rejects_bits_that_are_no_whole_number(bits):
    message = f"accumulator: bits must be a whole number in 8..64, got {bits!r}"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        Accumulator(bits)


def test_accumulator_holds_plain_integers():
    assert type(Accumulator(np.int64(18)).bits) is int


@pytest.mark.parametrize("bits", [7, 65, 0, -8])
def test_accumulator_rejects_widths(bits):
    with pytest.raises(ValueError, match=f"accumulator: bits must be 8..64, got {bits}"):
        Accumulator(bits)


def test_accumulator_rejects_unknown_overflow():
    rule = "accumulator: overflow must be wrap, saturate or error, got 'clip'"
    with pytest.raises(ValueError, match=rule):
        Accumulator(16, "clip")


def test_accumulator_is_32_bits_that_wrap_by_default():
    assert Accumulator() == Accumulator(32, "wrap")
