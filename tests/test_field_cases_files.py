"""Broken and hostile .tflite files that people met: each is refused, and the message says why.

The addresses are of the reports: tf#N tensorflow/tensorflow, tflm#N tensorflow/tflite-micro,
litert#N google-ai-edge/LiteRT.
"""

from __future__ import annotations

import struct

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from formats.models import both, code, codes, edited, integers, network, operator, subgraph, tensor
from oracles import tflite_builder as tfl

import npusim
from npusim import ModelError

CODE = schema.BuiltinOperator


def refusal(data: bytes, tmp_path) -> str:
    """The message with which a file of this content is refused."""
    path = tmp_path / "m.tflite"
    path.write_bytes(data)
    with pytest.raises(ModelError) as caught:
        npusim.load(path)
    return str(caught.value).removeprefix(f"{tmp_path}/")


# files that hold no model: tf#115308, google/flatbuffers#8347


def test_root_past_the_end(tmp_path):
    assert refusal(struct.pack("<I", 24) + b"TFL3", tmp_path) == (
        "m.tflite: root table: must lie inside the file of 8 bytes, got bytes 24..28; "
        "the file is damaged or of another kind"
    )


def test_root_on_the_identifier(tmp_path):
    assert refusal(struct.pack("<I", 4) + b"TFL3", tmp_path) == (
        "m.tflite: model: must lie inside the file of 8 bytes, got bytes -860636752..-860636748; "
        "the file is damaged or of another kind"
    )


def test_empty_file(tmp_path):
    assert refusal(b"", tmp_path) == "m.tflite: must have 1..2147483647 bytes, got 0"


def test_zeros(tmp_path):
    assert refusal(bytes(64), tmp_path) == (
        f"m.tflite: must be a .tflite or npusim .h5 file, got content that starts with {bytes(8)!r}"
    )


def test_every_prefix(tmp_path):
    data = network()
    for length in range(len(data)):
        assert refusal(data[:length], tmp_path).startswith("m.tflite: ")


# shapes: tflm#3072, tf#124982


def test_negative_dimension(tmp_path):
    data = edited(network(), tensor(0, shape=np.int32([1, -2, 4, 2])))
    assert refusal(data, tmp_path) == (
        "m.tflite: tensor image: dimensions must not be negative, got (1, -2, 4, 2)"
    )


def test_constant_of_many_dimensions_that_overflow(tmp_path):
    """65536^4 is 0 in 64 bits."""
    data = edited(network(), tensor(1, shape=np.int32([65536] * 4)))
    assert refusal(data, tmp_path) == (
        "m.tflite: tensor weights: int8 constant of shape "
        "(65536, 65536, 65536, 65536) must have 18446744073709551616 bytes, got 36"
    )


def test_constant_of_no_cells_in_huge_dimensions(tmp_path):
    data = edited(network(), tensor(1, shape=np.int32([0, 2**31 - 1, 2**31 - 1, 2])))
    assert refusal(data, tmp_path) == (
        "m.tflite: tensor weights: int8 constant of shape (0, 2147483647, 2147483647, 2) "
        "must have 0 bytes, got 36"
    )


def test_activation_of_no_cells(tmp_path):
    data = edited(network(), tensor(3, shape=np.int32([1, 0, 4, 2])))
    assert refusal(data, tmp_path) == (
        "m.tflite: tensor conv: dimensions must be 1..2^31 - 1, got (1, 0, 4, 2)"
    )


def test_huge_activation(tmp_path):
    data = edited(network(), tensor(3, shape=np.int32([65536] * 3)))
    assert refusal(data, tmp_path) == (
        "m.tflite: tensor conv: activations must fit in 1073741824 bytes together, "
        "got 281474976710696 with its (65536, 65536, 65536)"
    )


def test_shape_of_ten_thousand_dimensions(tmp_path):
    data = edited(network(), tensor(0, shape=np.ones(10_000, np.int32)))
    assert refusal(data, tmp_path) == "m.tflite: tensor image: rank must be at most 8, got 10000"


def reshape(target: list[int], y: tuple[int, ...]) -> bytes:
    tensors = [codes("x", 1, 2, 3), integers("target", target), codes("y", *y)]
    return tfl.model(tensors, [tfl.reshape((0, 1), 2, ())])


@pytest.mark.parametrize(
    ("target", "y", "expected"),
    [
        ([4, -1], (4, 2), "reshape_0/reshape: shape must hold 6 elements, got (4, -1)"),
        ([65536, 65536], (1,), "reshape_0/reshape: shape must hold 6 elements, got (65536, 65536)"),
        ([6], (2, 3), "reshape_0/reshape: output must be (6,), got (2, 3)"),
        ([-1, -1], (2, 3), "operator 0/RESHAPE: shape must have dimensions from 0 and at most "
                           "one -1, got (-1, -1)"),
        ([-2, 3], (2, 3), "operator 0/RESHAPE: shape must have dimensions from 0 and at most "
                          "one -1, got (-2, 3)"),
        ([1] * 10_000, (6,), "operator 0/RESHAPE: shape must be a few int32 or int64, "
                             "got int32 (10000,)"),
    ],
)  # fmt: skip
def test_target_of_reshape(target, y, expected, tmp_path):
    assert refusal(reshape(target, y), tmp_path) == f"m.tflite: {expected}"


# control flow and order: tf#60621, litert#172, tflm#1636


