"""Neural-ART's arithmetic in NumPy int64: weighted operators, ADD, global average, raw sums.

The equations are those of npusim/kernels/neural_art.py and neural_art_units.py.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import reduce

import numpy as np

from ..kernels.structs import (
    AWAY,
    EVEN,
    FLOOR,
    UP,
    Conv2d,
    FullyConnected,
    NeuralArt,
    NeuralArtAdd,
    NeuralArtMean,
)
from ..neural_art.stored import VISIBLE_BITS
from .weighted import _group_product, _taps

FRACTION = 8

Runs = Callable[[int, int], np.ndarray]
"""(first product, number of products) -> their sum."""
Saturate = Callable[[np.ndarray, int], np.ndarray]
"""What becomes of int64 values in a register of so many bits: `saturated`, or one who watches."""


def saturated(values: np.ndarray, bits: int) -> np.ndarray:
    """The nearest two's complement number of so many bits."""
    return np.clip(values, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)


def conv2d(x: np.ndarray, weights: np.ndarray, g: Conv2d, r: NeuralArt) -> np.ndarray:
    """Grouped, dilated convolution.

    x         int8 (N, H, W, C)
    weights   int8 (O, KH, KW, I), I = C / groups
    returns   int8 (N, OH, OW, O)
    """
    return codes(reduced_sums(conv2d_runs(x, weights, g), r), r)


