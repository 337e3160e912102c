"""Build .tflite models of one or a few operators in memory.

A model is a list of `Tensor` and a list of `Operation` that name tensors by their index; `model`
packs both with the schema that ships in the LiteRT wheel. Nothing is checked: a caller can build
a model that no interpreter accepts.

Source: tensorflow/compiler/mlir/lite/schema/schema.fbs, version 3.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from numpy.typing import ArrayLike, NDArray

SCHEMA_VERSION = 3
FILE_IDENTIFIER = b"TFL3"
LARGEST_DEPRECATED_CODE = 127  # operators above it keep 127 in the old one-byte field

PADDING = {"SAME": schema.Padding.SAME, "VALID": schema.Padding.VALID}
ACTIVATION = {
    "none": schema.ActivationFunctionType.NONE,
    "relu": schema.ActivationFunctionType.RELU,
    "relu_n1_to_1": schema.ActivationFunctionType.RELU_N1_TO_1,
    "relu6": schema.ActivationFunctionType.RELU6,
}
OPERATOR_NAMES = {
    code: name for name, code in vars(schema.BuiltinOperator).items() if isinstance(code, int)
}
TENSOR_TYPE = {
    np.dtype(np.float32): schema.TensorType.FLOAT32,
    np.dtype(np.int32): schema.TensorType.INT32,
    np.dtype(np.uint8): schema.TensorType.UINT8,
    np.dtype(np.int16): schema.TensorType.INT16,
    np.dtype(np.int8): schema.TensorType.INT8,
    np.dtype(np.int64): schema.TensorType.INT64,
    np.dtype(np.bool_): schema.TensorType.BOOL,
}


class Tensor(NamedTuple):
    """One tensor: a constant when `data` is given, else an input or an activation.

    `scale` and `zero_point` hold one value (per tensor) or one for each index of `axis`
    (per channel); no scale means a tensor that is not quantised.
    """

    name: str
    shape: tuple[int, ...]
    dtype: type
    scale: ArrayLike | None = None
    zero_point: ArrayLike = 0
    axis: int = 0
    data: NDArray[Any] | None = None


class Operation(NamedTuple):
    """One operator: its code and version, its options, the indices of its tensors (-1: absent)."""

    code: int
    version: int
    options_type: int
    options: Any
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


class Window(NamedTuple):
    """How a kernel walks over an image; (h, w) each."""

    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    padding: str = "VALID"


def constant(name: str, data: NDArray[Any], scale: ArrayLike | None = None) -> Tensor:
    """A constant tensor with the array's shape and type; quantised along axis 0 if scaled."""
    return Tensor(name, data.shape, data.dtype.type, scale, data=data)


def model(tensors: Sequence[Tensor], operations: Sequence[Operation]) -> bytes:
    """Pack a model whose inputs are the tensors nothing makes and outputs those nothing reads."""
    packed = schema.ModelT()
    packed.version = SCHEMA_VERSION
    packed.buffers = [schema.BufferT()]
    subgraph = schema.SubGraphT()
    subgraph.name = b"main"
    subgraph.tensors = [_tensor(tensor, packed.buffers) for tensor in tensors]
    read = {i for operation in operations for i in operation.inputs}
    made = {i for operation in operations for i in operation.outputs}
    free = [i for i, tensor in enumerate(tensors) if tensor.data is None]
    subgraph.inputs = [i for i in free if i not in made]
    subgraph.outputs = [i for i in free if i in made and i not in read]
    packed.operatorCodes = []
    subgraph.operators = [_operator(operation, packed.operatorCodes) for operation in operations]
    packed.subgraphs = [subgraph]
    builder = flatbuffers.Builder(4096)
    builder.Finish(packed.Pack(builder), FILE_IDENTIFIER)
    return bytes(builder.Output())