def with_body(op: int, options: object, options_type: int) -> bytes:
    """A second subgraph, and an operator of the main one that calls subgraph 0: itself."""

    def edit(model):
        model.subgraphs.append(model.subgraphs[0])
        changed = operator(1, builtinOptions=options, builtinOptionsType=options_type)
        both(code(1, builtinCode=op, deprecatedBuiltinCode=min(op, 127)), changed)(model)

    return edited(network(), edit)


def control_flow() -> dict[str, bytes]:
    call_once, loop, branch = schema.CallOnceOptionsT(), schema.WhileOptionsT(), schema.IfOptionsT()
    call_once.initSubgraphIndex = 0
    loop.condSubgraphIndex, loop.bodySubgraphIndex = 0, 1
    branch.thenSubgraphIndex, branch.elseSubgraphIndex = 1, 0
    kind = schema.BuiltinOptions
    return {
        "CALL_ONCE": with_body(CODE.CALL_ONCE, call_once, kind.CallOnceOptions),
        "WHILE": with_body(CODE.WHILE, loop, kind.WhileOptions),
        "IF": with_body(CODE.IF, branch, kind.IfOptions),
    }


@pytest.mark.parametrize("name", ["CALL_ONCE", "WHILE", "IF"])
def test_control_flow_that_calls_its_own_subgraph(name, tmp_path):
    message = refusal(control_flow()[name], tmp_path)
    assert message.startswith(f"m.tflite: operator 1/{name}: operator must be one of ADD, ")
    assert message.endswith(f", got {name} version 2")


def test_several_subgraphs(tmp_path):
    data = edited(network(), lambda model: model.subgraphs.append(model.subgraphs[0]))
    assert refusal(data, tmp_path) == "m.tflite: model: must have one subgraph, got 2"


@pytest.mark.parametrize(
    ("inputs", "name"), [([0, 4], "sum"), ([6, 3], "mean"), ([3, 9], "probabilities")]
)
def test_operator_that_reads_its_own_or_a_later_output(inputs, name, tmp_path):
    data = edited(network(), operator(1, inputs=inputs))
    assert refusal(data, tmp_path) == (
        f"m.tflite: add_0/add: inputs must be made by earlier nodes, got {name}"
    )


# buffers and outputs: google-research/google-research#653


@pytest.mark.parametrize("length", [820, 8188, 8196, 1, 16384])
def test_constant_of_another_length(length, tmp_path):
    weights = tfl.constant("weights", np.zeros((64, 1, 1, 32), np.float32))
    tensors = [codes("x", 1, 4, 4, 32), weights, codes("y", 1, 4, 4, 64)]
    data = tfl.model(tensors, [tfl.conv_2d((0, 1), 2, tfl.Window())])
    data = edited(data, lambda m: setattr(m.buffers[1], "data", np.zeros(length, np.uint8)))
    message = refusal(data, tmp_path)
    assert message == (
        "m.tflite: tensor weights: float32 constant of shape (64, 1, 1, 32) must have 8192 bytes, "
        f"got {length}"
    )


def test_constant_of_no_bytes_is_no_constant(tmp_path):
    data = edited(network(), lambda model: setattr(model.buffers[1], "data", None))
    assert refusal(data, tmp_path) == (
        "m.tflite: conv2d_0/conv2d: inputs must be made by earlier nodes, got weights"
    )


def test_output_that_is_a_constant(tmp_path):
    data = edited(network(), operator(3, outputs=[7]))
    assert refusal(data, tmp_path) == (
        "m.tflite: fully_connected_0/fully_connected: output must be an activation, "
        "got the constant head"
    )


def test_graph_output_that_is_a_constant(tmp_path):
    data = edited(network(), subgraph(outputs=[1]))
    assert refusal(data, tmp_path) == (
        "m.tflite: graph outputs: must be of kind activation, got the constant weights"
    )


def test_graph_input_that_is_a_constant(tmp_path):
    data = edited(network(), subgraph(inputs=[0, 1]))
    assert refusal(data, tmp_path) == (
        "m.tflite: tensor weights: values must be those of a constant, got input with values"
    )


def test_two_operators_that_write_one_tensor(tmp_path):
    data = edited(network(), operator(1, outputs=[3]))
    assert refusal(data, tmp_path) == (
        "m.tflite: add_0/add: output must be written by one node only, got conv again"
    )


# operator codes: tf#52182, tflm#1794, Samsung/ONE#8240


def test_unknown_operator_and_version(tmp_path):
    data = edited(network(), code(1, builtinCode=5000, deprecatedBuiltinCode=127, version=999))
    message = refusal(data, tmp_path)
    assert message.startswith("m.tflite: operator 1/code_5000: operator must be one of ADD, ")
    assert message.endswith(", got code_5000 version 999")


def test_version_that_is_not_known(tmp_path):
    data = edited(network(), code(0, version=999))
    assert refusal(data, tmp_path) == (
        "m.tflite: operator 0/CONV_2D: version must be 1..8, got 999"
    )


def test_new_operator_behind_the_old_code(tmp_path):
    """127 in the old field means that the new field holds the code."""
    data = edited(network(), code(1, builtinCode=CODE.GELU, deprecatedBuiltinCode=127))
    assert "operator 1/GELU: " in refusal(data, tmp_path)


@pytest.mark.parametrize(("old", "new"), [(3, 3), (3, 0), (0, 3), (-1, 3)])
def test_real_code_is_the_larger_field(old, new, tmp_path):
    data = edited(network(), code(0, builtinCode=new, deprecatedBuiltinCode=old))
    (tmp_path / "m.tflite").write_bytes(data)
    assert npusim.load(tmp_path / "m.tflite").nodes[0].op == "conv2d"
