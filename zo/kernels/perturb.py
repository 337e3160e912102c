"""Perturbation of int8 weights, 32 signs per word; see `zo.perturb`."""

import numpy as np

from npusim.jit import jit

from .prng import sign_words


@jit
def add_signs(weights, k, stream, sample):
    n = weights.size
    for block in range((n + 127) // 128):
        four = sign_words(stream, sample, block)
        for j in range(4):
            word, start = four[j], 128 * block + 32 * j
            tile = weights[start : min(start + 32, n)]
            for bit in range(tile.size):
                tile[bit] += k * (2 * ((word >> bit) & 1) - 1)


@jit
def move_signs(weights, k, stream, sample):
    # z_after - z_before = 2 (bit_after - bit_before), one of -2, 0, 2.
    n = weights.size
    for block in range((n + 127) // 128):
        before = sign_words(stream, sample, block)
        after = sign_words(stream, sample + 1, block)
        for j in range(4):
            old, new, start = before[j], after[j], 128 * block + 32 * j
            tile = weights[start : min(start + 32, n)]
            for bit in range(tile.size):
                tile[bit] += 2 * k * (((new >> bit) & 1) - ((old >> bit) & 1))


@jit
def add_signs_saturated(weights, original, k, stream, sample):
    n = weights.size
    for block in range((n + 127) // 128):
        four = sign_words(stream, sample, block)
        for j in range(4):
            word, start = four[j], 128 * block + 32 * j
            for i in range(start, min(start + 32, n)):
                moved = np.int64(original[i]) + k * (2 * ((word >> (i - start)) & 1) - 1)
                weights[i] = min(max(moved, -128), 127)
