"""Weighted operators: acc[o] = bias[o] + sum (x - zero_point) * weights[o], then requantised.

Each operator states its sum twice: as one matrix product, for an accumulator that wraps (any order
gives the same bits), and as the sequence of its products in the order kernel row, kernel column,
input channel, for an accumulator that saturates.
"""

from collections.abc import Iterable, Iterator

import numpy as np

from ..headroom import AccumulatorError
from ..kernels.structs import (
    ERROR,
    SATURATE,
    WRAP,
    Accumulation,
    Conv2d,
    FullyConnected,
    Requantization,
)
from .arithmetic import wrap
from .requantize import requantize


def conv2d(
    x: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    g: Conv2d,
    r: Requantization,
    a: Accumulation | None = None,
) -> np.ndarray:
    """Grouped, dilated convolution.

    x         int8 (N, H, W, C)
    weights   int8 (O, KH, KW, I), I = C / groups
    bias      int32 (O,)
    a         None: a 32-bit accumulator that wraps
    returns   int8 (N, OH, OW, O)
    raises    AccumulatorError when `a` says so
    """
    return requantize(conv2d_sums(x, weights, bias, g, a), r)


def depthwise_conv2d(
    x: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    g: Conv2d,
    r: Requantization,
    a: Accumulation | None = None,
) -> np.ndarray:
    """Every channel by itself; output channel c*M + m comes from input channel c.

    x         int8 (N, H, W, C)
    weights   int8 (1, KH, KW, C*M)
    bias      int32 (C*M,)
    a         None: a 32-bit accumulator that wraps
    returns   int8 (N, OH, OW, C*M)
    raises    AccumulatorError when `a` says so
    """
    return requantize(depthwise_conv2d_sums(x, weights, bias, g, a), r)


def fully_connected(
    x: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    g: FullyConnected,
    r: Requantization,
    a: Accumulation | None = None,
) -> np.ndarray:
    """A matrix product over the last dimension.

    x         int8 (..., I) or any shape whose size is a multiple of I
    weights   int8 (O, I)
    bias      int32 (O,)
    a         None: a 32-bit accumulator that wraps
    returns   int8 (rows, O)
    raises    AccumulatorError when `a` says so
    """
    return requantize(fully_connected_sums(x, weights, bias, g, a), r)


def conv2d_sums(
    x: np.ndarray, weights: np.ndarray, bias: np.ndarray, g: Conv2d, a: Accumulation | None = None
) -> np.ndarray:
    """What `conv2d` requantises: accumulators int64 (N, OH, OW, O)."""
    if not _ordered(a):
        acc = sum(_group_product(cells, tap, g.groups) for cells, tap in _taps(x, weights, g))
        return wrap(bias + acc, _bits(a))
    return _accumulate(conv2d_products(x, weights, g), bias, a)


def depthwise_conv2d_sums(
    x: np.ndarray, weights: np.ndarray, bias: np.ndarray, g: Conv2d, a: Accumulation | None = None
) -> np.ndarray:
    """What `depthwise_conv2d` requantises: accumulators int64 (N, OH, OW, C*M)."""
    products = depthwise_conv2d_products(x, weights, g)
    if not _ordered(a):
        return wrap(bias + sum(products), _bits(a))
    return _accumulate(products, bias, a)


def fully_connected_sums(
    x: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    g: FullyConnected,
    a: Accumulation | None = None,
) -> np.ndarray:
    """What `fully_connected` requantises: accumulators int64 (rows, O)."""
    if not _ordered(a):
        return wrap(bias + _rows(x, g) @ weights.astype(np.int64).T, _bits(a))
    return _accumulate(fully_connected_products(x, weights, g), bias, a)


def products(
    op: str, x: np.ndarray, weights: np.ndarray, g: Conv2d | FullyConnected
) -> Iterator[np.ndarray]:
    """What is added to the bias of a weighted operator, in the order of accumulation."""
    if isinstance(g, FullyConnected):
        return fully_connected_products(x, weights, g)
    if op == "depthwise_conv2d":
        return depthwise_conv2d_products(x, weights, g)
    return conv2d_products(x, weights, g)


