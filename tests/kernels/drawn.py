"""Seeded draws of the kernels' parameters, extremes included, and of codes."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from npusim.kernels.structs import (
    DOUBLE_ROUNDING,
    Add,
    Conv2d,
    FullyConnected,
    Mean,
    Mul,
    Pool2d,
    Requantization,
    Rescale,
    Softmax,
)

LARGEST_MULTIPLIER = 2**31 - 1
SMALLEST_MULTIPLIER = 2**30
INT8 = (-128, 127)


def codes(rng: Generator, shape: tuple[int, ...], dtype: type = np.int8) -> np.ndarray:
    """Codes of the whole range, a quarter of them at its ends."""
    limits = np.iinfo(dtype)
    drawn = rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)
    ends = rng.choice(np.array([limits.min, limits.max], dtype), shape)
    return np.where(rng.random(shape) < 0.25, ends, drawn)


def zero_point(rng: Generator, limits: tuple[int, int] = INT8) -> int:
    """A zero point, often the lowest, the highest or none."""
    low, high = limits
    return int(rng.choice([low, high, max(low, 0), int(rng.integers(low, high + 1))]))


def multiplier(rng: Generator) -> int:
    """A Q0.31 multiplier, often the smallest or the largest."""
    drawn = int(rng.integers(SMALLEST_MULTIPLIER, LARGEST_MULTIPLIER + 1))
    return int(rng.choice([SMALLEST_MULTIPLIER, LARGEST_MULTIPLIER, drawn, drawn]))


def clamp(rng: Generator, limits: tuple[int, int] = INT8) -> tuple[int, int]:
    """The whole range of a type, or a part of it."""
    if rng.random() < 0.5:
        return limits
    low, high = np.sort(rng.integers(limits[0], limits[1] + 1, 2)).tolist()
    return low, high


def add(rng: Generator) -> Add:
    """Operands scaled by at most 1/2, the sum by anything between 2^-22 and 2^3."""
    shifts = rng.choice([0, *rng.integers(-31, 1, 3)], 2).tolist()
    y_shift = int(rng.integers(-22, 4))
    return Add(20, zero_point(rng), multiplier(rng), shifts[0],
               zero_point(rng), multiplier(rng), shifts[1],
               zero_point(rng), multiplier(rng), y_shift, *clamp(rng))  # fmt: skip


def mul(rng: Generator) -> Mul:
    """Products scaled by anything between 2^-31 and 2^4."""
    shift = int(rng.integers(-31, 5))
    return Mul(zero_point(rng), zero_point(rng), zero_point(rng), multiplier(rng), shift,
               *clamp(rng))  # fmt: skip


def mean(rng: Generator, cells: int) -> Mean:
    """A mean of `cells` values; its multiplier may lie below 2^30."""
    small = int(rng.integers(SMALLEST_MULTIPLIER // 2, LARGEST_MULTIPLIER))
    fold = cells.bit_length() - 1
    return Mean(cells, zero_point(rng), zero_point(rng), small, int(rng.integers(-3, 3)) - fold,
                *INT8)  # fmt: skip


def softmax(rng: Generator, rows: int, depth: int) -> Softmax:
    """The parameters of scales 2^-10..2^5: differences below diff_min count as nothing."""
    shift = int(rng.integers(17, 32))
    return Softmax(rows, depth, multiplier(rng), shift, -((31 << 26) >> shift))


def rescale(rng: Generator, x_dtype: type, y_dtype: type) -> Rescale:
    """Codes times anything between 2^-12 and 2^12."""
    x, y = ((int(np.iinfo(t).min), int(np.iinfo(t).max)) for t in (x_dtype, y_dtype))
    return Rescale(zero_point(rng, x), zero_point(rng, y), multiplier(rng),
                   int(rng.integers(-12, 13)), *clamp(rng, y))  # fmt: skip


def requantization(rng: Generator, o: int) -> Requantization:
    """One multiplier per channel; some channels have none at all, some scale up."""
    multipliers = np.array([multiplier(rng) for _ in range(o)], np.int32)
    shifts = rng.integers(-14, 3, o).astype(np.int32)
    silent = rng.random(o) < 0.05
    multipliers[silent], shifts[silent] = 0, 0
    return Requantization(multipliers, shifts, zero_point(rng), *clamp(rng), DOUBLE_ROUNDING)


def conv2d(rng: Generator, groups: int, inputs: int, outputs: int) -> Conv2d:
    """Any stride, dilation and padding; `inputs` and `outputs` channels in each group."""
    n, h, w = (int(v) for v in rng.integers(1, (3, 9, 9)))
    kernel, stride, dilation = (rng.integers(1, 4, 2) for _ in range(3))
    reach = (kernel - 1) * dilation + 1
    pad = rng.integers(0, reach)
    size = np.maximum((np.array([h, w]) + 2 * pad - reach) // stride + 1, 1)
    return Conv2d(n, h, w, groups * inputs, *size.tolist(), groups * outputs, *kernel.tolist(),
                  *stride.tolist(), *dilation.tolist(), *pad.tolist(), groups,
                  zero_point(rng))  # fmt: skip


def fully_connected(rng: Generator) -> FullyConnected:
    """1..4 rows, up to 70 inputs and 20 outputs."""
    return FullyConnected(*(int(v) for v in rng.integers(1, (5, 71, 21))), zero_point(rng))


def pool2d(rng: Generator) -> Pool2d:
    """Windows that each hold a cell: padding is smaller than the kernel, and so is the overhang."""
    n, h, w, c = (int(v) for v in rng.integers(1, (3, 10, 10, 40)))
    kernel, stride = rng.integers(1, 5, 2), rng.integers(1, 4, 2)
    before, after = rng.integers(0, kernel), rng.integers(0, kernel)
    size = (np.array([h, w]) + before + after - kernel) // stride + 1
    if size.min() < 1:
        return pool2d(rng)
    return Pool2d(n, h, w, c, *size.tolist(), *kernel.tolist(), *stride.tolist(),
                  *before.tolist(), *clamp(rng))  # fmt: skip
