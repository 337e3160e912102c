"""What each operator accepts: operands, types, ranks, attributes.

The rules are those of TFLite's Prepare functions for int8, where it has some.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from .kernels.table import CODE_TYPES

LONGEST = 2**31 - 1
INT8 = ("int8",)
CODES = ("int8", "uint8", "int16", "int32")
ANY = ("int8", "uint8", "int16", "int32", "int64", "float32", "bool")


class Attribute(NamedTuple):
    """A legal attribute: what it must be, in words and as a test of (value, rank of x)."""

    rule: str
    test: Callable[[Any, int], bool]


class Rule(NamedTuple):
    """What an operator accepts.

    operands     names of its data operands; a bias may be absent
    x, y         types of the first operand and of the output; () for y means x's type
    ranks        smallest and largest rank of the first operand
    attributes   exactly those it must have
    moves        whether codes pass unchanged, so that x and y must have one quantisation
    """

    operands: tuple[str, ...]
    x: tuple[str, ...]
    y: tuple[str, ...]
    ranks: tuple[int, int]
    attributes: Mapping[str, Attribute]
    moves: bool = False


def _integers(value: Any, low: int, length: int | None = None) -> bool:
    """A tuple of plain ints in low..2^31-1."""
    return (
        isinstance(value, tuple)
        and length in (None, len(value))
        and all(type(v) is int and low <= v <= LONGEST for v in value)
    )


_PAIR = Attribute("two integers from 1", lambda v, _: _integers(v, 1, 2))
_FLAG = Attribute("true or false", lambda v, _: type(v) is bool)
_WINDOW = Attribute(
    "same, valid or (top, bottom, left, right) from 0",
    lambda v, _: v in ("same", "valid") or _integers(v, 0, 4),
)
_ACTIVATIONS = ("none", "relu", "relu6", "relu_n1_to_1")
_ACTIVATION = Attribute(f"one of {', '.join(_ACTIVATIONS)}", lambda v, _: v in _ACTIVATIONS)
_AXES = Attribute(
    "different axes of the input, ascending",
    lambda v, rank: _integers(v, 0) and sorted(set(v)) == list(v) and all(a < rank for a in v),
)
_PADDING = Attribute(
    "a pair (before, after) from 0 for each axis",
    lambda v, rank: isinstance(v, tuple) and len(v) == rank and all(_integers(p, 0, 2) for p in v),
)
_TARGET = Attribute(
    "dimensions from 1, at most one of them -1",
    lambda v, _: _integers(v, -1) and 0 not in v and v.count(-1) <= 1,
)
_PERMUTATION = Attribute(
    "every axis of the input once",
    lambda v, rank: _integers(v, 0) and sorted(v) == list(range(rank)),
)
_BETA = Attribute("finite, from 0", lambda v, _: type(v) is float and math.isfinite(v) and v >= 0)

_CONV2D = {"stride": _PAIR, "dilation": _PAIR, "padding": _WINDOW, "activation": _ACTIVATION}
_POOL2D = {"kernel": _PAIR, "stride": _PAIR, "padding": _WINDOW, "activation": _ACTIVATION}
_WEIGHTED = ("x", "weights", "bias")
_X = ("x",)
RULES: Mapping[str, Rule] = {
    "conv2d": Rule(_WEIGHTED, INT8, INT8, (4, 4), _CONV2D),
    "depthwise_conv2d": Rule(_WEIGHTED, INT8, INT8, (4, 4), _CONV2D),
    "fully_connected": Rule(
        _WEIGHTED, INT8, INT8, (1, 8), {"activation": _ACTIVATION, "keep_dims": _FLAG}
    ),
    "add": Rule(("a", "b"), INT8, INT8, (0, 8), {"activation": _ACTIVATION}),
    "mul": Rule(("a", "b"), INT8, INT8, (0, 8), {"activation": _ACTIVATION}),
    "average_pool2d": Rule(_X, INT8, INT8, (4, 4), _POOL2D, moves=True),
    "max_pool2d": Rule(_X, INT8, INT8, (4, 4), _POOL2D, moves=True),
    "mean": Rule(_X, INT8, INT8, (1, 8), {"axes": _AXES, "keep_dims": _FLAG}),
    "pad": Rule(_X, ANY, (), (1, 8), {"padding": _PADDING}, moves=True),
    "reshape": Rule(_X, ANY, (), (0, 8), {"shape": _TARGET}, moves=True),
    "transpose": Rule(_X, ANY, (), (1, 8), {"permutation": _PERMUTATION}, moves=True),
    "softmax": Rule(_X, INT8, INT8, (1, 8), {"beta": _BETA}),
    "quantize": Rule(_X, ("float32", *CODES), CODES, (0, 8), {}),
    "dequantize": Rule(_X, CODE_TYPES, ("float32",), (0, 8), {}),
    "relu": Rule(_X, INT8, INT8, (0, 8), {}),
    "relu6": Rule(_X, INT8, INT8, (0, 8), {}, moves=True),
}