def conv_2d(
    inputs: tuple[int, ...], output: int, window: Window, activation: str = "none"
) -> Operation:
    """CONV_2D of x (N, H, W, I), weights (O, KH, KW, I) and perhaps bias (O)."""
    options = schema.Conv2DOptionsT()
    _set_window(options, window)
    options.fusedActivationFunction = ACTIVATION[activation]
    return _operation("CONV_2D", 3, inputs, output, "Conv2DOptions", options)


def depthwise_conv_2d(
    inputs: tuple[int, ...], output: int, window: Window, multiplier: int, activation: str = "none"
) -> Operation:
    """DEPTHWISE_CONV_2D of x (N, H, W, C), weights (1, KH, KW, C*M) and perhaps bias (C*M)."""
    options = schema.DepthwiseConv2DOptionsT()
    _set_window(options, window)
    options.depthMultiplier = multiplier
    options.fusedActivationFunction = ACTIVATION[activation]
    return _operation("DEPTHWISE_CONV_2D", 3, inputs, output, "DepthwiseConv2DOptions", options)


def fully_connected(
    inputs: tuple[int, ...], output: int, keep_dims: bool = False, activation: str = "none"
) -> Operation:
    """FULLY_CONNECTED of x (..., I), weights (O, I) and perhaps bias (O)."""
    options = schema.FullyConnectedOptionsT()
    options.keepNumDims = keep_dims
    options.fusedActivationFunction = ACTIVATION[activation]
    return _operation("FULLY_CONNECTED", 4, inputs, output, "FullyConnectedOptions", options)


def add(inputs: tuple[int, int], output: int, activation: str = "none") -> Operation:
    """ADD with broadcasting."""
    options = schema.AddOptionsT()
    options.fusedActivationFunction = ACTIVATION[activation]
    return _operation("ADD", 2, inputs, output, "AddOptions", options)


def mul(inputs: tuple[int, int], output: int, activation: str = "none") -> Operation:
    """MUL with broadcasting."""
    options = schema.MulOptionsT()
    options.fusedActivationFunction = ACTIVATION[activation]
    return _operation("MUL", 2, inputs, output, "MulOptions", options)


def average_pool_2d(
    x: int, output: int, kernel: tuple[int, int], window: Window, activation: str = "none"
) -> Operation:
    """AVERAGE_POOL_2D of x (N, H, W, C); the window's dilation is not used."""
    options = _pool_options(kernel, window, activation)
    return _operation("AVERAGE_POOL_2D", 2, (x,), output, "Pool2DOptions", options)


def max_pool_2d(
    x: int, output: int, kernel: tuple[int, int], window: Window, activation: str = "none"
) -> Operation:
    """MAX_POOL_2D of x (N, H, W, C); the window's dilation is not used."""
    options = _pool_options(kernel, window, activation)
    return _operation("MAX_POOL_2D", 2, (x,), output, "Pool2DOptions", options)


def mean(inputs: tuple[int, int], output: int, keep_dims: bool) -> Operation:
    """MEAN of x over the axes in an int32 constant."""
    options = schema.ReducerOptionsT()
    options.keepDims = keep_dims
    return _operation("MEAN", 2, inputs, output, "ReducerOptions", options)


def pad(inputs: tuple[int, int], output: int) -> Operation:
    """PAD of x by an int32 constant (rank, 2) with x's zero point."""
    return _operation("PAD", 2, inputs, output, "PadOptions", schema.PadOptionsT())


def reshape(inputs: tuple[int, ...], output: int, shape: Sequence[int]) -> Operation:
    """RESHAPE of x to `shape`, which may also be given as an int32 constant (second input)."""
    options = schema.ReshapeOptionsT()
    options.newShape = list(shape)
    return _operation("RESHAPE", 1, inputs, output, "ReshapeOptions", options)


def transpose(inputs: tuple[int, int], output: int) -> Operation:
    """TRANSPOSE of x by an int32 constant: output axis i is input axis permutation[i]."""
    return _operation(
        "TRANSPOSE", 2, inputs, output, "TransposeOptions", schema.TransposeOptionsT()
    )


