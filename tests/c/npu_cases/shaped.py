"""Calls of C under the reference's signatures: shaped arrays in, a call and what must come out."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from npusim import reference, strides
from npusim.kernels.structs import (
    Add,
    AddXnnpack,
    Dequantize,
    Mean,
    Mul,
    Pool2d,
    Quantize,
    Requantization,
    Rescale,
    RescaleXnnpack,
    Softmax,
)

from ..records import SCRATCH, Case
from .arguments import struct, written

PIECE = 48
"""Elements of a piece of elementwise kernels: a multiple of the blocks of 8 and 16 that are drawn,
and so short that rows have several."""


def add(a: np.ndarray, b: np.ndarray, p: Add, r: Requantization) -> Case:
    given = {"p": struct(p), "r": struct(r), **_scratch(2 * PIECE)}
    return _pair("add", a, b, reference.add(a, b, p, r), given, SCRATCHED)


def mul(a: np.ndarray, b: np.ndarray, p: Mul, r: Requantization) -> Case:
    given = {"p": struct(p), "r": struct(r), **_scratch(2 * PIECE)}
    return _pair("mul", a, b, reference.mul(a, b, p, r), given, SCRATCHED)


def add_xnnpack(a: np.ndarray, b: np.ndarray, p: AddXnnpack) -> Case:
    return _pair("add_xnnpack", a, b, reference.add_xnnpack(a, b, p), {"p": struct(p)}, {})


def rescale(x: np.ndarray, p: Rescale, r: Requantization, dtype: type) -> Case:
    y = reference.rescale(x, p, r, dtype)
    given = {"p": struct(p), "r": struct(r), **_scratch(PIECE)}
    return _flat(f"rescale_{x.dtype.name}_{y.dtype.name}", x, y, given, SCRATCHED)


def rescale_xnnpack(x: np.ndarray, p: RescaleXnnpack) -> Case:
    return _flat("rescale_xnnpack", x, reference.rescale_xnnpack(x, p), {"p": struct(p)}, {})


def quantize(x: np.ndarray, p: Quantize, dtype: type) -> Case:
    y = reference.quantize(x, p, dtype)
    return _flat(f"quantize_{y.dtype.name}", x, y, {"p": struct(p)}, {})


def dequantize(x: np.ndarray, p: Dequantize) -> Case:
    y = reference.dequantize(x, p)
    return _flat(f"dequantize_{x.dtype.name}", x, y, {"p": struct(p)}, {})


def average_pool2d(x: np.ndarray, g: Pool2d) -> Case:
    y = reference.average_pool2d(x, g)
    given = {"x": x.reshape(-1), "g": struct(g), "y": written(y), "sums": _memory(g.c)}
    return Case("npu_average_pool2d", given, {"y": y, "sums": SCRATCH})


def max_pool2d(x: np.ndarray, g: Pool2d) -> Case:
    y = reference.max_pool2d(x, g)
    return Case("npu_max_pool2d", {"x": x.reshape(-1), "g": struct(g), "y": written(y)}, {"y": y})


def mean(x: np.ndarray, axes: tuple[int, ...], p: Mean, r: Requantization) -> Case:
    y = reference.mean(x, axes, p, r)
    walk = strides.reduction(x.shape, axes)
    given = {"x": x.reshape(-1), **steps(walk, "y_strides"), "p": struct(p), "r": struct(r)}
    given |= {"y": written(y), "sums": _memory(y.size), "n": y.size}
    return Case("npu_mean", given, {"y": y, "sums": SCRATCH})


def softmax(x: np.ndarray, p: Softmax) -> Case:
    y = reference.softmax(x, p)
    given = {"x": x.reshape(-1), "p": struct(p), "y": written(y), "exponentials": _memory(p.depth)}
    return Case("npu_softmax", given, {"y": y, "exponentials": SCRATCH})


def pad(x: np.ndarray, padding: Sequence[tuple[int, int]], value: float) -> Case:
    y = reference.pad(x, tuple(padding), value)
    walk, start = strides.placement(x.shape, padding)
    given = {"x": as_bytes(x), **steps(walk, "y_strides"), "start": start}
    given |= {"value": as_bytes(np.array([value], x.dtype)), "size": x.itemsize}
    given |= {"y": written(as_bytes(y)), "n": y.size}
    return Case("npu_pad", given, {"y": as_bytes(y)})


def transpose(x: np.ndarray, permutation: Sequence[int]) -> Case:
    y = reference.transpose(x, tuple(permutation))
    walk = strides.transposition(x.shape, permutation)
    given = {"x": as_bytes(x), **steps(walk, "x_strides"), "size": x.itemsize}
    given |= {"y": written(as_bytes(y))}
    return Case("npu_transpose", given, {"y": as_bytes(y)})


def move(x: np.ndarray) -> Case:
    memory = as_bytes(x)
    return Case("npu_move", {"x": memory, "y": written(memory), "n": memory.size}, {"y": memory})


FUNCTIONS: Mapping[str, Callable[..., Case]] = {
    f.__name__: f
    for f in (add, mul, add_xnnpack, rescale, rescale_xnnpack, quantize, dequantize,
              average_pool2d, max_pool2d, mean, softmax, pad, transpose)
}  # fmt: skip
"""By the names of the reference."""

SCRATCHED = {"scratch": SCRATCH}


def pairs(walk: strides.Walk) -> dict[str, Any]:
    """C's struct npu_pairs."""
    a, b = walk.strides
    return {"shape": _narrow(walk.shape), "a_strides": _narrow(a), "b_strides": _narrow(b),
            "rank": len(walk.shape)}  # fmt: skip


def steps(walk: strides.Walk, *names: str) -> dict[str, Any]:
    """A walk as separate arguments: shape, rank, and the strides under these names."""
    found = {"shape": _narrow(walk.shape), "rank": len(walk.shape)}
    return found | {name: _narrow(s) for name, s in zip(names, walk.strides, strict=True)}


def as_bytes(array: np.ndarray) -> np.ndarray:
    """The memory of an array, as C's void pointers see it."""
    return np.ascontiguousarray(array).reshape(-1).view(np.int8)


def _pair(
    name: str,
    a: np.ndarray,
    b: np.ndarray,
    y: np.ndarray,
    given: dict[str, Any],
    changed: dict[str, Any],
) -> Case:
    walk = pairs(strides.broadcast(a.shape, b.shape, y.shape))
    operands = {"a": a.reshape(-1), "b": b.reshape(-1), "walk": walk, "y": written(y)}
    return Case(f"npu_{name}", {**operands, **given}, {"y": y, **changed})


def _flat(
    name: str, x: np.ndarray, y: np.ndarray, given: dict[str, Any], changed: dict[str, Any]
) -> Case:
    operands = {"x": x.reshape(-1), "n": x.size, "y": written(y)}
    return Case(f"npu_{name}", {**operands, **given}, {"y": y, **changed})


def _scratch(count: int) -> dict[str, Any]:
    return {"scratch": _memory(count), "count": count}


def _memory(count: int) -> np.ndarray:
    """Scratch: whatever is there before must not matter."""
    return np.full(count, -123456789, np.int32)


def _narrow(array: np.ndarray) -> np.ndarray:
    return array.astype(np.int32)
