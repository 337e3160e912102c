"""Layers of the weighted operators as calls of C, with what the reference makes of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from kernels.layers import LAYERS

from npusim import reference
from npusim.headroom import AccumulatorError
from npusim.kernels.structs import ERROR, SATURATE, Accumulation, Conv2d

from ..records import SCRATCH, Case
from .arguments import struct, with_integer_rules, written

POSITIONS = 3


def layer(op: str, seed: int) -> tuple[Any, ...]:
    """A drawn layer of the Python kernels' tests, by rules of C."""
    *operands, r = LAYERS[op](seed)
    return (*operands, with_integer_rules(np.random.default_rng(seed), r))


def call(op: str, arguments: Sequence[Any], expected: np.ndarray | None = None) -> Case:
    """The plain kernel on (x, weights, bias, g, r); the reference says what must come."""
    if expected is None:
        expected = getattr(reference, op)(*arguments)
    given = _operands(arguments) | {"y": written(expected)}
    results = {"y": expected.reshape(-1), "acc": SCRATCH}
    g = arguments[3]
    given["acc"] = np.full((1 if op == "fully_connected" else 1 + POSITIONS) * g.o, 7, np.int32)
    if op == "conv2d":
        given["patch"] = _patch(g)
        results |= {} if given["patch"] is None else {"patch": SCRATCH}
    return Case(f"npu_{op}", given, results)


def ordered_call(op: str, arguments: Sequence[Any], a: Accumulation) -> Case:
    """The ordered kernel; what leaves the accumulator is clamped whether it is reported or not."""
    clamped = a._replace(overflow=SATURATE) if a.overflow == ERROR else a
    expected = getattr(reference, op)(*arguments, clamped).reshape(-1)
    outputs = arguments[3].o
    given = _operands(arguments) | {
        "a": struct(a),
        "y": written(expected),
        "acc": np.full(outputs, 7, np.int64),
        "first": np.full(outputs, 7, np.int64),
        "fault": np.array([-1, -1], np.int64),
    }
    results = {"y": expected, "acc": SCRATCH, "first": SCRATCH}
    return Case(f"npu_{op}_ordered", given, {**results, "fault": _fault(op, arguments, a)})


def _operands(arguments: Sequence[Any]) -> dict[str, Any]:
    x, weights, bias, g, r = arguments
    return {"x": x, "weights": weights, "bias": bias, "g": struct(g), "r": struct(r)}


def _patch(g: Conv2d) -> np.ndarray | None:
    """None where C must do without: a kernel of one cell that visits all of x."""
    alone = (g.kh, g.kw, g.stride_h, g.stride_w, g.groups, g.pad_top, g.pad_left)
    if alone == (1, 1, 1, 1, 1, 0, 0) and (g.oh, g.ow) == (g.h, g.w):
        return None
    return np.full(POSITIONS * g.kh * g.kw * (g.c // g.groups), 7, np.int8)


def _fault(op: str, arguments: Sequence[Any], a: Accumulation) -> np.ndarray:
    """Index and sum of the first overflow, if it is to be reported."""
    try:
        getattr(reference, op)(*arguments, a)
    except AccumulatorError as error:
        return np.array([error.index, error.value])
    return np.array([-1, -1])