def softmax(x: int, output: int, beta: float) -> Operation:
    """SOFTMAX of beta * x over the last axis."""
    options = schema.SoftmaxOptionsT()
    options.beta = beta
    return _operation("SOFTMAX", 2, (x,), output, "SoftmaxOptions", options)


def quantize(x: int, output: int) -> Operation:
    """QUANTIZE: real to integer, or integer to integer with another scale and zero point."""
    return _operation("QUANTIZE", 2, (x,), output, "QuantizeOptions", schema.QuantizeOptionsT())


def dequantize(x: int, output: int) -> Operation:
    """DEQUANTIZE: integer to float32."""
    return _operation(
        "DEQUANTIZE", 2, (x,), output, "DequantizeOptions", schema.DequantizeOptionsT()
    )


def relu(x: int, output: int) -> Operation:
    """RELU as an operator of its own."""
    return _operation("RELU", 2, (x,), output, "NONE", None)


def relu6(x: int, output: int) -> Operation:
    """RELU6 as an operator of its own."""
    return _operation("RELU6", 2, (x,), output, "NONE", None)


def operator_name(operation: Operation) -> str:
    """The schema's name of an operation, such as "CONV_2D"."""
    return OPERATOR_NAMES[operation.code]


def _operation(
    name: str, version: int, inputs: tuple[int, ...], output: int, options_type: str, options: Any
) -> Operation:
    code = getattr(schema.BuiltinOperator, name)
    type_code = getattr(schema.BuiltinOptions, options_type)
    return Operation(code, version, type_code, options, tuple(inputs), (output,))


def _set_window(options: Any, window: Window) -> None:
    options.strideH, options.strideW = window.stride
    options.dilationHFactor, options.dilationWFactor = window.dilation
    options.padding = PADDING[window.padding]


def _pool_options(kernel: tuple[int, int], window: Window, activation: str) -> Any:
    options = schema.Pool2DOptionsT()
    options.filterHeight, options.filterWidth = kernel
    options.strideH, options.strideW = window.stride
    options.padding = PADDING[window.padding]
    options.fusedActivationFunction = ACTIVATION[activation]
    return options


def _tensor(tensor: Tensor, buffers: list[Any]) -> Any:
    """Pack a tensor; a constant's bytes are appended to `buffers`, buffer 0 is the empty one."""
    packed = schema.TensorT()
    packed.name = tensor.name.encode()
    packed.shape = np.array(tensor.shape, np.int32)
    packed.type = TENSOR_TYPE[np.dtype(tensor.dtype)]
    packed.buffer = 0
    if tensor.scale is not None:
        packed.quantization = _quantization(tensor)
    if tensor.data is not None:
        packed.buffer = len(buffers)
        buffer = schema.BufferT()
        buffer.data = np.frombuffer(np.ascontiguousarray(tensor.data).tobytes(), np.uint8)
        buffers.append(buffer)
    return packed


def _quantization(tensor: Tensor) -> Any:
    scale = np.atleast_1d(np.asarray(tensor.scale, np.float32))
    packed = schema.QuantizationParametersT()
    packed.scale = scale
    packed.zeroPoint = np.broadcast_to(np.asarray(tensor.zero_point, np.int64), scale.shape).copy()
    packed.quantizedDimension = tensor.axis
    return packed


def _operator(operation: Operation, codes: list[Any]) -> Any:
    """Pack an operator with a code of its own; equal codes are not shared."""
    code = schema.OperatorCodeT()
    code.builtinCode = operation.code
    code.deprecatedBuiltinCode = min(operation.code, LARGEST_DEPRECATED_CODE)
    code.version = operation.version
    codes.append(code)
    packed = schema.OperatorT()
    packed.opcodeIndex = len(codes) - 1
    packed.inputs = list(operation.inputs)
    packed.outputs = list(operation.outputs)
    packed.builtinOptionsType = operation.options_type
    packed.builtinOptions = operation.options
    return packed
