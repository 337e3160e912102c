"""What the loader makes of .tflite files: tensors, nodes, layout, provenance."""

from __future__ import annotations

import hashlib
import struct

import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter
from formats.models import (
    code,
    codes,
    edited,
    expand_dims,
    integers,
    network,
    pad_v2,
    quantization,
    squeeze,
    subgraph,
    tensor,
)
from oracles import tflite_builder as tfl

from npusim.formats import tflite
from npusim.graph import Graph, Node, Quantization, Tensor

CONVOLUTION = {"stride": (1, 1), "dilation": (1, 1), "padding": "same", "activation": "relu"}
HALF = Quantization(0.5, 1)
SHARED_MODELS = (
    "coral/tf2_mobilenet_v2_1.0_224_ptq.tflite",
    "mlperf_tiny/ad01_int8.tflite",
    "mlperf_tiny/kws_ref_model.tflite",
    "mlperf_tiny/pretrainedResnet_large_int8.tflite",
    "mlperf_tiny/pretrainedResnet_quant.tflite",
    "st/miniresnet_1stacks_64x50_tl_int8.tflite",
    "st/yamnet_256_64x96_tl_int8.tflite",
    "tflm/hello_world_int8.tflite",
    "tflm/mobilenet_v2_quantized_1x3x224x224.tflite",
)


def activation(name: str, shape: tuple[int, ...], kind: str, stream: int) -> Tensor:
    return Tensor(name, shape, "int8", kind, HALF, None, stream)


def test_network_is_loaded_whole():
    data = network()
    weights = np.arange(-18, 18, dtype=np.int8).reshape(2, 3, 3, 2)
    bias, head = np.array([100, -7], np.int32), np.array([[1, -2], [3, 4], [-5, 6]], np.int8)
    tensors = (
        activation("image", (1, 5, 4, 2), "input", 0),
        Tensor("weights", (2, 3, 3, 2), "int8", "constant",
               Quantization([0.25, 0.125], [0, 0], 0), weights, 1),
        Tensor("bias", (2,), "int32", "constant",
               Quantization([0.125, 0.0625], [0, 0], 0), bias, 2),
        activation("conv", (1, 5, 4, 2), "activation", 3),
        activation("sum", (1, 5, 4, 2), "activation", 4),
        activation("mean", (1, 2), "activation", 6),
        Tensor("head", (3, 2), "int8", "constant", Quantization(0.25, 0), head, 7),
        activation("logits", (1, 3), "activation", 8),
        Tensor("probabilities", (1, 3), "int8", "activation", Quantization(1 / 256, -128), None, 9),
    )  # fmt: skip
    nodes = (
        Node("conv2d", "conv2d_0", (0, 1, 2), (3,), CONVOLUTION),
        Node("add", "add_0", (0, 3), (4,), {"activation": "none"}),
        Node("mean", "mean_0", (4,), (5,), {"axes": (1, 2), "keep_dims": False}),
        Node("fully_connected", "fully_connected_0", (5, 6), (7,),
             {"activation": "none", "keep_dims": False}),
        Node("softmax", "softmax_0", (7,), (8,), {"beta": 1.0}),
    )  # fmt: skip
    provenance = {
        "file": "net.tflite",
        "sha256": hashlib.sha256(data).hexdigest(),
        "format": "tflite 3",
        "operators": "CONV_2D ADD MEAN FULLY_CONNECTED SOFTMAX",
    }
    expected = Graph("net", tensors, nodes, (0,), (8,), "tflm", None, "NHWC", provenance)
    assert tflite.parse(data, "net.tflite") == expected


def test_load_reads_a_file_by_its_name(tmp_path):
    path = tmp_path / "net.tflite"
    path.write_bytes(network())
    assert tflite.load(path) == tflite.parse(network(), "net.tflite")


