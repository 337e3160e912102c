"""Seeded random cases, one generator per operator.

    case("conv2d", 17).model     bytes of a one-operator .tflite file
    case("conv2d", 17).inputs    its inputs

A case is a function of the operator's name, the seed and NumPy's generators: the same bytes on
every run and machine with one NumPy release. Every case is legal for TFLite Micro, so the oracles
may run it in this process; the docstrings of the generators' modules say which limits that means.
In none of the operators does a case reach behaviour that the C language leaves undefined, but for
32-bit sums that wrap, on which all builds of the oracles agree.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from . import elementwise_cases, movement_cases, tflite_builder, weighted_cases, window_cases
from .draws import Drawn

GENERATORS: Mapping[str, Callable[[Generator], Drawn]] = {
    "conv2d": weighted_cases.conv2d,
    "depthwise_conv2d": weighted_cases.depthwise_conv2d,
    "fully_connected": weighted_cases.fully_connected,
    "add": elementwise_cases.add,
    "mul": elementwise_cases.mul,
    "average_pool2d": window_cases.average_pool2d,
    "max_pool2d": window_cases.max_pool2d,
    "mean": window_cases.mean,
    "pad": movement_cases.pad,
    "reshape": movement_cases.reshape,
    "transpose": movement_cases.transpose,
    "softmax": elementwise_cases.softmax,
    "quantize": elementwise_cases.quantize,
    "dequantize": elementwise_cases.dequantize,
    "relu": elementwise_cases.relu,
    "relu6": elementwise_cases.relu6,
}
OPERATORS = tuple(GENERATORS)


class Case(NamedTuple):
    """One operator on one input.

    op           npusim's name of the operator
    seed         what the case was drawn from
    model        the .tflite file; its first tensors are the operator's, the last one is y
    inputs       one array for each input of the model
    arguments    the same case as keyword arguments of `naive.operators.<op>`
    description  one line that says what was drawn, for a failing test
    """

    op: str
    seed: int
    model: bytes
    inputs: tuple[NDArray[Any], ...]
    arguments: dict[str, Any]
    description: str


def case(op: str, seed: int) -> Case:
    """Draw the case of an operator; KeyError for an operator that has no generator."""
    rng = np.random.default_rng([zlib.crc32(op.encode()), seed])
    drawn = GENERATORS[op](rng)
    model = tflite_builder.model(drawn.tensors, [drawn.operation])
    return Case(op, seed, model, drawn.inputs, drawn.arguments, _description(op, seed, drawn))


def _description(op: str, seed: int, drawn: Drawn) -> str:
    tensors = [f"{t.name}{t.shape} {np.dtype(t.dtype).name}" for t in drawn.tensors]
    options = [
        f"{name}={value}"
        for name, value in drawn.arguments.items()
        if not isinstance(value, np.ndarray) and name != "bias"
    ]
    return f"case({op!r}, {seed}): {', '.join(tensors)}; {', '.join(options)}"
