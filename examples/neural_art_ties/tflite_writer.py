"""Write a .tflite model of one int8 1x1 convolution, with the packages tflite and flatbuffers.

Source: tensorflow/compiler/mlir/lite/schema/schema.fbs, version 3.
"""

from typing import NamedTuple

import flatbuffers
import numpy as np
import tflite

SCHEMA_VERSION = 3
CONV_2D_VERSION = 3


class Layer(NamedTuple):
    """y = conv2d(x): 1x1, stride 1, no activation.

    weights          int8 (O, I)
    bias             int32 (O,)
    x_scale, y_scale and zero points of input and output
    w_scale          float32 (O,)
    size             (height, width) of the input
    """

    weights: np.ndarray
    bias: np.ndarray
    x_scale: float
    x_zero_point: int
    w_scale: np.ndarray
    y_scale: float
    y_zero_point: int
    size: tuple[int, int]


def to_tflite(layer: Layer) -> bytes:
    """The bytes of the model's file."""
    b = flatbuffers.Builder(1 << 16)
    o, i = layer.weights.shape
    unit = (layer.w_scale * np.float32(layer.x_scale)).astype(np.float32)
    buffers = [_buffer(b, data) for data in (None, layer.weights, layer.bias)]
    int8, int32 = tflite.TensorType.INT8, tflite.TensorType.INT32
    tensors = [
        _tensor(b, "x", (1, *layer.size, i), int8, 0,
                _affine(b, [layer.x_scale], [layer.x_zero_point])),
        _tensor(b, "weights", (o, 1, 1, i), int8, 1, _affine(b, layer.w_scale, [0] * o)),
        _tensor(b, "bias", (o,), int32, 2, _affine(b, unit, [0] * o)),
        _tensor(b, "y", (1, *layer.size, o), int8, 0,
                _affine(b, [layer.y_scale], [layer.y_zero_point])),
    ]  # fmt: skip
    graph = _subgraph(b, tensors, _convolution(b))
    code = _operator_code(b)
    parts = [_offsets(b, group) for group in (buffers, [graph], [code])]
    tflite.ModelStart(b)
    tflite.ModelAddVersion(b, SCHEMA_VERSION)
    tflite.ModelAddBuffers(b, parts[0])
    tflite.ModelAddSubgraphs(b, parts[1])
    tflite.ModelAddOperatorCodes(b, parts[2])
    b.Finish(tflite.ModelEnd(b), b"TFL3")
    return bytes(b.Output())


def _buffer(b: flatbuffers.Builder, data: np.ndarray | None) -> int:
    content = None if data is None else b.CreateNumpyVector(data.reshape(-1).view(np.uint8))
    tflite.BufferStart(b)
    if content is not None:
        tflite.BufferAddData(b, content)
    return tflite.BufferEnd(b)


def _affine(b: flatbuffers.Builder, scale: np.ndarray | list, zero_point: list) -> int:
    scales = b.CreateNumpyVector(np.array(scale, np.float32))
    zeros = b.CreateNumpyVector(np.array(zero_point, np.int64))
    tflite.QuantizationParametersStart(b)
    tflite.QuantizationParametersAddScale(b, scales)
    tflite.QuantizationParametersAddZeroPoint(b, zeros)
    tflite.QuantizationParametersAddQuantizedDimension(b, 0)
    return tflite.QuantizationParametersEnd(b)


def _tensor(
    b: flatbuffers.Builder, name: str, shape: tuple, dtype: int, buffer: int, affine: int
) -> int:
    text, dimensions = b.CreateString(name), b.CreateNumpyVector(np.array(shape, np.int32))
    tflite.TensorStart(b)
    tflite.TensorAddShape(b, dimensions)
    tflite.TensorAddType(b, dtype)
    tflite.TensorAddBuffer(b, buffer)
    tflite.TensorAddName(b, text)
    tflite.TensorAddQuantization(b, affine)
    return tflite.TensorEnd(b)


def _convolution(b: flatbuffers.Builder) -> int:
    tflite.Conv2DOptionsStart(b)
    tflite.Conv2DOptionsAddPadding(b, tflite.Padding.VALID)
    tflite.Conv2DOptionsAddStrideW(b, 1)
    tflite.Conv2DOptionsAddStrideH(b, 1)
    tflite.Conv2DOptionsAddDilationWFactor(b, 1)
    tflite.Conv2DOptionsAddDilationHFactor(b, 1)
    options = tflite.Conv2DOptionsEnd(b)
    inputs = b.CreateNumpyVector(np.array([0, 1, 2], np.int32))
    outputs = b.CreateNumpyVector(np.array([3], np.int32))
    tflite.OperatorStart(b)
    tflite.OperatorAddOpcodeIndex(b, 0)
    tflite.OperatorAddInputs(b, inputs)
    tflite.OperatorAddOutputs(b, outputs)
    tflite.OperatorAddBuiltinOptionsType(b, tflite.BuiltinOptions.Conv2DOptions)
    tflite.OperatorAddBuiltinOptions(b, options)
    return tflite.OperatorEnd(b)


def _operator_code(b: flatbuffers.Builder) -> int:
    tflite.OperatorCodeStart(b)
    tflite.OperatorCodeAddDeprecatedBuiltinCode(b, tflite.BuiltinOperator.CONV_2D)
    tflite.OperatorCodeAddBuiltinCode(b, tflite.BuiltinOperator.CONV_2D)
    tflite.OperatorCodeAddVersion(b, CONV_2D_VERSION)
    return tflite.OperatorCodeEnd(b)


def _subgraph(b: flatbuffers.Builder, tensors: list[int], operator: int) -> int:
    name = b.CreateString("main")
    listed, operators = _offsets(b, tensors), _offsets(b, [operator])
    inputs = b.CreateNumpyVector(np.array([0], np.int32))
    outputs = b.CreateNumpyVector(np.array([3], np.int32))
    tflite.SubGraphStart(b)
    tflite.SubGraphAddTensors(b, listed)
    tflite.SubGraphAddInputs(b, inputs)
    tflite.SubGraphAddOutputs(b, outputs)
    tflite.SubGraphAddOperators(b, operators)
    tflite.SubGraphAddName(b, name)
    return tflite.SubGraphEnd(b)


def _offsets(b: flatbuffers.Builder, offsets: list[int]) -> int:
    """A vector of tables."""
    b.StartVector(4, len(offsets), 4)
    for offset in reversed(offsets):
        b.PrependUOffsetTRelative(offset)
    return b.EndVector()
