"""Momentum and rounding rules, one channel's run of weights at a time; see `zo.update`.

Runs of `inner` weights share a channel, so shifts are constant in the inner loop. A shift of 63 or
more is a multiplier of 0.
"""

import numpy as np

from npusim.jit import jit

from .fixed_point import rounding_shift, sat32


@jit
def channel_factor(factor, start, inner):
    """(multiplier, left, half, right) of the channel whose run begins at weight `start`."""
    c = (start // inner) % factor.multiplier.size
    shift = factor.right_shift[c]
    if shift >= 63:
        return np.int64(0), np.int64(0), np.int64(0), np.int64(0)
    left, half, right = rounding_shift(shift)
    return factor.multiplier[c], left, half, right


@jit
def add_momentum(momentum, gradient, scale, beta, inner):
    for start in range(0, gradient.size, inner):
        factor, left, half, right = channel_factor(scale, start, inner)
        m, g = momentum[start : start + inner], gradient[start : start + inner]
        for n in range(inner):
            kept = (np.int64(m[n]) * beta + (1 << 14)) >> 15
            m[n] = sat32(kept + (((g[n] * factor << left) + half) >> right))


@jit
def error_feedback(codes, residual, momentum, rate, between, inner):
    lo, hi = between.lo << 16, between.hi << 16
    moved = 0
    for start in range(0, codes.size, inner):
        factor, left, half, right = channel_factor(rate, start, inner)
        w, r = codes[start : start + inner], residual[start : start + inner]
        m = momentum[start : start + inner]
        for n in range(inner):
            u = ((np.int64(m[n]) * factor << left) + half) >> right
            master = (np.int64(w[n]) << 16) + np.int64(r[n]) - u
            master = min(max(master, lo), hi)
            new = (master + (1 << 15)) >> 16
            r[n] = master - (new << 16)
            moved += new != w[n]
            w[n] = new
    return moved


@jit
def nearest(codes, momentum, rate, between, inner):
    moved = 0
    for start in range(0, codes.size, inner):
        factor, left, half, right = channel_factor(rate, start, inner)
        w, m = codes[start : start + inner], momentum[start : start + inner]
        for n in range(inner):
            u = ((np.int64(m[n]) * factor << left) + half) >> right
            new = np.int64(w[n]) - ((u + (1 << 15)) >> 16)
            new = min(max(new, between.lo), between.hi)
            moved += new != w[n]
            w[n] = new
    return moved


@jit
def stochastic(codes, momentum, rate, between, inner, words):
    moved = 0
    for start in range(0, codes.size, inner):
        factor, left, half, right = channel_factor(rate, start, inner)
        w, m = codes[start : start + inner], momentum[start : start + inner]
        h = words[start : start + inner]
        for n in range(inner):
            u = ((np.int64(m[n]) * factor << left) + half) >> right
            new = np.int64(w[n]) - ((u + np.int64(h[n] >> 16)) >> 16)
            new = min(max(new, between.lo), between.hi)
            moved += new != w[n]
            w[n] = new
    return moved


@jit
def threshold(codes, momentum, rate, between, inner, least):
    moved = 0
    for start in range(0, codes.size, inner):
        factor, left, half, right = channel_factor(rate, start, inner)
        w, m = codes[start : start + inner], momentum[start : start + inner]
        for n in range(inner):
            u = ((np.int64(m[n]) * factor << left) + half) >> right
            new = np.int64(w[n]) - (np.int64(u >= least) - np.int64(u <= -least))
            new = min(max(new, between.lo), between.hi)
            moved += new != w[n]
            w[n] = new
    return moved
