"""From a gradient to new int8 codes, bit by bit.

    gh = rs(g*G_c, s_c)                  unit 2^-24 nat per code (F = 8 fraction bits below 2^-16)
    m  = sat32(rs(m*beta, 15) + gh)      no (1 - beta); beta = 0 is no momentum
    u  = rs(m*Lt_c, Ls_c + 2*e_c)        unit 2^-16 code; e_c = doublings of the channel's scale
    error_feedback   V = clamp((w << 16) + r - u),  w = rs(V, 16),  r = V - (w << 16)
    nearest          w = clamp(w - rs(u, 16))
    stochastic       w = clamp(w - ((u + h) >> 16)), h 16 random bits
    threshold        w = clamp(w - sign(u)) where |u| >= t
    sign             threshold with t = 1

Error feedback makes w and r together a 24-bit master weight; V is clamped to the rails, so r is 0
there. Every rounding is `fixed_point.rs`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .estimate import check_int64
from .fixed_point import Ratio, rs, rs_channels, sat32
from .perturb import Rails, flat_codes
from .prng import Stream, random_words
from .twins import twin

FRACTION_BITS = 8
RULES = ("error_feedback", "nearest", "stochastic", "threshold", "sign")


UserRule = Callable[[NDArray[np.int8], NDArray[np.int64]], NDArray[np.integer]]
"""(codes (n,), u (n,) in 2^-16 code, to be taken away) -> new codes (n,), clamped to the rails
afterwards. It must not change its arguments."""


class State(NamedTuple):
    """A trainable tensor and what training keeps beside it; every array is changed in place.

    codes       int8 (n,), a flat view of the tensor itself
    residual    int16 (n,) in 2^-16 code, or (0,) under rules that keep none
    momentum    int32 (n,) in 2^-24 nat per code, or (0,) without momentum
    doublings   int32 (C,), e_c: how often the scale of channel c has doubled
    inner       weights in a row that share a channel: I of (O, I), 1 of a depthwise layer or a bias
    """

    codes: NDArray[np.int8]
    residual: NDArray[np.int16]
    momentum: NDArray[np.int32]
    doublings: NDArray[np.int32]
    inner: int


@dataclass(frozen=True)
class UpdateRule:
    """How a gradient changes codes.

    name        one of RULES, or that of a function
    rails       clamp of the codes, from `perturb.rails(k)`
    beta        momentum in Q15, 0..32767; 0 turns it off and saves its buffer
    threshold   of rule "threshold", in 2^-16 code, above 0
    function    a user's rule, else None
    """

    name: str
    rails: Rails
    beta: int = 29491
    threshold: int = 1 << 15
    function: UserRule | None = None

    def __post_init__(self) -> None:
        if self.name not in RULES and self.function is None:
            raise ValueError(f"update: rule must be one of {', '.join(RULES)}, got {self.name!r}")
        if not 0 <= self.beta < 1 << 15:
            raise ValueError(f"update: beta must be 0..32767 (Q15), got {self.beta}")
        if self.threshold < 1:
            raise ValueError(f"update: threshold must be above 0, got {self.threshold}")


def new_state(codes: NDArray[np.int8], channels: int, inner: int, rule: UpdateRule) -> State:
    """The state of a tensor before its first step: residual and momentum zero, as the rule needs.

    codes      int8, any shape, contiguous; channel of weight n is (n div inner) mod channels
    raises     ValueError if channels and inner do not tile the tensor
    """
    flat = flat_codes(codes)
    if channels < 1 or inner < 1 or flat.size % (channels * inner):
        raise ValueError(
            f"update: {channels} channels of {inner} weights must tile the tensor, got {flat.size}"
        )
    residual = flat.size if rule.name == "error_feedback" else 0
    momentum = flat.size if rule.beta else 0
    return State(
        flat,
        np.zeros(residual, np.int16),
        np.zeros(momentum, np.int32),
        np.zeros(channels, np.int32),
        inner,
    )


def gradient_scale(den: int, channels: int) -> Ratio:
    """(G, 15 + eb - F): eb = bitlength(den), G = (2^(15+eb) + den div 2) div den, in 2^15..2^16."""
    eb = den.bit_length()
    multiplier = ((1 << (15 + eb)) + den // 2) // den
    shift = 15 + eb - FRACTION_BITS
    return Ratio(np.full(channels, multiplier, np.int64), np.full(channels, shift, np.int64))


def update(
    state: State,
    gradient: NDArray[np.int64],
    scale: Ratio,
    rate: Ratio,
    rule: UpdateRule,
    stream: Stream,
) -> int:
    """One step of one tensor, in place.

    gradient   g int64 (n,), from `estimate.accumulate` or `exact_head.head_gradient`
    scale      (G, shift) from `gradient_scale`, or `exact_head.head_scale`
    rate       (Lt, Ls) of this step, from `schedule.Rates.at`, without doublings
    stream     `prng.rounding_stream` of this step and tensor; only "stochastic" reads it
    returns    how many codes changed
    """
    check_int64("gradient", gradient)
    momentum = state.momentum if state.momentum.size else np.zeros(gradient.size, np.int32)
    add_momentum(momentum, gradient, scale, rule.beta, state.inner)
    rate = Ratio(rate.multiplier, rate.right_shift + 2 * state.doublings)
    codes, inner, between = state.codes, state.inner, rule.rails
    if rule.function is not None:
        return _by_function(codes, _times(momentum, rate, inner), rule)
    if rule.name == "error_feedback":
        return error_feedback(codes, state.residual, momentum, rate, between, inner)
    if rule.name == "nearest":
        return nearest(codes, momentum, rate, between, inner)
    if rule.name == "stochastic":
        words = random_words(stream, 0, 0, codes.size)
        return stochastic(codes, momentum, rate, between, inner, words)
    least = rule.threshold if rule.name == "threshold" else 1
    return threshold(codes, momentum, rate, between, inner, least)


def _by_function(codes: NDArray[np.int8], u: NDArray[np.int64], rule: UpdateRule) -> int:
    """codes (n,) = clamp of what the user's rule makes of them; returns how many changed."""
    assert rule.function is not None
    new = np.asarray(rule.function(codes.copy(), u))
    if not np.issubdtype(new.dtype, np.integer) or new.shape != codes.shape:
        raise TypeError(
            f"{rule.name}: new codes must be integers {codes.shape}, got {new.dtype} {new.shape}"
        )
    return _store(codes, np.clip(new.astype(np.int64), *rule.rails))


