"""TFLite Micro's interpreter as an oracle (PyPI `tflite-micro`).

The wheel aborts the whole process on models it holds to be impossible (its CHECK macros; the ones
that legal files can meet are listed in `oracles.cases`) and reads out of bounds on malformed
files. Give it only models of `oracles.cases` or files that npusim's own checks have accepted, or
run it in a process of its own. A model it does not support is a RuntimeError; the reason is
printed on stderr.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tflite_micro import runtime

from . import model_file

ARENA_FIXED = 1 << 20  # bytes; memory that is never touched costs nothing
ARENA_PER_TENSOR = 1 << 10
COPIES_OF_EACH_TENSOR = 4  # the tensor, and scratch of up to one int32 for each of its elements
BYTES_PER_ELEMENT = 8  # of the widest type


def run(model: bytes, inputs: Sequence[NDArray[Any]]) -> list[NDArray[Any]]:
    """Run a model once and return its outputs, in the file's order.

    `inputs`: one array for each input of the model, of its shape (batch included) and type.
    Raises RuntimeError for a model the wheel refuses, ValueError for a wrong input.
    """
    interpreter = runtime.Interpreter.from_bytes(model, arena_size=_arena_size(model))
    _invoke(interpreter, inputs)
    count = model_file.subgraph(model).OutputsLength()
    return [np.array(interpreter.get_output(i)) for i in range(count)]


def trace(model: bytes, inputs: Sequence[NDArray[Any]]) -> dict[int, NDArray[Any]]:
    """Run a model once and return every tensor that is not a constant, by its index in the file.

    Arguments and errors as in `run`.
    """
    interpreter = runtime.Interpreter.from_bytes(
        model,
        arena_size=_arena_size(model),
        intrepreter_config=runtime.InterpreterConfig.kPreserveAllTensors,
    )
    _invoke(interpreter, inputs)
    indices = model_file.activations(model)
    return {i: np.array(interpreter.GetTensor(i, 0)["tensor_data"]) for i in indices}


def _arena_size(model: bytes) -> int:
    """Bytes that hold all tensors at once and what TFLite Micro keeps beside them."""
    graph = model_file.subgraph(model)
    size = ARENA_FIXED + ARENA_PER_TENSOR * graph.TensorsLength()
    for i in range(graph.TensorsLength()):
        tensor = graph.Tensors(i)
        elements = int(np.prod(tensor.ShapeAsNumpy())) if tensor.ShapeLength() else 1
        size += COPIES_OF_EACH_TENSOR * BYTES_PER_ELEMENT * elements
    return size


def _invoke(interpreter: Any, inputs: Sequence[NDArray[Any]]) -> None:
    for i, array in enumerate(inputs):
        interpreter.set_input(array, i)
    interpreter.invoke()
