"""LiteRT's interpreter as an oracle (PyPI `ai-edge-litert`), in one of its arithmetics.

| mode | kernels | npusim's profile |
| --- | --- | --- |
| "ref" | reference kernels | litert-ref |
| "x86" | optimised kernels without a delegate | litert-x86 |
| "xnnpack" | the default: XNNPACK where it can, else the optimised ones | xnnpack |

The wheel aborts or crashes on some illegal models: see `oracles.tflm` for how to stay safe. Beyond
that, "x86" and "xnnpack" crash on a depthwise convolution without bias.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import Any

from ai_edge_litert.interpreter import Interpreter, OpResolverType
from numpy.typing import NDArray

from . import model_file

MODES = {
    "ref": OpResolverType.BUILTIN_REF,
    "x86": OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES,
    "xnnpack": OpResolverType.AUTO,
}


def run(model: bytes, inputs: Sequence[NDArray[Any]], mode: str) -> list[NDArray[Any]]:
    """Run a model once and return its outputs, in the file's order.

    `inputs`: one array for each input of the model, of its shape (batch included) and type.
    `mode`: "ref", "x86" or "xnnpack".
    Raises RuntimeError for a model LiteRT refuses, ValueError for a wrong input.
    """
    interpreter = Interpreter(
        model_content=model, num_threads=1, experimental_op_resolver_type=MODES[mode]
    )
    _invoke(interpreter, inputs)
    return [interpreter.get_tensor(y["index"]) for y in interpreter.get_output_details()]


def trace(model: bytes, inputs: Sequence[NDArray[Any]], mode: str) -> dict[int, NDArray[Any]]:
    """Run a model once and return every tensor that is not a constant, by its index in the file.

    Arguments and errors as in `run`.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel advises against keeping all tensors
        interpreter = Interpreter(
            model_content=model,
            num_threads=1,
            experimental_op_resolver_type=MODES[mode],
            experimental_preserve_all_tensors=True,
        )
    _invoke(interpreter, inputs)
    return {i: interpreter.get_tensor(i) for i in model_file.activations(model)}


def trace_apart(model: bytes, inputs: Sequence[NDArray[Any]], mode: str) -> dict[int, NDArray[Any]]:
    """As `trace`, in a process of its own, for files that npusim's checks have not accepted.

    Raises RuntimeError, too, where LiteRT ends that process.
    """
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        try:
            return pool.submit(trace, model, inputs, mode).result()
        except BrokenProcessPool as crash:
            raise RuntimeError("LiteRT crashed") from crash


def _invoke(interpreter: Any, inputs: Sequence[NDArray[Any]]) -> None:
    interpreter.allocate_tensors()
    for details, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(details["index"], array)
    interpreter.invoke()