WIDE = tfl.Window((2, 3), (1, 2), "VALID")
PAIRS = integers("pairs", [[0, 0], [1, 2], [0, 3], [0, 0]])
OPERATORS = {
    "conv_2d": (
        [codes("x", 1, 9, 9, 4), tfl.constant("w", np.ones((6, 3, 2, 4), np.int8), 0.5),
         codes("y", 1, 4, 3, 6)],
        tfl.conv_2d((0, 1), 2, WIDE, "relu_n1_to_1"),
        Node("conv2d", "conv2d_0", (0, 1), (2,), {"stride": (2, 3), "dilation": (1, 2),
             "padding": "valid", "activation": "relu_n1_to_1"}),
    ),
    "depthwise_conv_2d": (
        [codes("x", 1, 9, 9, 2), tfl.constant("w", np.ones((1, 3, 2, 6), np.int8), 0.5),
         codes("y", 1, 4, 3, 6)],
        tfl.depthwise_conv_2d((0, 1), 2, WIDE, 3, "relu6"),
        Node("depthwise_conv2d", "depthwise_conv2d_0", (0, 1), (2,), {"stride": (2, 3),
             "dilation": (1, 2), "padding": "valid", "activation": "relu6"}),
    ),
    "fully_connected": (
        [codes("x", 2, 3, 4), tfl.constant("w", np.ones((5, 4), np.int8), 0.5),
         codes("y", 2, 3, 5)],
        tfl.fully_connected((0, 1), 2, True, "relu"),
        Node("fully_connected", "fully_connected_0", (0, 1), (2,),
             {"keep_dims": True, "activation": "relu"}),
    ),
    "add": (
        [codes("a", 1, 4), codes("b", 3, 1), codes("y", 3, 4)],
        tfl.add((0, 1), 2, "relu6"),
        Node("add", "add_0", (0, 1), (2,), {"activation": "relu6"}),
    ),
    "mul": (
        [codes("a", 1, 4), tfl.constant("b", np.int8([[2]]), 0.5), codes("y", 1, 4)],
        tfl.mul((0, 1), 2),
        Node("mul", "mul_0", (0, 1), (2,), {"activation": "none"}),
    ),
    "average_pool_2d": (
        [codes("x", 1, 9, 9, 2), codes("y", 1, 4, 3, 2)],
        tfl.average_pool_2d(0, 1, (3, 2), WIDE, "relu"),
        Node("average_pool2d", "average_pool2d_0", (0,), (1,), {"kernel": (3, 2),
             "stride": (2, 3), "padding": "valid", "activation": "relu"}),
    ),
    "max_pool_2d": (
        [codes("x", 1, 9, 9, 2), codes("y", 1, 5, 3, 2)],
        tfl.max_pool_2d(0, 1, (3, 2), tfl.Window((2, 3), padding="SAME")),
        Node("max_pool2d", "max_pool2d_0", (0,), (1,), {"kernel": (3, 2), "stride": (2, 3),
             "padding": "same", "activation": "none"}),
    ),
    "mean": (
        [codes("x", 1, 2, 3, 4), integers("axes", [-1, 1, 3]), codes("y", 1, 1, 3, 1)],
        tfl.mean((0, 1), 2, True),
        Node("mean", "mean_0", (0,), (1,), {"axes": (1, 3), "keep_dims": True}),
    ),
    "mean over one axis": (
        [codes("x", 1, 2), integers("axis", 1), codes("y", 1)],
        tfl.mean((0, 1), 2, False),
        Node("mean", "mean_0", (0,), (1,), {"axes": (1,), "keep_dims": False}),
    ),
    "pad": (
        [codes("x", 1, 2, 3, 4), PAIRS, codes("y", 1, 5, 6, 4)],
        tfl.pad((0, 1), 2),
        Node("pad", "pad_0", (0,), (1,), {"padding": ((0, 0), (1, 2), (0, 3), (0, 0))}),
    ),
    "reshape": (
        [codes("x", 1, 2, 3, 4), integers("shape", [-1, 6]), codes("y", 4, 6)],
        tfl.reshape((0, 1), 2, (4, 6)),
        Node("reshape", "reshape_0", (0,), (1,), {"shape": (-1, 6)}),
    ),
    "reshape by options": (
        [codes("x", 1, 2, 3, 4), codes("y", 4, 6)],
        tfl.reshape((0,), 1, (4, 6)),
        Node("reshape", "reshape_0", (0,), (1,), {"shape": (4, 6)}),
    ),
    "reshape to a scalar": (
        [codes("x", 1, 1), integers("shape", []), codes("y")],
        tfl.reshape((0, 1), 2, ()),
        Node("reshape", "reshape_0", (0,), (1,), {"shape": ()}),
    ),
    "transpose": (
        [codes("x", 1, 2, 3), integers("permutation", [0, 2, -2], np.int64), codes("y", 1, 3, 2)],
        tfl.transpose((0, 1), 2),
        Node("transpose", "transpose_0", (0,), (1,), {"permutation": (0, 2, 1)}),
    ),
    "softmax": (
        [codes("x", 1, 2), tfl.Tensor("y", (1, 2), np.int8, 1 / 256, -128)],
        tfl.softmax(0, 1, 0.75),
        Node("softmax", "softmax_0", (0,), (1,), {"beta": 0.75}),
    ),
    "quantize": (
        [tfl.Tensor("x", (1, 2), np.float32), codes("y", 1, 2, dtype=np.uint8)],
        tfl.quantize(0, 1),
        Node("quantize", "quantize_0", (0,), (1,)),
    ),
    "dequantize": (
        [codes("x", 1, 2, dtype=np.int16), tfl.Tensor("y", (1, 2), np.float32)],
        tfl.dequantize(0, 1),
        Node("dequantize", "dequantize_0", (0,), (1,)),
    ),
    "relu": (
        [codes("x", 1, 2), codes("y", 1, 2)],
        tfl.relu(0, 1),
        Node("relu", "relu_0", (0,), (1,)),
    ),
    "relu6": (
        [codes("x", 1, 2), codes("y", 1, 2)],
        tfl.relu6(0, 1),
        Node("relu6", "relu6_0", (0,), (1,)),
    ),
    "padv2 with the zero point": (
        [codes("x", 1, 2, 3, 4), PAIRS, codes("zero", 1)._replace(data=np.int8([1])),
         codes("y", 1, 5, 6, 4)],
        pad_v2((0, 1, 2), 3),
        Node("pad", "pad_0", (0,), (1,), {"padding": ((0, 0), (1, 2), (0, 3), (0, 0))}),
    ),
    "squeeze": (
        [codes("x", 1, 2, 1, 1), codes("y", 1, 2, 1)],
        squeeze(0, 1, [-2]),
        Node("reshape", "reshape_0", (0,), (1,), {"shape": (1, 2, 1)}),
    ),
    "squeeze of all": (
        [codes("x", 1, 2, 1, 3), codes("y", 2, 3)],
        squeeze(0, 1, []),
        Node("reshape", "reshape_0", (0,), (1,), {"shape": (2, 3)}),
    ),
    "expand_dims": (
        [codes("x", 2, 3), integers("axis", [-1]), codes("y", 2, 3, 1)],
        expand_dims((0, 1), 2),
        Node("reshape", "reshape_0", (0,), (1,), {"shape": (2, 3, 1)}),
    ),
    "expand_dims in front": (
        [codes("x", 2, 3), integers("axis", 0, np.int64), codes("y", 1, 2, 3)],
        expand_dims((0, 1), 2),
        Node("reshape", "reshape_0", (0,), (1,), {"shape": (1, 2, 3)}),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", OPERATORS)
def test_operator_becomes_node(case):
    tensors, operation, expected = OPERATORS[case]
    graph = tflite.parse(tfl.model(tensors, [operation]), "m.tflite")
    assert graph.nodes == (expected,)


def test_nodes_are_counted_by_operator():
    tensors = [codes(f"t{i}", 1, 2) for i in range(5)]
    operations = [tfl.relu(0, 1), tfl.relu6(1, 2), tfl.relu(2, 3), tfl.relu6(3, 4)]
    graph = tflite.parse(tfl.model(tensors, operations), "m.tflite")
    assert [node.name for node in graph.nodes] == ["relu_0", "relu6_0", "relu_1", "relu6_1"]


@pytest.mark.parametrize(("old", "new"), [(0, 19), (19, 0), (19, 19), (-128, 19)])
def test_operator_code_is_the_larger_of_both_fields(old, new):
    data = tfl.model([codes("x", 1, 2), codes("y", 1, 2)], [tfl.relu(0, 1)])
    data = edited(data, code(0, deprecatedBuiltinCode=old, builtinCode=new))
    assert tflite.parse(data, "m.tflite").nodes[0].op == "relu"


def test_names_are_made_unique_and_printable():
    names = [
        b"a",
        b"a",
        b"a#2",
        b"",
        None,
        b"a",
        b"x\x1b[2J\xff",
        "\N{LATIN SMALL LETTER E WITH ACUTE}".encode(),
    ]
    tensors = [codes(f"t{i}", 1, 2) for i in range(len(names))]
    operations = [tfl.relu(i, i + 1) for i in range(len(names) - 1)]

    def rename(model):
        for found, name in zip(model.subgraphs[0].tensors, names, strict=True):
            found.name = name

    graph = tflite.parse(edited(tfl.model(tensors, operations), rename), "m.tflite")
    assert [t.name for t in graph.tensors] == [
        "a", "a#3", "a#2", "tensor_3", "tensor_4", "a#4", "x\ufffd[2J\ufffd", "\xe9"
    ]  # fmt: skip


def test_a_second_name_gets_a_number():
    tensors = [codes("a", 1, 2), codes("a", 1, 2), codes("a", 1, 2)]
    graph = tflite.parse(tfl.model(tensors, [tfl.relu(0, 1), tfl.relu(1, 2)]), "m.tflite")
    assert [t.name for t in graph.tensors] == ["a", "a#2", "a#3"]


def test_what_no_operator_reads_is_left_behind():
    tensors = [codes("x", 1, 2), codes("y", 1, 2), integers("spare", [1]), codes("loose", 1)]
    data = tfl.model(tensors, [tfl.relu(0, 1)])
    data = edited(data, tensor(3, type=13))  # a resource, which npusim does not know
    graph = tflite.parse(edited(data, subgraph(inputs=[0])), "m.tflite")
    assert [t.name for t in graph.tensors] == ["x", "y"]


def test_inputs_and_outputs_keep_the_order_of_the_file():
    tensors = [codes("a", 1, 2), codes("b", 1, 2), codes("p", 1, 2), codes("q", 1, 2)]
    data = tfl.model(tensors, [tfl.relu(0, 2), tfl.relu6(1, 3)])
    graph = tflite.parse(edited(data, subgraph(inputs=[1, 0], outputs=[3, 2])), "m.tflite")
    assert (graph.inputs, graph.outputs) == ((1, 0), (3, 2))


def test_scale_of_real_numbers_is_dropped():
    tensors = [tfl.Tensor("x", (1, 2), np.float32, 0.5, 3), codes("y", 1, 2)]
    graph = tflite.parse(tfl.model(tensors, [tfl.quantize(0, 1)]), "m.tflite")
    assert graph.tensors[0].quantization is None


def test_quantised_dimension_of_a_bias_is_its_only_one():
    data = edited(network(), quantization(2, quantizedDimension=3))
    assert tflite.parse(data, "net.tflite").tensors[2].quantization.axis == 0


@pytest.mark.parametrize("shift", range(4))
def test_constants_are_read_only_and_aligned(shift):
    data = moved_vector(network(), np.array([100, -7], np.int32).tobytes(), shift)
    bias = tflite.parse(data, "m.tflite").tensors[2].data
    assert bias.tolist() == [100, -7]
    assert bias.flags.aligned
    assert not bias.flags.writeable


def moved_vector(data: bytes, content: bytes, shift: int) -> bytes:
    """The file with one vector of bytes moved to its end, `shift` bytes off a multiple of 4."""
    vector = data.index(struct.pack("<I", len(content)) + content)
    fields = [at for at in range(vector) if at + struct.unpack_from("<I", data, at)[0] == vector]
    assert len(fields) == 1
    end = data + bytes(-len(data) % 4 + shift)
    moved = bytearray(end + data[vector : vector + 4 + len(content)])
    struct.pack_into("<I", moved, fields[0], len(end) - fields[0])
    return bytes(moved)


@pytest.mark.parametrize(
    ("permutation", "quantized", "expected"),
    [
        ((0, 2, 3, 1), False, "NCHW"),
        ((0, 2, 3, 1), True, "NCHW"),
        ((0, 3, 1, 2), False, "NHWC"),
        ((0, 1, 3, 2), True, "NHWC"),
    ],
)
def test_layout_is_that_of_the_first_transpose(permutation, quantized, expected):
    shape = (1, 3, 4, 5)
    turned = tuple(shape[axis] for axis in permutation)
    tensors = [codes("x", *shape), integers("p", permutation), codes("y", *turned)]
    operations = [tfl.transpose((0, 1), 2)]
    if quantized:
        tensors.append(codes("image", *shape, dtype=np.uint8))
        operations.insert(0, tfl.quantize(3, 0))
    assert tflite.parse(tfl.model(tensors, operations), "m.tflite").layout == expected


def test_layout_is_nhwc_where_the_image_is_also_read_as_it_is():
    tensors = [codes("image", 1, 4, 4, 4), integers("p", [0, 2, 3, 1]), codes("y", 1, 4, 4, 4),
               codes("z", 1, 4, 4, 4)]  # fmt: skip
    data = tfl.model(tensors, [tfl.transpose((0, 1), 2), tfl.add((0, 2), 3)])
    assert tflite.parse(data, "m.tflite").layout == "NHWC"


@pytest.mark.parametrize("name", SHARED_MODELS)
def test_tensors_of_real_models_match_litert(shared, name):
    path = shared(f"models/{name}")
    interpreter = Interpreter(model_path=str(path))
    expected = {details["index"]: details for details in interpreter.get_tensor_details()}
    graph = tflite.load(path)
    for found in graph.tensors:
        details = expected[found.stream]
        affine = details["quantization_parameters"]
        assert found.shape == tuple(details["shape"])
        assert found.dtype == np.dtype(details["dtype"]).name
        if found.quantization is None:
            assert affine["scales"].size == 0
        else:
            assert np.array_equal(found.quantization.scale, affine["scales"])
            assert np.array_equal(found.quantization.zero_point, affine["zero_points"])
            assert found.quantization.axis in (None, affine["quantized_dimension"])
        if found.data is not None:
            assert np.array_equal(found.data, interpreter.get_tensor(found.stream))
    assert [graph.tensors[i].stream for i in graph.inputs] == [
        details["index"] for details in interpreter.get_input_details()
    ]
    assert [graph.tensors[i].stream for i in graph.outputs] == [
        details["index"] for details in interpreter.get_output_details()
    ]
