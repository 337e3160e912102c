"""Sums of coefficients times regenerated signs; see `zo.estimate`."""

import numpy as np

from npusim.jit import jit

from .prng import sign_pair, sign_words


@jit
def accumulate_signs(gradient, c, stream, sample, first):
    # c*z = 2*c*bit - c: the -c of all samples are one constant, the rest is a masked addition.
    constant = np.int64(0)
    for i in range(c.size):
        constant += c[i]
    for n in range(gradient.size):
        gradient[n] -= constant
    end = first + gradient.size
    for block in range(first // 128, (end + 127) // 128):
        for i in range(c.size):
            pair = sign_pair(stream, sample + i, block)
            for j in range(2):
                start = 128 * block + 64 * j
                low, high = max(first, start), min(end, start + 64)
                if low < high:
                    tile = gradient[low - first : high - first]
                    add_where_set(tile, 2 * c[i], pair[j] >> np.uint64(low - start))


@jit
def add_where_set(tile, value, word):
    """tile[bit] += value where the word's bit is 1."""
    if tile.size == 64:
        for bit in range(64):
            tile[bit] += value & -np.int64((word >> np.uint64(bit)) & np.uint64(1))
    else:
        for bit in range(tile.size):
            tile[bit] += value & -np.int64((word >> np.uint64(bit)) & np.uint64(1))


@jit
def accumulate_steps(gradient, c, original, k, stream, first):
    end = first + gradient.size
    for block in range(first // 128, (end + 127) // 128):
        for i in range(c.size):
            four = sign_words(stream, i, block)
            for j in range(4):
                word, start = four[j], 128 * block + 32 * j
                for n in range(max(first, start), min(end, start + 32)):
                    w = np.int64(original[n - first])
                    moved = w + k * (2 * ((word >> (n - start)) & 1) - 1)
                    gradient[n - first] += c[i] * (min(max(moved, -128), 127) - w)


@jit
def add_differences(half, whole, sums):
    for n in range(whole.size):
        sums[0] += abs(2 * half[n] - whole[n])
        sums[1] += abs(whole[n])
