"""TFLite operators -> nodes: options, and operands that are folded into attributes.

Source: tensorflow/compiler/mlir/lite/schema/schema.fbs and the Prepare functions of
tensorflow/lite/kernels; the versions are those that LiteRT 2.3.0 registers.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tflite

from ..check import RANK_LIMIT
from ..graph import ABSENT, ModelError, Tensor
from ..plurals import counted
from . import tflite_schema as schema
from .flatbuffer import Table
from .tflite_tensors import TensorTable

_PADDING = {tflite.Padding.SAME: "same", tflite.Padding.VALID: "valid"}
_ACTIVATION = {
    tflite.ActivationFunctionType.NONE: "none",
    tflite.ActivationFunctionType.RELU: "relu",
    tflite.ActivationFunctionType.RELU_N1_TO_1: "relu_n1_to_1",
    tflite.ActivationFunctionType.RELU6: "relu6",
}
Attributes = dict[str, Any]


class Operands(NamedTuple):
    """An operator's tensors."""

    inputs: tuple[int, ...]
    tensors: TensorTable

    def tensor(self, position: int) -> Tensor:
        """The operand at `position`, which must be there."""
        if position >= len(self.inputs) or self.inputs[position] == ABSENT:
            raise ModelError(
                f"input {position} must be given, got {counted(len(self.inputs), 'input')}"
            )
        return self.tensors[self.inputs[position]]

    def integers(self, position: int, meaning: str) -> tuple[int, ...]:
        """The values of an int32 or int64 constant, flattened."""
        tensor = self.tensor(position)
        if tensor.data is None:
            raise ModelError(f"{meaning} must be a constant, got the activation {tensor.name}")
        if tensor.dtype not in ("int32", "int64") or tensor.data.size > 2 * RANK_LIMIT:
            raise ModelError(
                f"{meaning} must be a few int32 or int64, got {tensor.dtype} {tensor.shape}"
            )
        return tuple(int(value) for value in tensor.data.reshape(-1))


class Support(NamedTuple):
    """What npusim knows of one TFLite operator.

    op            the node's operator
    version       the newest version known
    data_inputs   how many leading inputs are data; the rest is folded into attributes
    attributes    (options, operands) -> the node's attributes
    options       class, and table to verify, of the operator's options; None when none are read
    """

    op: str
    version: int
    data_inputs: int
    attributes: Callable[[Any, Operands], Attributes]
    options: tuple[Any, Table] | None = None


def _activation(options: Any) -> str:
    number = options.FusedActivationFunction()
    if number not in _ACTIVATION:
        raise ModelError(
            f"fused activation must be one of {', '.join(_ACTIVATION.values())}, got {number}"
        )
    return _ACTIVATION[number]


def _padding(options: Any) -> str:
    if options.Padding() not in _PADDING:
        raise ModelError(f"padding must be SAME (0) or VALID (1), got {options.Padding()}")
    return _PADDING[options.Padding()]


def _conv2d(options: Any, operands: Operands) -> Attributes:
    return {
        "stride": (options.StrideH(), options.StrideW()),
        "dilation": (options.DilationHFactor(), options.DilationWFactor()),
        "padding": _padding(options),
        "activation": _activation(options),
    }


def _depthwise_conv2d(options: Any, operands: Operands) -> Attributes:
    channels, outputs = operands.tensor(0).shape[-1:], operands.tensor(1).shape[-1:]
    if channels and outputs and options.DepthMultiplier() * channels[0] != outputs[0]:
        raise ModelError(
            f"depth multiplier times {channels[0]} channels must be the weights' {outputs[0]}, "
            f"got {options.DepthMultiplier()}"
        )
    return _conv2d(options, operands)


def _pool2d(options: Any, operands: Operands) -> Attributes:
    return {
        "kernel": (options.FilterHeight(), options.FilterWidth()),
        "stride": (options.StrideH(), options.StrideW()),
        "padding": _padding(options),
        "activation": _activation(options),
    }


def _fully_connected(options: Any, operands: Operands) -> Attributes:
    if options.WeightsFormat() != tflite.FullyConnectedOptionsWeightsFormat.DEFAULT:
        raise ModelError(f"weights must be in the default format, got {options.WeightsFormat()}")
    return {"activation": _activation(options), "keep_dims": bool(options.KeepNumDims())}


def _elementwise(options: Any, operands: Operands) -> Attributes:
    return {"activation": _activation(options)}


def _mean(options: Any, operands: Operands) -> Attributes:
    rank = len(operands.tensor(0).shape)
    axes = {_axis(axis, rank) for axis in operands.integers(1, "axes")}
    return {"axes": tuple(sorted(axes)), "keep_dims": bool(options.KeepDims())}


def _pad(options: Any, operands: Operands) -> Attributes:
    rank = len(operands.tensor(0).shape)
    flat = operands.integers(1, "padding")
    if len(flat) != 2 * rank or min(flat, default=0) < 0:
        raise ModelError(f"padding must be {rank} pairs (before, after) from 0, got {flat}")
    return {"padding": tuple(zip(flat[::2], flat[1::2], strict=True))}


def _padv2(options: Any, operands: Operands) -> Attributes:
    value, x = operands.tensor(2), operands.tensor(0)
    zero = None if x.quantization is None else x.quantization.zero_point.tolist()
    if value.data is None or value.data.reshape(-1).tolist() != zero:
        got = "an activation" if value.data is None else value.data.reshape(-1).tolist()[:4]
        raise ModelError(f"padding value must be the constant zero point {zero}, got {got}")
    return _pad(options, operands)


