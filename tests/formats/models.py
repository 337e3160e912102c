"""Small .tflite models, and edits that the model builder does not make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import flatbuffers
import numpy as np
from ai_edge_litert import schema_py_generated as schema
from oracles import tflite_builder as tfl

Edit = Callable[[Any], Any]


def codes(name: str, *shape: int, zero_point: int = 1, dtype: type = np.int8) -> tfl.Tensor:
    """An activation of scale 0.5."""
    return tfl.Tensor(name, shape, dtype, 0.5, zero_point)


def integers(name: str, values: Any, dtype: type = np.int32) -> tfl.Tensor:
    """A constant operand that is not quantised."""
    return tfl.constant(name, np.array(values, dtype))


def operation(name: str, options: Any, inputs: Sequence[int], output: int) -> tfl.Operation:
    """An operator that the model builder does not know; `options` is an object of the schema."""
    kind = type(options).__name__.removesuffix("T")
    return tfl.Operation(
        getattr(schema.BuiltinOperator, name), 1, getattr(schema.BuiltinOptions, kind), options,
        tuple(inputs), (output,),
    )  # fmt: skip


def squeeze(x: int, output: int, axes: Sequence[int]) -> tfl.Operation:
    """SQUEEZE of x: all axes of length 1, or those given."""
    options = schema.SqueezeOptionsT()
    options.squeezeDims = list(axes)
    return operation("SQUEEZE", options, (x,), output)


def expand_dims(inputs: tuple[int, int], output: int) -> tfl.Operation:
    """EXPAND_DIMS of x by an axis in an integer constant."""
    return operation("EXPAND_DIMS", schema.ExpandDimsOptionsT(), inputs, output)


def pad_v2(inputs: tuple[int, int, int], output: int) -> tfl.Operation:
    """PADV2 of x by an integer constant (rank, 2) with a given code."""
    return operation("PADV2", schema.PadV2OptionsT(), inputs, output)


def network() -> bytes:
    """A convolution with scales per channel, an addition, and a classifier.

    Tensors: 0 image, 1 weights, 2 bias, 3 conv, 4 sum, 5 axes, 6 mean, 7 head, 8 logits,
    9 probabilities.
    """
    weights = np.arange(-18, 18, dtype=np.int8).reshape(2, 3, 3, 2)
    tensors = [
        codes("image", 1, 5, 4, 2),
        tfl.constant("weights", weights, [0.25, 0.125]),
        tfl.constant("bias", np.array([100, -7], np.int32), [0.125, 0.0625]),
        codes("conv", 1, 5, 4, 2),
        codes("sum", 1, 5, 4, 2),
        integers("axes", [1, -2]),
        codes("mean", 1, 2),
        tfl.constant("head", np.array([[1, -2], [3, 4], [-5, 6]], np.int8), 0.25),
        codes("logits", 1, 3),
        tfl.Tensor("probabilities", (1, 3), np.int8, 1 / 256, -128),
    ]
    operations = [
        tfl.conv_2d((0, 1, 2), 3, tfl.Window(padding="SAME"), "relu"),
        tfl.add((0, 3), 4),
        tfl.mean((4, 5), 6, False),
        tfl.fully_connected((6, 7, -1), 8),
        tfl.softmax(8, 9, 1.0),
    ]
    return tfl.model(tensors, operations)


def edited(data: bytes, edit: Edit) -> bytes:
    """The model after `edit` has changed its unpacked form (a schema.ModelT)."""
    model = schema.ModelT.InitFromObj(schema.Model.GetRootAs(data, 0))
    edit(model)
    return packed(model)


def packed(model: Any) -> bytes:
    """The file of a schema.ModelT."""
    builder = flatbuffers.Builder(1024)
    builder.Finish(model.Pack(builder), tfl.FILE_IDENTIFIER)
    return bytes(builder.Output())


def tensor(index: int, **changes: Any) -> Edit:
    """Set fields of a tensor."""
    return lambda model: _set(model.subgraphs[0].tensors[index], changes)


def quantization(index: int, **changes: Any) -> Edit:
    """Set fields of a tensor's quantisation."""
    return lambda model: _set(model.subgraphs[0].tensors[index].quantization, changes)


def operator(index: int, **changes: Any) -> Edit:
    """Set fields of an operator."""
    return lambda model: _set(model.subgraphs[0].operators[index], changes)


def options(index: int, **changes: Any) -> Edit:
    """Set fields of an operator's options."""
    return lambda model: _set(model.subgraphs[0].operators[index].builtinOptions, changes)


def code(index: int, **changes: Any) -> Edit:
    """Set fields of an operator code; every operator of the builder's models has its own."""
    return lambda model: _set(model.operatorCodes[index], changes)


def constant(index: int, values: Sequence[int]) -> Edit:
    """Replace the bytes of a constant."""

    def edit(model: Any) -> None:
        buffer = model.buffers[model.subgraphs[0].tensors[index].buffer]
        buffer.data = np.array(values, np.uint8)

    return edit


def subgraph(**changes: Any) -> Edit:
    """Set fields of the main subgraph."""
    return lambda model: _set(model.subgraphs[0], changes)


def both(*edits: Edit) -> Edit:
    """One edit after the other."""

    def edit(model: Any) -> None:
        for each in edits:
            each(model)

    return edit


def _set(target: Any, changes: dict[str, Any]) -> None:
    for name, value in changes.items():
        if not hasattr(target, name):
            raise AttributeError(f"{type(target).__name__} has no field {name}")
        setattr(target, name, value)
