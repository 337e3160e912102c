"""What the loader refuses: messages name the tensor or operator, the rule and the value."""

from __future__ import annotations

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from formats.models import (
    both,
    code,
    codes,
    constant,
    edited,
    expand_dims,
    integers,
    network,
    operator,
    options,
    pad_v2,
    quantization,
    squeeze,
    subgraph,
    tensor,
)
from oracles import tflite_builder as tfl

from npusim.formats import tflite
from npusim.graph import ModelError

KNOWN = (
    "ADD, AVERAGE_POOL_2D, CONV_2D, DEPTHWISE_CONV_2D, DEQUANTIZE, FULLY_CONNECTED, MAX_POOL_2D, "
    "MUL, RELU, RELU6, RESHAPE, SOFTMAX, PAD, TRANSPOSE, MEAN, SQUEEZE, PADV2, EXPAND_DIMS, "
    "QUANTIZE"
)
TYPES = "float32, int32, uint8, int64, bool, int16, int8"
CONTROL_FLOW = {"IF": 118, "WHILE": 119, "CALL_ONCE": 129, "VAR_HANDLE": 142}


def second_subgraph(model: schema.ModelT) -> None:
    model.subgraphs.append(model.subgraphs[0])


EDITS = {
    "identifier": (
        lambda model: None,
        "model: identifier must be TFL3, got b'TFL2'",
    ),
    "schema version": (
        lambda model: setattr(model, "version", 2),
        "model: schema version must be 3, got 2",
    ),
    "no subgraph": (
        lambda model: setattr(model, "subgraphs", []),
        "model: must have a subgraph, got none",
    ),
    "two subgraphs": (second_subgraph, "model: must have one subgraph, got 2"),
    "opcode index": (
        operator(1, opcodeIndex=5),
        "operator 1: opcode index must be below 5, got 5",
    ),
    "operator": (
        code(1, builtinCode=schema.BuiltinOperator.SVDF, version=4),
        f"operator 1/SVDF: operator must be one of {KNOWN}, got SVDF version 4",
    ),
    "several operators": (
        both(code(0, builtinCode=118), code(1, builtinCode=27), code(2, builtinCode=118)),
        f"operator 0/IF: operator must be one of {KNOWN}, got IF version 3, and after it SVDF",
    ),
    "custom operator": (
        code(1, builtinCode=schema.BuiltinOperator.CUSTOM, customCode=b"edgetpu-custom-op"),
        f"operator 1/CUSTOM:edgetpu-custom-op: operator must be one of {KNOWN}, "
        "got CUSTOM:edgetpu-custom-op version 2",
    ),
    "custom operator without a name": (
        code(1, builtinCode=schema.BuiltinOperator.CUSTOM),
        f"operator 1/CUSTOM:: operator must be one of {KNOWN}, got CUSTOM: version 2",
    ),
    "negative operator": (
        code(1, builtinCode=-3, deprecatedBuiltinCode=-128),
        f"operator 1/code_-3: operator must be one of {KNOWN}, got code_-3 version 2",
    ),
    "newest operator": (
        code(1, builtinCode=5000, deprecatedBuiltinCode=127, version=999),
        f"operator 1/code_5000: operator must be one of {KNOWN}, got code_5000 version 999",
    ),
    "operator's version": (
        code(0, version=9),
        "operator 0/CONV_2D: version must be 1..8, got 9",
    ),
    "operator's version zero": (
        code(0, version=0),
        "operator 0/CONV_2D: version must be 1..8, got 0",
    ),
    "input above the table": (
        operator(1, inputs=[0, 10]),
        "operator 1/ADD: input must be a tensor below 10, got 10",
    ),
    "output below absent": (
        operator(1, outputs=[-2]),
        "operator 1/ADD: output must be a tensor below 10, got -2",
    ),
    "graph output": (
        subgraph(outputs=[10]),
        "graph output must be a tensor below 10, got 10",
    ),
    "graph input absent": (
        subgraph(inputs=[-1]),
        "graph inputs: tensors must be 0..8, got -1",
    ),
    "no options": (
        operator(0, builtinOptions=None, builtinOptionsType=0),
        "operator 0/CONV_2D: options must be Conv2DOptions (1), got type 0",
    ),
    "other options": (
        operator(0, builtinOptionsType=5, builtinOptions=schema.Pool2DOptionsT()),
        "operator 0/CONV_2D: options must be Conv2DOptions (1), got type 5",
    ),
    "activation": (
        options(0, fusedActivationFunction=4),
        "operator 0/CONV_2D: fused activation must be one of none, relu, relu_n1_to_1, relu6, "
        "got 4",
    ),
    "padding": (
        options(0, padding=2),
        "operator 0/CONV_2D: padding must be SAME (0) or VALID (1), got 2",
    ),
    "stride": (
        options(0, strideW=-1),
        "conv2d_0/conv2d: stride must be two integers from 1, got (1, -1)",
    ),
    "dilation": (
        options(0, dilationHFactor=0),
        "conv2d_0/conv2d: dilation must be two integers from 1, got (0, 1)",
    ),
    "format of weights": (
        options(3, weightsFormat=1),
        "operator 3/FULLY_CONNECTED: weights must be in the default format, got 1",
    ),
    "beta": (
        options(4, beta=float("nan")),
        "softmax_0/softmax: beta must be finite, from 0, got nan",
    ),
    "type": (
        tensor(0, type=17),
        f"tensor image: type must be one of {TYPES}, got INT4",
    ),
    "type of the future": (
        tensor(0, type=99),
        f"tensor image: type must be one of {TYPES}, got 99",
    ),
    "variable": (
        tensor(4, isVariable=True),
        "operator 2/MEAN: tensor sum: must not be a variable, got one; "
        "operators with state are not supported",
    ),
    "sparse": (
        tensor(1, sparsity=schema.SparsityParametersT()),
        "tensor weights: must be dense, got a sparse tensor; convert the model without sparsity",
    ),
    "buffer": (
        tensor(1, buffer=7),
        "tensor weights: buffer must be below 5, got 7",
    ),
    "external buffer": (
        tensor(1, externalBuffer=1),
        "tensor weights: data must lie in the model's buffers, got an external buffer",
    ),
    "buffer behind the model": (
        lambda model: setattr(model.buffers[1], "offset", 4096),
        "tensor weights: data must lie in the model's buffers, got an external buffer",
    ),
    "rank": (
        tensor(0, shape=np.ones(9, np.int32)),
        "tensor image: rank must be at most 8, got 9",
    ),
    "custom quantisation": (
        quantization(
            1,
            detailsType=schema.QuantizationDetails.CustomQuantization,
            details=schema.CustomQuantizationT(),
        ),
        "tensor weights: quantisation must be affine, got a custom one",
    ),
    "fewer zero points": (
        quantization(1, zeroPoint=np.zeros(1, np.int64)),
        "tensor weights: scales and zero points must be equally many, got 2 and 1",
    ),
    "no zero points": (
        quantization(0, zeroPoint=None),
        "tensor image: scales and zero points must be equally many, got 1 and 0",
    ),
    "quantised dimension": (
        quantization(1, quantizedDimension=1),
        "tensor weights: quantised dimension must be one of length 2 (the scales), "
        "got dimension 1 of shape (2, 3, 3, 2)",
    ),
    "quantised dimension outside": (
        quantization(1, quantizedDimension=4),
        "tensor weights: quantised dimension must be one of length 2 (the scales), "
        "got dimension 4 of shape (2, 3, 3, 2)",
    ),
    "quantised dimension of another operator": (
        quantization(1, quantizedDimension=3),
        "conv2d_0/conv2d: weights must be quantised along axis 0, got 3",
    ),
    "no scale": (
        quantization(3, scale=None),
        "conv2d_0/conv2d: output must have a scale and zero point, got none",
    ),
    "infinite scale": (
        quantization(3, scale=np.float32([np.inf])),
        "tensor conv: scales must be finite and positive, got inf",
    ),
    "zero point outside": (
        quantization(3, zeroPoint=np.int64([2**40])),
        "tensor conv: zero point must be in -128..127, got 1099511627776",
    ),
    "zero point of weights": (
        quantization(7, zeroPoint=np.int64([2])),
        "fully_connected_0/fully_connected: weights must have zero point 0, got 2; "
        "quantise them symmetrically",
    ),
    "axis outside": (
        constant(5, [1, 0, 0, 0, 4, 0, 0, 0]),
        "operator 2/MEAN: axis must be in -4..3, got 4",
    ),
    "axes that are computed": (
        operator(2, inputs=[4, 3]),
        "operator 2/MEAN: axes must be a constant, got the activation conv",
    ),
    "axes that are codes": (
        operator(2, inputs=[4, 1]),
        "operator 2/MEAN: axes must be a few int32 or int64, got int8 (2, 3, 3, 2)",
    ),
    "axes missing": (
        operator(2, inputs=[4]),
        "operator 2/MEAN: input 1 must be given, got 1 input",
    ),
    "axes absent": (
        operator(2, inputs=[4, -1]),
        "operator 2/MEAN: input 1 must be given, got 2 inputs",
    ),
    "float": (
        both(tensor(0, type=0), tensor(3, type=0), tensor(4, type=0)),
        "conv2d_0/conv2d: x must be int8, got float32; quantise the model to int8",
    ),
}


