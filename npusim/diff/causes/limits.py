"""Sums and codes that run into a limit: narrow accumulators, other clamps."""

from collections.abc import Iterator

import numpy as np

from ...graph import Accumulator
from ...headroom import WEIGHTED, accumulator_of, bits_needed
from ...resize import batch_separable
from ..case import FITTED, SIMULATED, SYMPTOM, Alone, Case, Explanation
from ..ideal import exact_sums

NARROWEST = 10
LIKELY = 1e-3
"""Chance above which a coincidence is no evidence."""


def limits(case: Case) -> Iterator[Explanation]:
    """Explanations by a limit."""
    yield from _accumulators(case)
    yield from _clamped(case)
    yield from _beyond(case)
    yield from _at_ends(case)


def _accumulators(case: Case) -> Iterator[Explanation]:
    """The node with every narrower accumulator, tried on the image that differs most."""
    alone = case.alone
    if alone is None or alone.part.last.op not in WEIGHTED:
        return
    part = alone.part.under_its_profile()
    one, actual = _worst_image(alone, case)
    best: tuple[int, Accumulator] | None = None
    for candidate in _narrower(one):
        predicted = one.run(part, candidate)
        if predicted is None:
            continue
        left = int(np.count_nonzero(predicted != actual))
        if best is None or left < best[0]:
            best = left, candidate
    if best is None:
        return
    predicted = alone.run(part, best[1])
    assert predicted is not None
    verb = "saturates" if best[1].overflow == "saturate" else "wraps"
    sentence = f"the accumulator {verb} at {best[1].bits} bits"
    yield Explanation("accumulator", sentence, "", predicted == case.actual, SIMULATED)


def _worst_image(alone: Alone, case: Case) -> tuple[Alone, np.ndarray]:
    """The node on one image, and the codes found there; on all where images are not apart."""
    if not batch_separable(alone.part.graph) or not case.differing.ndim:
        return alone, case.actual
    (declared, *_) = alone.part.graph.tensors[alone.part.graph.outputs[0]].shape
    counts = case.differing.reshape(-1, case.differing[:declared].size).sum(axis=1)
    start = int(np.argmax(counts)) * declared
    chosen = slice(start, start + declared)
    inputs = {name: values[chosen] for name, values in alone.inputs.items()}
    return Alone(alone.part, inputs), case.actual[chosen]


def _narrower(alone: Alone) -> Iterator[Accumulator]:
    """Every width that the sums reach and the accumulator at hand exceeds."""
    graph, node = alone.part.graph, alone.part.last
    sums = exact_sums(graph, node, alone.inputs[alone.part.inputs[0]])
    own = accumulator_of(graph, node)
    # partial sums may reach beyond the last one: two bits more are tried
    widest = min(bits_needed(int(np.abs(sums).max())) + 2, own.bits)
    for bits in range(NARROWEST, widest + 1):
        for overflow in ("saturate", "wrap"):
            if (bits, overflow) != (own.bits, own.overflow):
                yield Accumulator(bits, overflow)


def _clamped(case: Case) -> Iterator[Explanation]:
    """Codes cut off at ends that are not the first side's."""
    low, high = int(case.actual.min()), int(case.actual.max())
    clipped = np.clip(case.expected, low, high)
    ends = (case.actual == low) | (case.actual == high)
    if low == high or not ends[case.differing].all():
        return
    freedom = int(low > case.expected.min()) + int(high < case.expected.max())
    sentence = f"codes are clamped to {low} .. {high}: another activation, or saturation on the way"
    yield Explanation("clamp", sentence, "", clipped == case.actual, FITTED, max(freedom, 1))


def _beyond(case: Case) -> Iterator[Explanation]:
    """All differences where the first side's codes end, and the second side's go on."""
    low, high = int(case.expected.min()), int(case.expected.max())
    below = (case.expected == low) & (case.actual < low)
    above = (case.expected == high) & (case.actual > high)
    ends = (case.expected == low) | (case.expected == high)
    if _by_chance(case, ends):
        return
    sentence = f"codes go on beyond {low} .. {high}, where A's end: an activation is not applied"
    consistent = ~case.differing | below | above
    yield Explanation("clamp", sentence, "", consistent, SYMPTOM)


def _at_ends(case: Case) -> Iterator[Explanation]:
    """All differences at the ends of the type."""
    low, high = case.limits
    ends = (case.actual == low) | (case.actual == high)
    if _by_chance(case, ends):
        return
    sentence = f"every differing code is at the end of the type, {low} or {high}: saturation"
    yield Explanation("accumulator", sentence, "", ~case.differing | ends, SYMPTOM)


def _by_chance(case: Case, ends: np.ndarray) -> bool:
    """Whether so many differing elements may well all be at the ends, as many others are."""
    chance = np.count_nonzero(ends) / ends.size
    return bool(chance ** np.count_nonzero(case.differing) > LIKELY)
