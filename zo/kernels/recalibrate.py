"""Counting codes at the rails and halving channels; see `zo.recalibrate`."""

import numpy as np

from npusim.jit import jit

from .fixed_point import rs, sat32


@jit
def count_at_rails(codes, inner, between, counts):
    counts[:] = 0
    for n in range(codes.size):
        if codes[n] == between.lo or codes[n] == between.hi:
            counts[(n // inner) % counts.size] += 1


@jit
def halve_channels(codes, residual, momentum, inner, crowded):
    for n in range(codes.size):
        if not crowded[(n // inner) % crowded.size]:
            continue
        master = np.int64(codes[n]) << 16
        if residual.size > 0:
            master += np.int64(residual[n])
        half = rs(master, 1)
        codes[n] = rs(half, 16)
        if residual.size > 0:
            residual[n] = half - (np.int64(codes[n]) << 16)
        if momentum.size > 0:
            momentum[n] = sat32(2 * np.int64(momentum[n]))