def _reshape(options: Any, operands: Operands) -> Attributes:
    if len(operands.inputs) > 1:
        return {"shape": _target(operands.integers(1, "shape"))}
    if options is None:
        raise ModelError("shape must be given, got neither an operand nor options")
    length = options.NewShapeLength()
    if length > RANK_LIMIT:
        raise ModelError(f"shape must have at most {RANK_LIMIT} dimensions, got {length}")
    return {"shape": _target(tuple(options.NewShape(i) for i in range(length)))}


def _target(shape: tuple[int, ...]) -> tuple[int, ...]:
    if any(d < -1 for d in shape) or shape.count(-1) > 1:
        raise ModelError(f"shape must have dimensions from 0 and at most one -1, got {shape}")
    return shape


def _squeeze(options: Any, operands: Operands) -> Attributes:
    shape = operands.tensor(0).shape
    if options is not None and options.SqueezeDimsLength() > RANK_LIMIT:
        raise ModelError(f"axes must be at most {RANK_LIMIT}, got {options.SqueezeDimsLength()}")
    length = 0 if options is None else options.SqueezeDimsLength()
    axes = {_axis(options.SqueezeDims(i), len(shape)) for i in range(length)}
    if any(shape[axis] != 1 for axis in axes):
        raise ModelError(f"axes must have length 1, got {sorted(axes)} of shape {shape}")
    if not axes:
        return {"shape": tuple(d for d in shape if d != 1)}
    return {"shape": tuple(d for i, d in enumerate(shape) if i not in axes)}


def _expand_dims(options: Any, operands: Operands) -> Attributes:
    shape = operands.tensor(0).shape
    axes = operands.integers(1, "axis")
    if len(axes) != 1:
        raise ModelError(f"axis must be one number, got {axes}")
    axis = _axis(axes[0], len(shape) + 1)
    return {"shape": (*shape[:axis], 1, *shape[axis:])}


def _transpose(options: Any, operands: Operands) -> Attributes:
    rank = len(operands.tensor(0).shape)
    permutation = tuple(_axis(axis, rank) for axis in operands.integers(1, "permutation"))
    return {"permutation": permutation}


def _softmax(options: Any, operands: Operands) -> Attributes:
    return {"beta": float(options.Beta())}


def _plain(options: Any, operands: Operands) -> Attributes:
    return {}


def _axis(axis: int, rank: int) -> int:
    """The axis counted from the front."""
    if not -rank <= axis < rank:
        raise ModelError(f"axis must be in {-rank}..{rank - 1}, got {axis}")
    return axis % rank


_POOL = (tflite.Pool2DOptions, schema.POOL_2D_OPTIONS)
_CODE = tflite.BuiltinOperator
SUPPORTED: Mapping[int, Support] = {
    _CODE.CONV_2D: Support(
        "conv2d", 8, 3, _conv2d, (tflite.Conv2DOptions, schema.CONV_2D_OPTIONS)
    ),
    _CODE.DEPTHWISE_CONV_2D: Support(
        "depthwise_conv2d", 7, 3, _depthwise_conv2d,
        (tflite.DepthwiseConv2DOptions, schema.DEPTHWISE_CONV_2D_OPTIONS),
    ),
    _CODE.FULLY_CONNECTED: Support(
        "fully_connected", 14, 3, _fully_connected,
        (tflite.FullyConnectedOptions, schema.FULLY_CONNECTED_OPTIONS),
    ),
    _CODE.ADD: Support("add", 6, 2, _elementwise, (tflite.AddOptions, schema.ADD_OPTIONS)),
    _CODE.MUL: Support("mul", 8, 2, _elementwise, (tflite.MulOptions, schema.MUL_OPTIONS)),
    _CODE.AVERAGE_POOL_2D: Support("average_pool2d", 3, 1, _pool2d, _POOL),
    _CODE.MAX_POOL_2D: Support("max_pool2d", 3, 1, _pool2d, _POOL),
    _CODE.MEAN: Support("mean", 3, 1, _mean, (tflite.ReducerOptions, schema.REDUCER_OPTIONS)),
    _CODE.PAD: Support("pad", 6, 1, _pad),
    _CODE.PADV2: Support("pad", 6, 1, _padv2),
    _CODE.RESHAPE: Support(
        "reshape", 1, 1, _reshape, (tflite.ReshapeOptions, schema.RESHAPE_OPTIONS)
    ),
    _CODE.SQUEEZE: Support(
        "reshape", 2, 1, _squeeze, (tflite.SqueezeOptions, schema.SQUEEZE_OPTIONS)
    ),
    _CODE.EXPAND_DIMS: Support("reshape", 1, 1, _expand_dims),
    _CODE.TRANSPOSE: Support("transpose", 9, 1, _transpose),
    _CODE.SOFTMAX: Support(
        "softmax", 4, 1, _softmax, (tflite.SoftmaxOptions, schema.SOFTMAX_OPTIONS)
    ),
    _CODE.QUANTIZE: Support("quantize", 6, 1, _plain),
    _CODE.DEQUANTIZE: Support("dequantize", 9, 1, _plain),
    _CODE.RELU: Support("relu", 3, 1, _plain),
    _CODE.RELU6: Support("relu6", 3, 1, _plain),
}  # fmt: skip