@pytest.mark.parametrize("case", EDITS)
def test_edited_network_is_refused(case):
    edit, expected = EDITS[case]
    data = edited(network(), edit)
    if case == "identifier":
        data = data[:4] + b"TFL2" + data[8:]
    with pytest.raises(ModelError) as caught:
        tflite.parse(data, "net.tflite")
    assert str(caught.value) == f"net.tflite: {expected}"


@pytest.mark.parametrize("name", CONTROL_FLOW)
def test_control_flow_is_refused_by_name(name):
    data = edited(network(), both(code(2, builtinCode=CONTROL_FLOW[name]), second_subgraph))
    with pytest.raises(ModelError) as caught:
        tflite.parse(data, "net.tflite")
    assert str(caught.value) == (
        f"net.tflite: operator 2/{name}: operator must be one of {KNOWN}, got {name} version 2"
    )


PAIRS = integers("pairs", [[0, 0], [1, 2]])
Y = codes("y", 1, 2)
OPERATORS = {
    "depth multiplier": (
        [codes("x", 1, 9, 9, 2), tfl.constant("w", np.ones((1, 3, 3, 6), np.int8), 0.5), Y],
        tfl.depthwise_conv_2d((0, 1), 2, tfl.Window(), 2),
        "operator 0/DEPTHWISE_CONV_2D: depth multiplier times 2 channels must be the weights' 6, "
        "got 2",
    ),
    "negative padding": (
        [codes("x", 1, 2), integers("pairs", [[0, 0], [1, -2]]), Y],
        tfl.pad((0, 1), 2),
        "operator 0/PAD: padding must be 2 pairs (before, after) from 0, got (0, 0, 1, -2)",
    ),
    "padding of another rank": (
        [codes("x", 1, 2, 3), PAIRS, Y],
        tfl.pad((0, 1), 2),
        "operator 0/PAD: padding must be 3 pairs (before, after) from 0, got (0, 0, 1, 2)",
    ),
    "padding with another code": (
        [codes("x", 1, 2), PAIRS, codes("v", 1)._replace(data=np.int8([7])), Y],
        pad_v2((0, 1, 2), 3),
        "operator 0/PADV2: padding value must be the constant zero point [1], got [7]",
    ),
    "padding with a computed code": (
        [codes("x", 1, 2), PAIRS, codes("v", 1), Y],
        pad_v2((0, 1, 2), 3),
        "operator 0/PADV2: padding value must be the constant zero point [1], got an activation",
    ),
    "padding of codes without scale": (
        [tfl.Tensor("x", (1, 2), np.int8), PAIRS, codes("v", 1)._replace(data=np.int8([7])), Y],
        pad_v2((0, 1, 2), 3),
        "operator 0/PADV2: padding value must be the constant zero point None, got [7]",
    ),
    "reshape to what is computed": (
        [codes("x", 1, 2), tfl.Tensor("s", (2,), np.int32), Y],
        tfl.reshape((0, 1), 2, ()),
        "operator 0/RESHAPE: shape must be a constant, got the activation s",
    ),
    "reshape below -1": (
        [codes("x", 1, 2), integers("s", [-2, 1]), Y],
        tfl.reshape((0, 1), 2, ()),
        "operator 0/RESHAPE: shape must have dimensions from 0 and at most one -1, got (-2, 1)",
    ),
    "reshape to two open dimensions": (
        [codes("x", 1, 2), Y],
        tfl.reshape((0,), 1, (-1, -1)),
        "operator 0/RESHAPE: shape must have dimensions from 0 and at most one -1, got (-1, -1)",
    ),
    "reshape to nothing": (
        [codes("x", 1, 2), integers("s", [0, 2]), Y],
        tfl.reshape((0, 1), 2, ()),
        "reshape_0/reshape: shape must be dimensions from 1, at most one of them -1, got (0, 2)",
    ),
    "reshape to too many dimensions": (
        [codes("x", 1, 2), Y],
        tfl.reshape((0,), 1, (1,) * 9),
        "operator 0/RESHAPE: shape must have at most 8 dimensions, got 9",
    ),
    "reshape without a shape": (
        [codes("x", 1, 2), Y],
        tfl.reshape((0,), 1, ())._replace(options=None, options_type=0),
        "operator 0/RESHAPE: shape must be given, got neither an operand nor options",
    ),
    "squeeze of a long axis": (
        [codes("x", 1, 2), Y],
        squeeze(0, 1, [1]),
        "operator 0/SQUEEZE: axes must have length 1, got [1] of shape (1, 2)",
    ),
    "squeeze of too many axes": (
        [codes("x", 1, 2), Y],
        squeeze(0, 1, [0] * 9),
        "operator 0/SQUEEZE: axes must be at most 8, got 9",
    ),
    "expand_dims at two axes": (
        [codes("x", 1, 2), integers("axes", [0, 1]), Y],
        expand_dims((0, 1), 2),
        "operator 0/EXPAND_DIMS: axis must be one number, got (0, 1)",
    ),
    "expand_dims outside": (
        [codes("x", 1, 2), integers("axis", [3]), Y],
        expand_dims((0, 1), 2),
        "operator 0/EXPAND_DIMS: axis must be in -3..2, got 3",
    ),
    "permutation": (
        [codes("x", 1, 2), integers("permutation", [0, 0]), Y],
        tfl.transpose((0, 1), 2),
        "transpose_0/transpose: permutation must be every axis of the input once, got (0, 0)",
    ),
}


@pytest.mark.parametrize("case", OPERATORS)
def test_operator_is_refused(case):
    tensors, operation, expected = OPERATORS[case]
    with pytest.raises(ModelError) as caught:
        tflite.parse(tfl.model(tensors, [operation]), "m.tflite")
    assert str(caught.value) == f"m.tflite: {expected}"