def conv2d_runs(x: np.ndarray, weights: np.ndarray, g: Conv2d) -> Runs:
    """Sums int64 (N, OH, OW, O) of runs of the products of a convolution."""
    i = weights.shape[3]
    taps = list(_taps(x, weights, g))

    def total(start: int, count: int) -> np.ndarray:
        parts = []
        for k in range(start // i, -(-(start + count) // i)):
            first, last = max(start - k * i, 0), min(start + count - k * i, i)
            cells, tap = taps[k]
            channels = cells.reshape(*cells.shape[:3], g.groups, i)[..., first:last]
            parts.append(
                _group_product(channels.reshape(*cells.shape[:3], -1), tap[:, first:last], g.groups)
            )
        return added(parts)

    return total


def depthwise_conv2d(x: np.ndarray, weights: np.ndarray, g: Conv2d, r: NeuralArt) -> np.ndarray:
    """Every channel by itself; output channel c*M + m comes from input channel c.

    x         int8 (N, H, W, C)
    weights   int8 (1, KH, KW, C*M)
    returns   int8 (N, OH, OW, C*M)
    """
    return codes(reduced_sums(depthwise_conv2d_runs(x, weights, g), r), r)


def depthwise_conv2d_runs(x: np.ndarray, weights: np.ndarray, g: Conv2d) -> Runs:
    """Sums int64 (N, OH, OW, C*M) of runs of the products of a depthwise convolution."""
    taps = list(_taps(x, weights, g))

    def total(start: int, count: int) -> np.ndarray:
        chosen = taps[start : start + count]
        return added(np.repeat(cells, g.o // g.c, 3) * tap[0] for cells, tap in chosen)

    return total


def fully_connected(
    x: np.ndarray, weights: np.ndarray, g: FullyConnected, r: NeuralArt
) -> np.ndarray:
    """A matrix product over the last dimension.

    x         int8 (..., I) or any shape whose size is a multiple of I
    weights   int8 (O, I)
    returns   int8 (rows, O)
    """
    return codes(reduced_sums(fully_connected_runs(x, weights, g), r), r)


def fully_connected_runs(x: np.ndarray, weights: np.ndarray, g: FullyConnected) -> Runs:
    """Sums int64 (rows, O) of runs of the products of a matrix product."""
    rows = x.reshape(-1, g.i).astype(np.int64) - g.x_zero_point

    def total(start: int, count: int) -> np.ndarray:
        part = slice(start, start + count)
        return rows[:, part] @ weights[:, part].astype(np.int64).T

    return total


def add(a: np.ndarray, b: np.ndarray, p: NeuralArtAdd) -> np.ndarray:
    """a + b; codes int8 of shapes that broadcast."""
    total = shifted(a.astype(np.int64) * p.a, p.a_shift, p.round0)
    total = total + shifted(b.astype(np.int64) * p.b, p.b_shift, p.round0)
    result = shifted(total + (p.c << p.c_shift), p.shift, p.round1)
    return np.clip(result, p.act_min, p.act_max).astype(np.int8)


def mean(
    x: np.ndarray, axes: tuple[int, ...], p: NeuralArtMean, keep_dims: bool = False
) -> np.ndarray:
    """Global average of int8 (N, H, W, C) over axes (1, 2)."""
    return mean_codes(pooled(x.astype(np.int64).sum(axes, keepdims=keep_dims), p), p)


def pooled(total: np.ndarray, p: NeuralArtMean, saturate: Saturate = saturated) -> np.ndarray:
    """POOL unit: sums of codes -> p, int64."""
    return saturate(shifted(total * p.mulval, p.pool_shift, p.round0), 16)


def mean_codes(average: np.ndarray, p: NeuralArtMean) -> np.ndarray:
    """ARITH unit: p -> int8."""
    scaled = shifted(average * p.a, FRACTION, p.round1)
    return saturated(shifted(scaled + p.c, p.shift, p.round2), 8).astype(np.int8)


def raw_sums(op: str, x: np.ndarray, weights: np.ndarray, g: Conv2d | FullyConnected) -> np.ndarray:
    """Sums of products without bias as a board shows them.

    returns   int32 (N, OH, OW, O) or (rows, O), exact; what leaves 24 bits is clamped
    """
    if isinstance(g, FullyConnected):
        rows = x.reshape(-1, g.i).astype(np.int64) - g.x_zero_point
        acc = rows @ weights.astype(np.int64).T
    elif op == "depthwise_conv2d":
        taps = _taps(x, weights, g)
        acc = added(np.repeat(cells, g.o // g.c, 3) * tap[0] for cells, tap in taps)
    else:
        acc = added(_group_product(cells, tap, g.groups) for cells, tap in _taps(x, weights, g))
    return saturated(acc, VISIBLE_BITS).astype(np.int32)


def reduced_sums(total: Runs, r: NeuralArt) -> np.ndarray:
    """r0, int64: the runs of every piece summed by `total`, the pieces one after the other."""
    return reduced(piece_sums(total, r), r)


def piece_sums(total: Runs, r: NeuralArt) -> Iterator[np.ndarray]:
    """The sum of every piece, in the order of the passes."""
    acc = np.zeros((), np.int64)
    for start, count, ends in r.runs.tolist():
        acc = acc + total(start, count)
        if ends:
            yield acc
            acc = np.zeros((), np.int64)


def reduced(sums: Iterable[np.ndarray], r: NeuralArt, saturate: Saturate = saturated) -> np.ndarray:
    """First stage: the sums of the pieces -> r0, int64."""
    partial = np.zeros((), np.int64)
    for acc in sums:
        if r.partial_bits == 16:
            partial = saturate(shifted(acc + (partial << r.s0), r.s0, r.round0), 16)
        else:
            partial = saturate(partial + acc, 24)
    return partial if r.partial_bits == 16 else saturate(shifted(partial, r.s0, r.round0), 16)


def codes(r0: np.ndarray, r: NeuralArt) -> np.ndarray:
    """Second and third stage: r0 (..., O) -> int8 (..., O)."""
    return third_stage(second_stage(r0, r), r)


def second_stage(r0: np.ndarray, r: NeuralArt, saturate: Saturate = saturated) -> np.ndarray:
    """r0 -> r1, int64 (..., O)."""
    return saturate(shifted(r0 * r.a_c.astype(np.int64), r.s1, r.round1), 16)


def third_stage(r1: np.ndarray, r: NeuralArt) -> np.ndarray:
    """r1 -> int8 (..., O)."""
    r2 = shifted(r1 * r.a2 + r.bc_c, r.s2, r.round2)
    return np.clip(saturated(r2, 8), r.act_min, r.act_max).astype(np.int8)


def added(parts: Iterable[np.ndarray]) -> np.ndarray:
    """The sum of arrays of one shape, of which there is at least one."""
    return reduce(np.add, parts)


def shifted(values: np.ndarray, n: int, ties: int) -> np.ndarray:
    """values / 2^n, rounded by one of structs.TIES."""
    if n == 0:
        return values
    floor, half = values >> n, 1 << (n - 1)
    above = (values - (floor << n)) - half
    tie_goes_up = {AWAY: values >= 0, EVEN: floor & 1 == 1, UP: True, FLOOR: False}[ties]
    up = (above > 0) | ((above == 0) & tie_goes_up)
    return floor if ties == FLOOR else floor + up


RUNS: Mapping[str, Callable[..., Runs]] = {
    "conv2d": conv2d_runs,
    "depthwise_conv2d": depthwise_conv2d_runs,
    "fully_connected": fully_connected_runs,
}
FUNCTIONS: Mapping[str, Callable[..., np.ndarray]] = {
    "conv2d": conv2d,
    "depthwise_conv2d": depthwise_conv2d,
    "fully_connected": fully_connected,
}
