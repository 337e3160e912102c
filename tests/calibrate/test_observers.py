"""Observers: extremes, percentiles and least squares, against what sorting and trying say."""

import numpy as np
import pytest

from npusim import floats
from npusim.calibrate.observers import (
    BINS,
    SHARES,
    minmax,
    mse,
    percentile,
    reaches,
    with_counts,
)
from npusim.calibrate.scales import activation_quantization, simulated


def observed(x, batch=4):
    """What is seen of the input of a graph."""
    draft = floats.Draft("net", (1, *x.shape[1:]))
    graph = draft.graph(draft.add("mean", "mean", (0,), {}, {"axes": (1,), "keep_dims": False}))
    batches = [x[i : i + batch] for i in range(0, len(x), batch)]
    calls = []
    found = reaches(graph, batches, lambda: calls.append(1))
    found = with_counts(graph, batches, found, lambda: calls.append(1))
    assert len(calls) == 2 * len(batches)
    return found["image"]


@pytest.fixture(scope="module")
def values():
    """Normal ones, and two far out."""
    drawn = np.random.default_rng(4).standard_normal((10, 1000)).astype(np.float32)
    drawn[3, 5], drawn[7, 8] = -9.0, 7.0
    return drawn


def test_reach_is_that_of_all_batches(values):
    reach = observed(values)
    assert minmax(reach, 0.0) == (values.min(), values.max())
    assert reach.counts.sum() == values.size
    expected = np.square(values.astype(np.float64)).sum(1).mean()
    np.testing.assert_allclose(reach.square_norm, expected, rtol=1e-12)


@pytest.mark.parametrize("share", [0.0, 1e-3, 1e-2, 0.2])
def test_percentile_leaves_out_the_share_and_no_bin_more(values, share):
    reach = observed(values)
    low, high = percentile(reach, share)
    width = (reach.high - reach.low) / BINS
    for outside, one_more in (
        ((values < low).sum(), (values < low + width).sum()),
        ((values > high).sum(), (values > high - width).sum()),
    ):
        assert outside <= share * values.size + 1e-9
        assert one_more > share * values.size


def test_mse_is_the_best_part_of_the_range():
    """Values in 0..1 and one of 3: the codes are better spent below."""
    values = np.random.default_rng(7).random((10, 50_000), np.float32)
    values[3, 5] = 3.0
    reach = observed(values)

    def error(part):
        q = activation_quantization(reach.low * part, reach.high * part)
        return np.square(simulated(values, q) - values, dtype=np.float64).sum()

    best = min(map(error, SHARES))
    _, high = mse(reach, 0.0)
    assert error(high / reach.high) <= 1.02 * best  # values stand for the middles of their bins
    assert error(high / reach.high) < 0.9 * error(1.0)


def test_constant_tensors_have_a_range():
    reach = observed(np.full((4, 3), 2.5, np.float32))
    for observe in (minmax, percentile, mse):
        q = activation_quantization(*observe(reach, 1e-5))
        assert np.isfinite(q.scale[0])
        assert q.scale[0] > 0