def conv2d_products(x: np.ndarray, weights: np.ndarray, g: Conv2d) -> Iterator[np.ndarray]:
    """The products (N, OH, OW, O) of `conv2d` in the order of accumulation; 0 in the padding."""
    i = weights.shape[3]
    first_channel = np.arange(g.o) // (g.o // g.groups) * i
    for cells, tap in _taps(x, weights, g):
        for channel in range(i):
            yield cells[..., first_channel + channel] * tap[:, channel]


def depthwise_conv2d_products(
    x: np.ndarray, weights: np.ndarray, g: Conv2d
) -> Iterator[np.ndarray]:
    """As `conv2d_products`, of `depthwise_conv2d`."""
    return (np.repeat(cells, g.o // g.c, 3) * tap[0] for cells, tap in _taps(x, weights, g))


def fully_connected_products(
    x: np.ndarray, weights: np.ndarray, g: FullyConnected
) -> Iterator[np.ndarray]:
    """The products (rows, O) of `fully_connected` in the order of accumulation."""
    rows, wide = _rows(x, g), weights.astype(np.int64)
    return (rows[:, i : i + 1] * wide[:, i] for i in range(g.i))


def _rows(x: np.ndarray, g: FullyConnected) -> np.ndarray:
    """x - zero_point, int64 (rows, I)."""
    return x.reshape(-1, g.i).astype(np.int64) - g.x_zero_point


def _taps(x: np.ndarray, weights: np.ndarray, g: Conv2d) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For each kernel cell in order: (x - zero_point) under it (N, OH, OW, C), its weights.

    Cells in the padding hold the zero point, so they contribute nothing.
    """
    reach_h = (g.oh - 1) * g.stride_h + (g.kh - 1) * g.dilation_h + 1
    reach_w = (g.ow - 1) * g.stride_w + (g.kw - 1) * g.dilation_w + 1
    rows = (g.pad_top, max(reach_h - g.pad_top - g.h, 0))
    columns = (g.pad_left, max(reach_w - g.pad_left - g.w, 0))
    field = np.pad(x.astype(np.int64) - g.x_zero_point, ((0, 0), rows, columns, (0, 0)))
    for row in range(g.kh):
        for column in range(g.kw):
            top, left = row * g.dilation_h, column * g.dilation_w
            cells = field[:, top :: g.stride_h, left :: g.stride_w][:, : g.oh, : g.ow]
            yield cells, weights[:, row, column].astype(np.int64)


def _group_product(cells: np.ndarray, tap: np.ndarray, groups: int) -> np.ndarray:
    """cells (N, OH, OW, C) times tap (O, I) within each group: (N, OH, OW, O)."""
    o, i = tap.shape
    grouped = cells.reshape(-1, groups, i).transpose(1, 0, 2)
    sums = grouped @ tap.reshape(groups, o // groups, i).transpose(0, 2, 1)
    return sums.transpose(1, 0, 2).reshape(*cells.shape[:3], o)


def _ordered(a: Accumulation | None) -> bool:
    return a is not None and a.overflow != WRAP


def _bits(a: Accumulation | None) -> int:
    return 32 if a is None else a.bits


def _accumulate(
    products: Iterable[np.ndarray], bias: np.ndarray, a: Accumulation | None
) -> np.ndarray:
    """bias + products one after the other; what leaves the range is clamped or refused."""
    assert a is not None
    assert a.overflow in (SATURATE, ERROR)
    low, high = -(2 ** (a.bits - 1)), 2 ** (a.bits - 1) - 1
    acc = np.clip(bias.astype(np.int64), low, high)
    overflow = acc != bias
    first = bias.astype(np.int64)
    for product in products:
        exact = acc + product
        acc = np.clip(exact, low, high)
        fresh = (acc != exact) & ~overflow
        first, overflow = np.where(fresh, exact, first), overflow | fresh
    if a.overflow == ERROR and overflow.any():
        index = int(np.argmax(overflow))
        raise AccumulatorError(index, int(first.flat[index]))
    return acc
