"""Seeded draws of the kernels' parameters, extremes included, and of codes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.random import Generator

from npusim.kernels.structs import (
    REQUANTIZE,
    Add,
    AddXnnpack,
    Conv2d,
    FullyConnected,
    Mean,
    MeanXnnpack,
    Mul,
    NeuralArt,
    NeuralArtAdd,
    NeuralArtMean,
    Pool2d,
    Requantization,
    Rescale,
    RescaleXnnpack,
    Rounding,
    Softmax,
    SoftmaxX86,
)
from npusim.neural_art.pieces import runs

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


def rounding(rng: Generator) -> Rounding:
    """One rule for all, or one for blocks and another for what is behind them."""
    rule, rest = rng.integers(0, len(REQUANTIZE), 2).tolist()
    return Rounding(rule, int(rng.choice([1, 1, 8, 16])), rest)


def tail(
    rng: Generator,
    shifts: list[int],
    limits: tuple[int, int] = INT8,
    rule: Rounding = Rounding(0, 1, 0),  # noqa: B008
) -> Requantization:
    """One multiplier for each shift, as integers and as the real number they stand for."""
    multipliers = [multiplier(rng) for _ in shifts]
    reals = [np.ldexp(float(m), s - 31) for m, s in zip(multipliers, shifts, strict=True)]
    arrays = np.array(multipliers, np.int32), np.array(shifts, np.int32), np.array(reals)
    return Requantization(*arrays, zero_point(rng, limits), *clamp(rng, limits), rule)


def add(rng: Generator) -> tuple[Add, Requantization]:
    """Operands scaled by at most 1/2, the sum by anything between 2^-22 and 2^3."""
    rule = Rounding(int(rng.integers(3)), 1, 0)
    shifts = rng.choice([0, *rng.integers(-31, 1, 3)], 2).tolist()
    left, right = (
        tail(rng, [s], rule=rule)._replace(zero_point=0, act_min=-(2**31), act_max=2**31 - 1)
        for s in shifts
    )
    p = Add(1, 20, zero_point(rng), zero_point(rng), left, right)
    return p, tail(rng, [int(rng.integers(-22, 4))], rule=rule)


def add_xnnpack(rng: Generator) -> tuple[AddXnnpack]:
    """Multipliers up to 2^21, one of them at least 2^20."""
    shift = int(rng.integers(13, 31))
    small, large = int(rng.integers(0, 2**21 + 1)), int(rng.integers(2**20, 2**21 + 1))
    return (AddXnnpack(zero_point(rng), small, zero_point(rng), large, shift, zero_point(rng),
                       *clamp(rng)),)  # fmt: skip


def mul(rng: Generator) -> tuple[Mul, Requantization]:
    """Products scaled by anything between 2^-31 and 2^4."""
    rule = int(rng.integers(len(REQUANTIZE)))
    r = tail(rng, [int(rng.integers(-31, 5))], rule=Rounding(rule, 1, rule))
    return Mul(zero_point(rng), zero_point(rng)), r


def mean(rng: Generator, cells: int) -> tuple[Mean, Requantization]:
    """A mean of `cells` values; its multiplier may lie below 2^30."""
    small = int(rng.integers(SMALLEST_MULTIPLIER // 2, LARGEST_MULTIPLIER))
    r = tail(rng, [int(rng.integers(-3, 3)) - cells.bit_length() + 1], rule=rounding(rng))
    r = r._replace(multiplier=np.array([small], np.int32), act_min=-128, act_max=127)
    return Mean(cells, zero_point(rng)), r


def mean_xnnpack(rng: Generator, cells: int) -> tuple[MeanXnnpack]:
    """A mean of `cells` values, often with ties."""
    ratio = np.float32(rng.choice([0.5, 1, 2, rng.uniform(0.1, 8)]))
    scale = ratio * (np.float32(1) / np.float32(cells))
    offset = np.float32(zero_point(rng)) - np.float32(cells * zero_point(rng)) * scale
    return (MeanXnnpack(scale, offset, *clamp(rng)),)


def softmax(rng: Generator, rows: int, depth: int) -> Softmax:
    """The parameters of scales 2^-10..2^5: differences below diff_min count as nothing."""
    shift = int(rng.integers(17, 32))
    return Softmax(rows, depth, multiplier(rng), shift, -((31 << 26) >> shift))


def softmax_x86(rng: Generator, rows: int, depth: int) -> SoftmaxX86:
    """Exponentials that fall fast or hardly at all."""
    steps = np.arange(256, dtype=np.float32) * np.float32(np.exp(rng.uniform(-7, 2)))
    return SoftmaxX86(rows, depth, np.exp(-steps))


def rescale(rng: Generator, x_dtype: type, y_dtype: type) -> tuple[Rescale, Requantization]:
    """Codes times anything between 2^-12 and 2^12."""
    x, y = ((int(np.iinfo(t).min), int(np.iinfo(t).max)) for t in (x_dtype, y_dtype))
    r = tail(rng, [int(rng.integers(-12, 13))], y, rounding(rng))
    return Rescale(zero_point(rng, x)), r


def rescale_xnnpack(rng: Generator) -> tuple[RescaleXnnpack]:
    """Codes times 2^-8..2^7."""
    multiplier = int(rng.choice([1, 128, 255, 256, 2**15, int(rng.integers(1, 2**15))]))
    return (RescaleXnnpack(zero_point(rng), multiplier, zero_point(rng), *clamp(rng)),)


def requantization(rng: Generator, o: int) -> Requantization:
    """One multiplier per channel; some channels have none at all, some scale up."""
    r = tail(rng, rng.integers(-14, 3, o).tolist(), rule=rounding(rng))
    silent = rng.random(o) < 0.05
    for array in r[:3]:
        array[silent] = 0
    return r


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


def neural_art(
    rng: Generator,
    o: int,
    rows: Sequence[int] = (1,),
    columns: Sequence[int] = (1,),
    slabs: Sequence[int] = (1,),
) -> NeuralArt:
    """A tail whose outputs are mostly in range, and often on a tie of the second or third stage."""
    s1, s2 = (int(n) for n in rng.integers((0, 16), (19, 24)))
    a_c = rng.integers(-(2**15), 2**15, o)
    whole = rng.random(o) < 0.5  # products with r0 end in many zeros: ties of the second stage
    a_c = np.where(whole, np.sign(a_c) * (1 << rng.integers(0, 15, o)), a_c)
    a2 = int(rng.choice([1, -1]) * rng.choice([1 << int(rng.integers(0, 15)), 21760, 17870]))
    bc_c = rng.integers(-150, 150, o) * (1 << s2) + rng.choice([0, 1 << (s2 - 1), 1 << 8], o)
    stages = rng.integers(0, 3, 3).tolist()
    low, high = clamp(rng)
    pieces = runs(rows, columns, slabs)
    return NeuralArt(a_c.astype(np.int32), np.clip(bc_c, -(2**31), 2**31 - 1).astype(np.int32),
                     pieces, int(rng.integers(0, 9)), s1, s2, a2, int(rng.choice([16, 24])),
                     *stages, low, high)  # fmt: skip


def neural_art_add(rng: Generator) -> NeuralArtAdd:
    """Coefficients of 16 bits, shifts as far as the unit goes."""
    numbers = rng.integers(-(2**15), 2**15, 3).tolist()
    shifts = rng.integers(0, (4, 4, 8, 20)).tolist()
    ties = [int(rng.integers(0, 4)), int(rng.integers(0, 3))]
    return NeuralArtAdd(*numbers, *shifts, *ties, *clamp(rng))


def neural_art_mean(rng: Generator, cells: int, channels: int) -> NeuralArtMean:
    """An average of maps of `cells`."""
    pool_shift, shift = (int(n) for n in rng.integers(0, (16, 18)))
    stages = [int(v) for v in rng.integers(0, (3, 4, 3))]
    a, c = (int(v) for v in rng.integers((0, -(2**22)), (2**15, 2**22)))
    return NeuralArtMean(
        cells, channels, int(rng.integers(1, 2**15)), pool_shift, a, c, shift, *stages
    )
