"""Random numbers that the case generators share: scales, zero points, codes, windows.

Every draw takes a NumPy generator and nothing else that varies, so a case follows from its seed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from .tflite_builder import ACTIVATION, Operation, Tensor, Window

TIES = 0.2  # share of cases with simple scales, whose products hit rounding ties
ODD = (1, 1, 1, 1, 3, 5, 7, 9, 11, 13, 15)  # a simple scale is one of these times 2^n
HALF_CODE = 0.3  # share of activation bounds that lie between two codes
EXTREME_ZERO_POINT = 0.25
MAX_STRIDE = 3
MAX_DILATION = 3
ACTIVATION_WEIGHTS = (0.5, 0.2, 0.1, 0.2)  # in ACTIVATION's order
ACTIVATION_BOUNDS = {
    "none": (-math.inf, math.inf),
    "relu": (0.0, math.inf),
    "relu_n1_to_1": (-1.0, 1.0),
    "relu6": (0.0, 6.0),
}


class Affine(NamedTuple):
    """Per-tensor quantisation: real = scale * (code - zero_point); scale is a float32 value."""

    scale: float
    zero_point: int


class Drawn(NamedTuple):
    """What a generator returns: one operator, its tensors in the file's order, and its inputs.

    `arguments` are the keyword arguments of the operator's twin in `naive.operators`.
    """

    tensors: list[Tensor]
    operation: Operation
    inputs: tuple[NDArray[Any], ...]
    arguments: dict[str, Any]


def log_uniform(rng: Generator, low: float, high: float) -> float:
    """A number whose logarithm is uniform between those of low and high."""
    return math.exp(rng.uniform(math.log(low), math.log(high)))


def float32(value: float) -> float:
    """The float32 nearest to a value, as a Python float."""
    return float(np.float32(value))


def power_of_two(value: float) -> float:
    """The power of two nearest to a positive value on a logarithmic scale."""
    return 2.0 ** round(math.log2(value))


def simple(rng: Generator, value: float) -> float:
    """A small odd number times a power of two, near a positive value.

    Quotients of such scales make real results lie exactly between two codes. Which way they then
    go depends on the last bit of a multiplier and on every intermediate rounding.
    """
    odd = ODD[int(rng.integers(len(ODD)))]
    return odd * power_of_two(value / odd)


def is_simple(scale: float) -> bool:
    """Whether a scale is of the kind that `simple` draws."""
    return (math.frexp(scale)[0] * 16).is_integer()


def activation(rng: Generator) -> str:
    """A fused activation, "none" in half of the cases."""
    return str(rng.choice(list(ACTIVATION), p=ACTIVATION_WEIGHTS))


def zero_point(rng: Generator, dtype: type = np.int8) -> int:
    """A zero point of the type; a quarter of them at or beside the ends."""
    limits = np.iinfo(dtype)
    if rng.random() < EXTREME_ZERO_POINT:
        return int(rng.choice([limits.min, limits.min + 1, limits.max - 1, limits.max]))
    return int(rng.integers(limits.min, limits.max + 1))


def pair(rng: Generator, largest: int) -> tuple[int, int]:
    """Two numbers from 1 to `largest`: one for height, one for width."""
    return int(rng.integers(1, largest + 1)), int(rng.integers(1, largest + 1))


def affine(rng: Generator, ties: bool, low: float = 1e-4, high: float = 1.0) -> Affine:
    """An int8 quantisation with scale in low..high, a simple one if `ties`."""
    scale = log_uniform(rng, low, high)
    return Affine(float32(simple(rng, scale) if ties else scale), zero_point(rng))


def bounded_scale(rng: Generator, name: str, ties: bool, codes: tuple[int, int]) -> float:
    """A scale for an activation; its upper bound, if any, lies few..many `codes` above zero."""
    bound = ACTIVATION_BOUNDS[name][1]
    if not math.isfinite(bound):
        scale = log_uniform(rng, 1e-3, 1.0)
    elif rng.random() < HALF_CODE:
        return float32(bound / (int(rng.integers(*codes)) + 0.5))
    else:
        scale = bound / rng.uniform(*codes)
    return float32(simple(rng, scale) if ties else scale)


def suited(rng: Generator, quantization: Affine, name: str) -> Affine:
    """The quantisation with a zero point that leaves most codes to an activation, mostly."""
    if ACTIVATION_BOUNDS[name][0] == 0 and rng.random() < 0.85:
        return quantization._replace(zero_point=int(rng.integers(-128, -90)))
    return quantization


def codes(
    rng: Generator, shape: Sequence[int], around: int = 0, dtype: type = np.int8
) -> NDArray[Any]:
    """Codes of an integer type: mostly uniform, else a bell around a code, else only the ends."""
    limits = np.iinfo(dtype)
    kind = rng.random()
    if kind < 0.7:
        return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    if kind < 0.95:
        bell = rng.normal(around, (limits.max - limits.min) / 12, shape)
        return np.clip(np.rint(bell), limits.min, limits.max).astype(dtype)
    return rng.choice(np.array([limits.min, limits.max], dtype), shape)


def codes_near(rng: Generator, shape: Sequence[int], around: int, reach: int) -> NDArray[np.int8]:
    """int8 codes within `reach` of a code."""
    near = around + rng.integers(-reach, reach, shape, endpoint=True)
    return np.clip(near, -128, 127).astype(np.int8)


def reals(x: NDArray[Any], quantization: Affine) -> NDArray[np.float64]:
    """The numbers that codes stand for."""
    return quantization.scale * (x.astype(np.float64) - quantization.zero_point)


def window(
    rng: Generator, size: tuple[int, int], kernel: tuple[int, int], dilated: bool
) -> Window | None:
    """Stride, dilation and padding of a kernel on an image; None if VALID leaves no output."""
    stride = pair(rng, MAX_STRIDE)
    dilation = pair(rng, MAX_DILATION) if dilated and rng.random() < 0.3 else (1, 1)
    padding = str(rng.choice(["SAME", "VALID"]))
    fits = all((k - 1) * d < n for n, k, d in zip(size, kernel, dilation, strict=True))
    return Window(stride, dilation, padding) if padding == "SAME" or fits else None


def window_output(size: tuple[int, int], kernel: tuple[int, int], walk: Window) -> tuple[int, int]:
    """(OH, OW) of a kernel that walks over an image of (H, W)."""
    if walk.padding == "SAME":
        return -(-size[0] // walk.stride[0]), -(-size[1] // walk.stride[1])
    reach = [(k - 1) * d for k, d in zip(kernel, walk.dilation, strict=True)]
    return (
        (size[0] - 1 - reach[0]) // walk.stride[0] + 1,
        (size[1] - 1 - reach[1]) // walk.stride[1] + 1,
    )


def fitted(
    rng: Generator,
    values: NDArray[np.float64],
    ties: bool,
    name: str = "none",
    dtype: type = np.int8,
) -> Affine:
    """An output quantisation under which most of `values` are not clamped.

    Zero and the bulk of the values that activation `name` lets through take 20 % to 95 % of the
    type's range, in a fifth of cases up to 150 %; the zero point puts them inside, or is drawn
    without regard to them in a twentieth of cases.
    """
    limits = np.iinfo(dtype)
    width = limits.max - limits.min
    bulk = np.percentile(np.clip(values, *ACTIVATION_BOUNDS[name]), [3, 97])
    low, high = min(bulk[0], 0.0), max(bulk[1], 0.0)
    share = rng.uniform(0.95, 1.5) if rng.random() < 0.2 else rng.uniform(0.2, 0.95)
    scale = (high - low or 1.0) / (width * share)
    scale = float32(simple(rng, scale) if ties else scale)
    room = max(width - (high - low) / scale, 0.0)
    start = limits.min + rng.uniform(0.0, room) - low / scale
    placed = int(np.clip(round(start), limits.min, limits.max))
    return Affine(scale, zero_point(rng, dtype) if rng.random() < 0.05 else placed)


def tensor(name: str, array: NDArray[Any], quantization: Affine | None) -> Tensor:
    """The graph's input or output tensor that holds an array of this shape and type."""
    scale, zero = (None, 0) if quantization is None else quantization
    return Tensor(name, array.shape, array.dtype.type, scale, zero)


def output(shape: Sequence[int], quantization: Affine, dtype: type = np.int8) -> Tensor:
    """The tensor "y" of a shape."""
    return Tensor("y", tuple(shape), dtype, quantization.scale, quantization.zero_point)
