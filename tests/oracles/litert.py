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
    interpreter = _preserving(model, mode)
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


def delegated(model: bytes) -> list[bool]:
    """Which of a model's operators XNNPACK takes in the mode "xnnpack".

    The interpreter lists the file's operators, then the delegate's, one for each group of
    operators, with what a group reads from outside and what others read of it.
    """
    interpreter = _preserving(model, "xnnpack")
    interpreter.allocate_tensors()
    listed = interpreter._get_ops_details()
    operators = [each for each in listed if each["op_name"] != "DELEGATE"]
    groups = [each for each in listed if each["op_name"] == "DELEGATE"]
    read = {i for group in groups for i in group["inputs"].tolist()}
    made = {i for group in groups for i in group["outputs"].tolist()}
    taken: dict[int, bool] = {}  # by output; the last operators first
    for operator in reversed(operators):
        (y,) = operator["outputs"].tolist()
        users = [each["outputs"][0] for each in operators if y in each["inputs"].tolist()]
        inside = y not in read and any(taken[user] for user in users)
        taken[y] = y in made or inside
    return [taken[operator["outputs"][0]] for operator in operators]


def _preserving(model: bytes, mode: str) -> Any:
    """An interpreter that keeps every tensor."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the wheel advises against keeping all tensors
        return Interpreter(
            model_content=model,
            num_threads=1,
            experimental_op_resolver_type=MODES[mode],
            experimental_preserve_all_tensors=True,
        )


def _invoke(interpreter: Any, inputs: Sequence[NDArray[Any]]) -> None:
    interpreter.allocate_tensors()
    for details, array in zip(interpreter.get_input_details(), inputs, strict=True):
        interpreter.set_tensor(details["index"], array)
    interpreter.invoke()
