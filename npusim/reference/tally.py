"""How far the sums of weighted operators go, and how often they leave an accumulator, in NumPy.

The products come from `weighted`, in the order in which it accumulates them.
"""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from ..kernels.structs import SATURATE, WRAP, Accumulation, Conv2d, FullyConnected, Tallies
from .arithmetic import wrap
from .weighted import conv2d_products, depthwise_conv2d_products, fully_connected_products

_PRODUCTS: Mapping[str, Callable[..., Iterator[np.ndarray]]] = {
    "conv2d": conv2d_products,
    "depthwise_conv2d": depthwise_conv2d_products,
    "fully_connected": fully_connected_products,
}


def tally(
    op: str,
    x: np.ndarray,
    weights: np.ndarray,
    bias: np.ndarray,
    g: Conv2d | FullyConnected,
    a: Accumulation,
) -> Tallies:
    """What the sums of every output channel do.

    op              "conv2d", "depthwise_conv2d" or "fully_connected"
    x, weights, g   as the operator of that name in `weighted` takes them
    bias            int32 (O,)
    returns         Tallies, all of int64; `exact`, `kept` and `left` (.., O) as they end
    """
    start = bias.astype(np.int64)
    low, high = -(2 ** (a.bits - 1)), 2 ** (a.bits - 1) - 1
    exact: np.ndarray = np.zeros(1, np.int64)
    kept = lowest = highest = left = exact
    for number, product in enumerate(_behind(start, _PRODUCTS[op](x, weights, g))):
        exact, total = exact + product, kept + product
        fitted = (low <= kept) & (kept <= high)
        left = left + (fitted & ((total < low) | (total > high)))
        kept = _held(total, a)
        lowest = np.minimum(lowest, exact) if number else exact
        highest = np.maximum(highest, exact) if number else exact
    ends = [np.broadcast_to(v, exact.shape) for v in (exact, lowest, highest, kept, left)]
    exact, lowest, highest, kept, left = (v.reshape(-1, len(bias)) for v in ends)
    counts = left.sum(0), (left > 0).sum(0), (kept != exact).sum(0)
    return Tallies(exact, lowest.min(0), highest.max(0), kept, left, *counts)


def _behind(bias: np.ndarray, products: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """The bias, then the products."""
    yield bias
    yield from products


def _held(total: np.ndarray, a: Accumulation) -> np.ndarray:
    """What the accumulator makes of a sum; under ERROR, the sum."""
    if a.overflow == WRAP:
        return wrap(total, a.bits)
    if a.overflow == SATURATE:
        return np.clip(total, -(2 ** (a.bits - 1)), 2 ** (a.bits - 1) - 1)
    return total
