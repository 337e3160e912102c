"""Philox4x32-10 and signs, one block of 128 bits at a time; see `zo.prng`."""

import numpy as np

from npusim.jit import jit

MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
WEYL_0 = np.uint64(0x9E3779B9)
WEYL_1 = np.uint64(0xBB67AE85)
LOW32 = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)


@jit
def philox4x32(stream, sample, block):
    """The four words (int64) of one block of a stream.

    All of it is uint64: a product of two 32-bit words fills it, and numba makes a float of
    uint64 with int64.
    """
    c0, c1 = np.uint64(block), np.uint64(stream.tensor)
    c2, c3 = np.uint64(sample), np.uint64(stream.step)
    k0, k1 = np.uint64(stream.key0), np.uint64(stream.key1)
    for _ in range(10):
        p0, p1 = c0 * MULTIPLIER_0, c2 * MULTIPLIER_1
        c0, c1, c2, c3 = (p1 >> HALF) ^ c1 ^ k0, p1 & LOW32, (p0 >> HALF) ^ c3 ^ k1, p0 & LOW32
        k0, k1 = (k0 + WEYL_0) & LOW32, (k1 + WEYL_1) & LOW32
    return np.int64(c0), np.int64(c1), np.int64(c2), np.int64(c3)


@jit
def sign_words(stream, sample, block):
    """The four words of signs of one block."""
    hadamard = stream.hadamard != 0
    c0, c1, c2, c3 = philox4x32(stream, np.int64(0) if hadamard else np.int64(sample), block)
    if hadamard:
        c0 ^= walsh_word(sample, 4 * block)
        c1 ^= walsh_word(sample, 4 * block + 1)
        c2 ^= walsh_word(sample, 4 * block + 2)
        c3 ^= walsh_word(sample, 4 * block + 3)
    return c0, c1, c2, c3


@jit
def walsh_word(row, index):
    word = 0xAAAAAAAA * (row & 1) ^ 0xCCCCCCCC * (row >> 1 & 1) ^ 0xF0F0F0F0 * (row >> 2 & 1)
    word ^= 0xFF00FF00 * (row >> 3 & 1) ^ 0xFFFF0000 * (row >> 4 & 1)
    odd = index & (row >> 5)
    for shift in (16, 8, 4, 2, 1):
        odd ^= odd >> shift
    return word ^ 0xFFFFFFFF * (odd & 1)


@jit
def fill_words(stream, sample, first, words):
    end = first + words.size
    for block in range(first // 4, (end + 3) // 4):
        four = philox4x32(stream, sample, block)
        for i in range(max(first, 4 * block), min(end, 4 * block + 4)):
            words[i - first] = four[i - 4 * block]


@jit
def fill_signs(stream, sample, first, z):
    end = first + z.size
    for block in range(first // 128, (end + 127) // 128):
        four = sign_words(stream, sample, block)
        for j in range(4):
            word, start = four[j], 128 * block + 32 * j
            if start >= first and start + 32 <= end:
                tile = z[start - first : start - first + 32]
                for bit in range(32):
                    tile[bit] = 2 * ((word >> bit) & 1) - 1
            else:
                for n in range(max(first, start), min(end, start + 32)):
                    z[n - first] = 2 * ((word >> (n - start)) & 1) - 1


@jit
def fill_sign_bits(stream, sample, bits):
    for i in range(bits.shape[0]):
        row = bits[i]
        for block in range((row.size + 1) // 2):
            low, high = sign_pair(stream, sample + i, block)
            row[2 * block] = low
            if 2 * block + 1 < row.size:
                row[2 * block + 1] = high


@jit
def sign_pair(stream, sample, block):
    """What `sign_words` gives, as two words of 64 bits."""
    c0, c1, c2, c3 = sign_words(stream, sample, block)
    low = np.uint64(c0) | np.uint64(c1) << HALF
    return low, np.uint64(c2) | np.uint64(c3) << HALF


@jit
def swap_down(words, order):
    for i in range(order.size - 1, 0, -1):
        j = (np.int64(words[i]) * (i + 1)) >> 32
        order[i], order[j] = order[j], order[i]
