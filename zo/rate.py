"""Learning rates as 16-bit multipliers and shifts, one pair per channel and per q.

    Lm_c * 2^-Ls_c = lr * q/q_ref / S_c^2 * 2^-F         (steps in codes, see `update`)
    Lt = rs(Lm * COS[j], 15),  j = min(1023, 1024*t div T)

The best rate grows in proportion to q, so by default it follows q. All pairs are made before
training; a step only looks them up. `space="real"` moves weights by lr times the gradient in real
units, so each channel has its pair; `"integer"` gives all channels that of the mean scale.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from .fixed_point import Ratio, ratio, ratios, rs
from .update import FRACTION_BITS

SCALINGS = ("linear", "none")
DECAYS = ("cosine", "constant")
SPACES = ("real", "integer")
COSINE_STEPS = 1024
MIN_SHIFT = -15


@dataclass(frozen=True)
class Rates:
    """The pairs of one tensor.

    pairs   by q
    decay   "cosine" or "constant"
    steps   T, all steps of the run; only the cosine reads it
    """

    pairs: dict[int, Ratio]
    decay: str
    steps: int

    def at(self, q: int, t: int) -> Ratio:
        """The pair of the step with t steps done before it, and q samples."""
        multiplier, right_shift = self.pairs[q]
        if self.decay == "constant":
            return Ratio(multiplier, right_shift)
        j = min(COSINE_STEPS - 1, COSINE_STEPS * t // self.steps)
        return Ratio(rs(multiplier * np.int64(cosine_table()[j]), 15), right_shift)


@dataclass(frozen=True)
class LearningRate:
    """What a user declares.

    lr        step in real units per unit of gradient, at q = q_ref
    scaling   "linear": lr*q/q_ref; "none": one rate for all q
    decay     "cosine" over the run, or "constant"
    space     "real" or "integer"
    """

    lr: float
    scaling: str = "linear"
    decay: str = "cosine"
    space: str = "real"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.lr) and self.lr > 0):
            raise ValueError(f"rate: lr must be finite and above 0, got {self.lr!r}")
        for name, options in (("scaling", SCALINGS), ("decay", DECAYS), ("space", SPACES)):
            value = getattr(self, name)
            if value not in options:
                raise ValueError(f"rate: {name} must be {' or '.join(options)}, got {value!r}")

    def rates(self, scales: Sequence[float], rungs: Iterable[int], q_ref: int, steps: int) -> Rates:
        """The pairs of one tensor for every q that may occur.

        scales   real value of one code per channel (C,) when training starts
        rungs    the schedule's
        q_ref    the q for which `lr` is meant, usually q0
        steps    T
        raises   ValueError for a rate so large that a step could leave int64
        """
        if steps < 1:
            raise ValueError(f"rate: steps must be at least 1, got {steps}")
        pairs = {}
        for q in rungs:
            lr = Fraction(float(self.lr)) * (Fraction(q, q_ref) if self.scaling == "linear" else 1)
            pairs[q] = rate_pairs(lr, scales, self.space)
        return Rates(pairs, self.decay, steps)


def rate_pairs(lr: Fraction, scales: Sequence[float], space: str) -> Ratio:
    """(Lm, Ls) per channel for one rate.

    "real": lr/S_c^2 * 2^-F. "integer": the same with the mean of the scales, for all channels.
    """
    exact = [Fraction(float(scale)) for scale in scales]
    if space == "integer":
        mean = sum(exact, Fraction(0)) / len(exact)
        multiplier, shift = ratio(_code_rate(lr, mean))
        pair = Ratio(
            np.full(len(exact), multiplier, np.int64), np.full(len(exact), shift, np.int64)
        )
    else:
        pair = ratios(_code_rate(lr, scale) for scale in exact)
    if int(pair.right_shift.min()) < MIN_SHIFT:
        raise ValueError(
            f"rate: a step must fit int64, got lr {float(lr)} (shift {pair.right_shift.min()}, "
            f"least {MIN_SHIFT}); lower lr or raise the scales"
        )
    return pair


@cache
def cosine_table() -> NDArray[np.int32]:
    """COS[j] = round(2^14 * (1 + cos(pi*j/1024))), j = 0..1023, from 2^15 to 0."""
    angles = (math.pi * j / COSINE_STEPS for j in range(COSINE_STEPS))
    table = np.array([math.floor(2**14 * (1 + math.cos(a)) + 0.5) for a in angles], np.int32)
    table.setflags(write=False)
    return table


def _code_rate(lr: Fraction, scale: Fraction) -> Fraction:
    if scale <= 0:
        raise ValueError(f"rate: scales must be above 0, got {float(scale)}")
    return lr / (scale * scale * 2**FRACTION_BITS)