@twin
def add_momentum(
    momentum: NDArray[np.int32], gradient: NDArray[np.int64], scale: Ratio, beta: int, inner: int
) -> None:
    """momentum (n,) = sat32(rs(momentum*beta, 15) + rs(gradient*G_c, s_c)), in place."""
    scaled = _times(gradient, scale, inner)
    momentum[:] = sat32(rs(momentum.astype(np.int64) * beta, 15) + scaled)


@twin
def error_feedback(
    codes: NDArray[np.int8],
    residual: NDArray[np.int16],
    momentum: NDArray[np.int32],
    rate: Ratio,
    between: Rails,
    inner: int,
) -> int:
    """codes and residual (n,) after the step u; returns how many codes changed."""
    master = (codes.astype(np.int64) << 16) + residual - _times(momentum, rate, inner)
    np.clip(master, between.lo << 16, between.hi << 16, out=master)
    new = rs(master, 16)
    residual[:] = master - (new << 16)
    return _store(codes, new)


@twin
def nearest(
    codes: NDArray[np.int8], momentum: NDArray[np.int32], rate: Ratio, between: Rails, inner: int
) -> int:
    """codes (n,) = clamp(codes - rs(u, 16)); returns how many changed."""
    u = _times(momentum, rate, inner)
    return _store(codes, np.clip(codes - rs(u, 16), *between))


@twin
def stochastic(
    codes: NDArray[np.int8],
    momentum: NDArray[np.int32],
    rate: Ratio,
    between: Rails,
    inner: int,
    words: NDArray[np.uint32],
) -> int:
    """codes (n,) = clamp(codes - ((u + h) >> 16)), h = top 16 bits of words (n,); returns moves."""
    steps = (_times(momentum, rate, inner) + (words >> 16).astype(np.int64)) >> 16
    return _store(codes, np.clip(codes - steps, *between))


@twin
def threshold(
    codes: NDArray[np.int8],
    momentum: NDArray[np.int32],
    rate: Ratio,
    between: Rails,
    inner: int,
    least: int,
) -> int:
    """codes (n,) move by one against u where |u| >= least; returns how many changed."""
    u = _times(momentum, rate, inner)
    steps = np.where(np.abs(u) >= least, np.sign(u), 0)
    return _store(codes, np.clip(codes - steps, *between))


def _times(x: NDArray[np.integer], factor: Ratio, inner: int) -> NDArray[np.int64]:
    """rs(x * multiplier_c, right_shift_c) with the channel of each weight."""
    by_channel = x.astype(np.int64).reshape(-1, factor.multiplier.size, inner)
    product = by_channel * factor.multiplier[:, None]
    return rs_channels(product, factor.right_shift).reshape(-1)


def _store(codes: NDArray[np.int8], new: NDArray[np.int64]) -> int:
    moved = int(np.count_nonzero(codes != new))
    codes[:] = new
    return moved
