"""Calls of npusim/c/mean.c: any axes, one multiplier or one for each channel, sums that wrap."""

from collections.abc import Iterator
from math import prod

import numpy as np
from kernels import drawn

from npusim import strides
from npusim.reference.arithmetic import wrap
from npusim.reference.requantize import requantize

from ..records import SCRATCH, Case
from . import shaped
from .arguments import struct, with_integer_rules, written
from .shapes import any_shape


def cases(random: np.random.Generator) -> Iterator[Case]:
    for _ in range(10):
        yield _per_channel(random)
        yield _sum_codes(random)
    yield _wrapping(random)
    for n in (0, 1, 3, 4, 5, 15, 16, 17, 33, 100):
        yield from _rows(random, n)


def fuzz(random: np.random.Generator, count: int) -> Iterator[Case]:
    for _ in range(count):
        x, axes = _reduced(random)
        p, r = drawn.mean(random, prod(x.shape[axis] for axis in axes))
        yield shaped.mean(x, axes, p, with_integer_rules(random, r))


def _reduced(random: np.random.Generator) -> tuple[np.ndarray, tuple[int, ...]]:
    """Codes, and axes of which there is at least one."""
    shape = any_shape(random)
    axes = tuple(axis for axis in range(len(shape)) if random.random() < 0.5)
    return drawn.codes(random, shape), axes or (int(random.integers(len(shape))),)


def _per_channel(random: np.random.Generator) -> Case:
    """Multipliers of their own for the channels that the spatial mean leaves."""
    shape = tuple(random.integers(1, 9, 4).tolist())
    cells = shape[1] * shape[2]
    p, _ = drawn.mean(random, cells)
    shifts = (random.integers(-3, 3, shape[3]) - cells.bit_length()).tolist()
    r = with_integer_rules(random, drawn.tail(random, shifts))
    return shaped.mean(drawn.codes(random, shape), (1, 2), p, r)


def _sum_codes(random: np.random.Generator) -> Case:
    x, axes = _reduced(random)
    sums = x.sum(axes, dtype=np.int32)
    walk = strides.reduction(x.shape, axes)
    given = {"x": x.reshape(-1), **shaped.steps(walk, "y_strides"), "n": sums.size}
    return Case("npu_sum_codes", {**given, "sums": np.full(sums.size, 9, np.int32)}, {"sums": sums})


def _wrapping(random: np.random.Generator) -> Case:
    """More zero points than an int32 holds: as if x were sums of many codes."""
    p, r = drawn.mean(random, 1)
    p = p._replace(cells=2**25 + 3, x_zero_point=-127)
    r = with_integer_rules(random, r._replace(shift=np.array([-20], np.int32)))
    x = np.array([5, -7], np.int8)
    y = requantize(wrap(x.astype(np.int64) - p.cells * p.x_zero_point, 32), r)
    walk = {"shape": np.array([2], np.int32), "rank": 1, "y_strides": np.array([1], np.int32)}
    given = {"x": x, **walk, "p": struct(p), "r": struct(r), "y": written(y), "n": 2}
    return Case("npu_mean", {**given, "sums": np.zeros(2, np.int32)}, {"y": y, "sums": SCRATCH})


def _rows(random: np.random.Generator, n: int) -> Iterator[Case]:
    """Sums at the ends of int32 go on at the other end."""
    x = drawn.codes(random, (n,))
    sums = random.choice([-(2**31), 2**31 - 1, 0, 12345], n).astype(np.int32)
    expected = sums + x.astype(np.int32)
    yield Case("npu_add_codes", {"x": x, "n": n, "sums": sums}, {"sums": expected})
    yield Case("npu_total_of_codes", {"x": x, "n": n}, {"return": int(x.sum(dtype=np.int64))})
