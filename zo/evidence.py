"""What a training step shows a schedule that watches: integers that the step has anyway.

For a threshold t, an exact fraction, a step is noisy by one of three measures when

    split_half     sum |g_A - g_B|  >  t * sum |g_A + g_B|      A, B: halves of the samples
    coefficients   sum_i |q*d_i - S|  <  t * q*|S|              d_i = L_i - L_0, S = sum_i d_i
    dead_zone      weights - changed  >  t * weights            codes an update left as they were
"""

from fractions import Fraction
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from .budget import RunShape

MEASURES = ("split_half", "coefficients", "dead_zone")


class Evidence(NamedTuple):
    """One step.

    base      L_0, the loss before it; 0 under central, which has none
    losses    int64 (q,): L_1 .. L_q; of central the differences L(+)_i - L(-)_i
    changed   perturbed codes that the update changed, of
    weights   all that are perturbed
    apart     sum |g_A - g_B| of the gradients of the first and the second half of the samples
    together  sum |g_A + g_B|; both 0 unless the schedule wants halves
    """

    base: int
    losses: NDArray[np.int64]
    changed: int
    weights: int
    apart: int = 0
    together: int = 0


@runtime_checkable
class Watcher(Protocol):
    """A schedule that is shown every step.

    wants_halves   whether evidence must have `apart` and `together`, which cost a pass over half
                   of the signs
    """

    @property
    def wants_halves(self) -> bool: ...

    def observe(self, evidence: Evidence) -> None: ...


@runtime_checkable
class Starter(Protocol):
    """A schedule that is told the shape of the run before the first step."""

    def start(self, shape: RunShape) -> None: ...


def is_noisy(measure: str, evidence: Evidence, threshold: Fraction) -> bool:
    """Whether a step is noisy by the rules above."""
    t = threshold
    if measure == "split_half":
        return evidence.apart * t.denominator > t.numerator * evidence.together
    if measure == "dead_zone":
        still = evidence.weights - evidence.changed
        return still * t.denominator > t.numerator * evidence.weights
    slope, shared = spread(evidence)
    return slope * t.denominator < t.numerator * shared


def spread(evidence: Evidence) -> tuple[int, int]:
    """(sum_i |q*d_i - S|, q*|S|) of the differences d_i = L_i - L_0 with sum S."""
    differences = evidence.losses - evidence.base
    q, total = differences.size, int(differences.sum())
    return int(np.abs(q * differences - total).sum()), q * abs(total)
