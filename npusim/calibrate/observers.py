"""What activations reach on calibration images, and which part of it the codes should span.

    minmax       all of it
    percentile   all but a share of the values on either side
    mse          the part of low..high, scaled towards 0, whose codes err least in the square

The last two look at a histogram of 2048 bins between the extremes, so images are run twice.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ..floats import trace
from ..graph import Graph
from .scales import activation_quantization, simulated

BINS = 2048
SHARES = np.linspace(0.2, 1.0, 81)
"""Parts of the extremes that `mse` tries."""


class Reach(NamedTuple):
    """What one tensor held.

    low, high      its extremes
    square_norm    mean over images of the sum of its squares
    counts         int64 (BINS,), values between low and high; () if nobody asked
    """

    low: float
    high: float
    square_norm: float
    counts: np.ndarray


def reaches(
    graph: Graph, batches: Iterable[np.ndarray], seen: Callable[[], None]
) -> dict[str, Reach]:
    """The extremes and norms of the input and of every activation; `seen` after each batch."""
    found: dict[str, Reach] = {}
    images = 0
    for batch in batches:
        for name, y in trace(graph, batch):
            old = found.get(name, Reach(np.inf, -np.inf, 0.0, np.zeros(0, np.int64)))
            total = old.square_norm + float(np.square(y, dtype=np.float64).sum())
            low, high = min(old.low, float(y.min())), max(old.high, float(y.max()))
            found[name] = old._replace(low=low, high=high, square_norm=total)
        images += len(batch)
        seen()
    return {k: r._replace(square_norm=r.square_norm / images) for k, r in found.items()}


def with_counts(
    graph: Graph,
    batches: Iterable[np.ndarray],
    found: Mapping[str, Reach],
    seen: Callable[[], None],
) -> dict[str, Reach]:
    """The same with histograms."""
    counts = {name: np.zeros(BINS, np.int64) for name in found}
    for batch in batches:
        for name, y in trace(graph, batch):
            ends = (found[name].low, found[name].high)
            counts[name] += np.histogram(y, BINS, ends if ends[0] < ends[1] else None)[0]
        seen()
    return {name: r._replace(counts=counts[name]) for name, r in found.items()}


def minmax(reach: Reach, share: float) -> tuple[float, float]:
    """The extremes."""
    return reach.low, reach.high


def percentile(reach: Reach, share: float) -> tuple[float, float]:
    """The ends of the narrowest bins outside of which lie at most `share` of all values a side."""
    edges = np.linspace(reach.low, reach.high, BINS + 1)
    below, total = np.cumsum(reach.counts), reach.counts.sum()
    first = int(np.searchsorted(below, share * total, side="right"))
    above = np.cumsum(reach.counts[::-1])
    last = BINS - 1 - int(np.searchsorted(above, share * total, side="right"))
    return float(edges[first]), float(edges[last + 1])


def mse(reach: Reach, share: float) -> tuple[float, float]:
    """The part of the extremes with the least mean square error of its 256 codes."""
    edges = np.linspace(reach.low, reach.high, BINS + 1)
    middles = ((edges[:-1] + edges[1:]) / 2).astype(np.float32)
    _, part = min(_errors(reach, middles))
    return reach.low * part, reach.high * part


def _errors(reach: Reach, middles: np.ndarray) -> Iterator[tuple[float, float]]:
    """(error, part); of equal errors the smaller part is the minimum."""
    for part in SHARES.tolist():
        q = activation_quantization(reach.low * part, reach.high * part)
        errors = np.square(simulated(middles, q) - middles, dtype=np.float64)
        yield float((errors * reach.counts).sum()), part


OBSERVERS: Mapping[str, Callable[[Reach, float], tuple[float, float]]] = {
    "minmax": minmax,
    "percentile": percentile,
    "mse": mse,
}
