"""When one epoch's metric counts as better than the best so far.

    abs   n - best > tau*N         with counts n of N and tau a fraction
    rel   n - best > tau*best
    se    d = n - best > 0 and d*d*N*65536 > kappa^2*best*(N - best), kappa in Q8

(The other way round where smaller is better.) Everything is an exact fraction, so a metric given as
a float and the counts behind it decide alike on every machine.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from numbers import Integral, Real

from .fixed_point import round_half_up

Metric = float | tuple[int, int]

MILLION = 10**6
THRESHOLD_MODES = ("abs", "rel", "se")
MIN_STANDARD_ERRORS = Fraction(1, 16)


@dataclass(frozen=True)
class Plateau:
    """The rule; make one with `plateau`.

    threshold   tau, or in mode "se" the number of standard errors (kappa, rounded to 1/256)
    mode        "abs", "rel" or "se"
    sign        1 when larger is better, -1 when smaller is
    """

    threshold: Fraction
    mode: str
    sign: int

    def better(self, value: Fraction, best: Fraction, total: int) -> bool:
        """Whether value beats best; both are counts over `total` in mode "se"."""
        gain = self.sign * (value - best)
        if self.mode == "abs":
            return gain > self.threshold
        if self.mode == "rel":
            return gain > self.threshold * abs(best)
        d, at_best = gain * total, best * total
        kappa = round_half_up(self.threshold * 256)
        return d > 0 and d * d * total * 65536 > kappa * kappa * at_best * (total - at_best)


def plateau(threshold: float, threshold_mode: str, mode: str) -> Plateau:
    """The rule a user asked for; ValueError for a negative threshold or an unknown mode."""
    if threshold_mode not in THRESHOLD_MODES:
        options = ", ".join(THRESHOLD_MODES)
        raise ValueError(f"schedule: threshold_mode must be {options}, got {threshold_mode!r}")
    if mode not in ("max", "min"):
        raise ValueError(f"schedule: mode must be max or min, got {mode!r}")
    exact = exact_decimal("threshold", threshold)
    if exact < 0:
        raise ValueError(f"schedule: threshold must not be negative, got {threshold!r}")
    if threshold_mode == "se" and exact < MIN_STANDARD_ERRORS:
        raise ValueError(
            f"schedule: with 'se' the threshold counts standard errors, at least 1/16, got "
            f"{threshold!r}; 1.0 is usual"
        )
    return Plateau(exact, threshold_mode, 1 if mode == "max" else -1)


def exact_decimal(name: str, value: float) -> Fraction:
    """The decimal a user wrote: 0.005 is 1/200, not the double nearest to it."""
    if isinstance(value, bool) or not isinstance(value, Real) or not math.isfinite(value):
        raise ValueError(f"schedule: {name} must be a finite number, got {value!r}")
    return Fraction(repr(float(value)))


def read_metric(metric: Metric) -> tuple[Fraction, int]:
    """A metric as an exact fraction, and the total it was counted over.

    metric   (correct, total) with 0 <= correct <= total, or a finite real number, which stands for
             the nearest fraction with a denominator up to a million; its total is a million
    raises   TypeError, ValueError for anything else
    """
    if isinstance(metric, tuple):
        if len(metric) != 2 or not all(isinstance(part, Integral) for part in metric):
            raise TypeError(f"metric: counts must be two integers (correct, total), got {metric!r}")
        correct, total = int(metric[0]), int(metric[1])
        if not 0 <= correct <= total or total == 0:
            raise ValueError(f"metric: counts must be 0 <= correct <= total, got {metric!r}")
        return Fraction(correct, total), total
    if isinstance(metric, bool) or not isinstance(metric, Real):
        raise TypeError(f"metric: must be a number or (correct, total), got {metric!r}")
    if not math.isfinite(metric):
        raise ValueError(f"metric: must be finite, got {metric!r}")
    return Fraction(float(metric)).limit_denominator(MILLION), MILLION
