"""Tensors of a TFLite file: shapes, types, quantisation and the bytes of constants.

A tensor is read when an operator refers to it, so that what a file merely carries along (types
npusim does not know, tables for other runtimes) does no harm.
Source: tensorflow/compiler/mlir/lite/schema/schema.fbs; ParseQuantization and ParseTensors of
tensorflow/lite/core/interpreter_builder.cc
"""

from math import prod

import numpy as np
import tflite
from flatbuffers.number_types import Uint32Flags

from ..affine import LIMITS
from ..check import RANK_LIMIT
from ..graph import ModelError, Quantization, Tensor

NAME_LIMIT = 1024

_DTYPES = {
    tflite.TensorType.FLOAT32: "float32",
    tflite.TensorType.INT32: "int32",
    tflite.TensorType.UINT8: "uint8",
    tflite.TensorType.INT64: "int64",
    tflite.TensorType.BOOL: "bool",
    tflite.TensorType.INT16: "int16",
    tflite.TensorType.INT8: "int8",
}
_TYPE_NAMES = {v: k for k, v in vars(tflite.TensorType).items() if not k.startswith("_")}
_EXTERNAL_BUFFER_SLOT = 4 + 2 * 10  # newer than the classes of tflite 2.18


class TensorTable:
    """The tensors of one subgraph, read on demand; the model must have been verified."""

    def __init__(self, model: tflite.Model, subgraph: tflite.SubGraph) -> None:
        self._model = model
        self._subgraph = subgraph
        self._read: dict[int, Tensor] = {}

    def __len__(self) -> int:
        return self._subgraph.TensorsLength()

    def name(self, index: int) -> str:
        """The tensor's name for messages."""
        return printable(self._subgraph.Tensors(index).Name()) or f"tensor_{index}"

    def __getitem__(self, index: int) -> Tensor:
        """The tensor at `index` of the file's table: "constant" if it has data, else "activation".

        raises   ModelError naming the tensor
        """
        if index not in self._read:
            source = self._subgraph.Tensors(index)
            try:
                self._read[index] = self._tensor(index, source)
            except ModelError as error:
                raise ModelError(f"tensor {self.name(index)}: {error}") from error
        return self._read[index]

    def _tensor(self, index: int, source: tflite.Tensor) -> Tensor:
        if source.Type() not in _DTYPES:
            known = _TYPE_NAMES.get(source.Type(), source.Type())
            raise ModelError(f"type must be one of {', '.join(_DTYPES.values())}, got {known}")
        if source.IsVariable():
            raise ModelError(
                "must not be a variable, got one; operators with state are not supported"
            )
        if source.Sparsity() is not None:
            raise ModelError(
                "must be dense, got a sparse tensor; convert the model without sparsity"
            )
        dtype = _DTYPES[source.Type()]
        shape = _shape(source)
        data = self._data(source, dtype, shape)
        quantization = _quantization(source, shape) if dtype in LIMITS else None
        kind = "activation" if data is None else "constant"
        return Tensor(self.name(index), shape, dtype, kind, quantization, data, index)

    def _data(self, source: tflite.Tensor, dtype: str, shape: tuple[int, ...]) -> np.ndarray | None:
        """A constant's values, a view of the file's bytes where they are aligned."""
        external = source._tab.GetSlot(_EXTERNAL_BUFFER_SLOT, 0, Uint32Flags)
        if not 0 <= source.Buffer() < self._model.BuffersLength():
            raise ModelError(
                f"buffer must be below {self._model.BuffersLength()}, got {source.Buffer()}"
            )
        buffer = self._model.Buffers(source.Buffer())
        if external or buffer.Offset() or buffer.Size():
            raise ModelError("data must lie in the model's buffers, got an external buffer")
        if shape == (0,):  # an empty list of integers, such as the target shape of a scalar
            return np.zeros(0, dtype)
        if buffer.DataLength() == 0:
            return None
        needed = prod(shape) * np.dtype(dtype).itemsize
        if buffer.DataLength() != needed:
            raise ModelError(
                f"{dtype} constant of shape {shape} must have {needed} bytes, "
                f"got {buffer.DataLength()}"
            )
        values = buffer.DataAsNumpy().view(np.dtype(dtype).newbyteorder("<")).reshape(shape)
        return np.require(values, dtype, "A")


def _shape(source: tflite.Tensor) -> tuple[int, ...]:
    rank = source.ShapeLength()
    if rank > RANK_LIMIT:
        raise ModelError(f"rank must be at most {RANK_LIMIT}, got {rank}")
    shape = tuple(source.Shape(i) for i in range(rank))
    if any(d < 0 for d in shape):
        raise ModelError(f"dimensions must not be negative, got {shape}")
    return shape


def _quantization(source: tflite.Tensor, shape: tuple[int, ...]) -> Quantization | None:
    """Scales and zero points; None when the file gives none."""
    given = source.Quantization()
    if given is None or given.ScaleLength() == 0:
        return None
    scales = given.ScaleLength()
    if given.DetailsType():
        raise ModelError("quantisation must be affine, got a custom one")
    if given.ZeroPointLength() != scales:
        raise ModelError(
            f"scales and zero points must be equally many, got {scales} and "
            f"{given.ZeroPointLength()}"
        )
    # Depthwise converters give the weights' dimension 3 to biases, which have only one.
    axis = 0 if len(shape) == 1 else given.QuantizedDimension()
    if scales > 1 and (not 0 <= axis < len(shape) or shape[axis] != scales):
        raise ModelError(
            f"quantised dimension must be one of length {scales} (the scales), "
            f"got dimension {axis} of shape {shape}"
        )
    return Quantization(
        given.ScaleAsNumpy(), given.ZeroPointAsNumpy(), axis if scales > 1 else None
    )


def printable(name: bytes | None) -> str:
    """A name of the file as text that is safe to print, at most NAME_LIMIT bytes of it."""
    text = (name or b"")[:NAME_LIMIT].decode("utf-8", "replace")
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)
