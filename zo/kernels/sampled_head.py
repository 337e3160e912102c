"""A head under many perturbations, by a matrix of signs; see `zo.sampled_head`.

A sign is a bit b, z = 2*b - 1, and a code u = x + 128 is eight bits. So products become counts:

    sum (x - zero_point)*z = 2*sum u*b - 2*(zero_point + 128)*sum b - sum (x - zero_point)
    sum u*b = sum over p of 2^p * count(plane_p & b),   plane_p = bit p of every u

64 features are one word. Letters: W words of a row's I features, M rows of signs, (class, sample).
"""

import numpy as np

from npusim.jit import jit, jit_inline
from npusim.kernels.conv2d import dot
from npusim.kernels.requantize import requantize_rows
from npusim.kernels.structs import Requantization, Rounding

ONE, TWO, FOUR = np.uint64(1), np.uint64(2), np.uint64(4)
FULL = np.uint64(0xFFFFFFFFFFFFFFFF)
PAIRS, QUADS = np.uint64(0x5555555555555555), np.uint64(0x3333333333333333)
NIBBLES, BYTES = np.uint64(0x0F0F0F0F0F0F0F0F), np.uint64(0x0101010101010101)
TOP_BYTE, WORD = np.uint64(56), np.uint64(64)
BYTE, TOP_BITS = np.uint64(0xFF), np.uint64(0x8080808080808080)
SWAPS = ((np.uint64(7), np.uint64(0x00AA00AA00AA00AA)),
         (np.uint64(14), np.uint64(0x0000CCCC0000CCCC)),
         (np.uint64(28), np.uint64(0x00000000F0F0F0F0)))  # fmt: skip


@jit
def base_accumulators(x, zero_point, weights, bias, acc):
    features = x.shape[1]
    flat = weights.reshape(-1)
    patch = np.empty(features, np.int16)
    for b in range(x.shape[0]):
        for i in range(features):
            patch[i] = np.int16(np.int16(x[b, i]) - zero_point)
        for c in range(bias.size):
            acc[b, c] = np.int32(bias[c] + dot(patch, flat, c * features, features))


@jit
def sampled_logits(x, zero_point, acc, bits, k, r, out):
    features, classes, samples = x.shape[1], acc.shape[1], bits.shape[0]
    words = (features + 63) // 64
    rows = np.empty((words, samples * classes), np.uint64)
    sign_rows(bits, features, classes, rows)
    ones = np.zeros(samples * classes, np.int64)
    for word in range(words):
        for m in range(ones.size):
            ones[m] += np.int64(count(rows[word, m]))
    codes, planes = np.full(64 * words, -128, np.int8), np.empty((words, 8), np.uint64)
    sums = np.empty(samples * classes, np.int64)
    total, logits = np.empty(sums.size, np.int32), np.empty(sums.size, np.int8)
    wide = repeated(r, classes, samples)
    for b in range(x.shape[0]):
        deviations = np.int64(0)
        for i in range(features):
            codes[i] = x[b, i]
            deviations += x[b, i] - zero_point
        bit_planes(codes, planes)
        count_products(planes, rows, sums)
        for c in range(classes):
            for m in range(np.uintp(c * samples), np.uintp((c + 1) * samples)):
                product = 2 * (sums[m] - (zero_point + 128) * ones[m]) - deviations
                total[m] = np.int32(acc[b, c] + k * product)
        requantize_rows(total, 1, total.size, wide, logits, 0)
        for sample in range(samples):
            for c in range(classes):
                out[sample, b, c] = logits[c * samples + sample]


@jit
def repeated(r, n, times):
    """r with each of its first n multipliers so many times, for rows of n*times accumulators.

    A block is so many times as long: whole blocks of n*times end where times whole blocks of n do.
    """
    multiplier = np.repeat(r.multiplier[:n], times)
    shift, scale = np.repeat(r.shift[:n], times), np.repeat(r.scale[:n], times)
    rounding = Rounding(r.rounding.rule, r.rounding.block * times, r.rounding.rest)
    return Requantization(multiplier, shift, scale, r.zero_point, r.act_min, r.act_max, rounding)


@jit
def sign_rows(bits, features, classes, rows):
    """rows (W, M): the signs of each sample of each class from a word's first bit on, then 0."""
    for sample in range(bits.shape[0]):
        row = bits[sample]
        for c in range(classes):
            for word in range(rows.shape[0]):
                first = c * features + 64 * word
                shift = np.uint64(first % 64)
                signs = row[first // 64] >> shift
                if shift and first // 64 + 1 < row.size:
                    signs |= row[first // 64 + 1] << (WORD - shift)
                left = features - 64 * word
                if left < 64:
                    signs &= FULL >> np.uint64(64 - left)
                rows[word, c * bits.shape[0] + sample] = signs


@jit
def bit_planes(codes, planes):
    """planes (W, 8): bit i of word w of plane p is bit p of u[64*w + i].

    codes   x int8 (64*W,), -128 behind its end; eight are read as one word, the first lowest
    """
    eights = codes.view(np.uint64)
    for word in range(planes.shape[0]):
        p0 = p1 = p2 = p3 = p4 = p5 = p6 = p7 = np.uint64(0)
        for i in range(8):
            square, place = turned(eights[8 * word + i] ^ TOP_BITS), np.uint64(8 * i)
            p0 |= (square & BYTE) << place
            p1 |= ((square >> np.uint64(8)) & BYTE) << place
            p2 |= ((square >> np.uint64(16)) & BYTE) << place
            p3 |= ((square >> np.uint64(24)) & BYTE) << place
            p4 |= ((square >> np.uint64(32)) & BYTE) << place
            p5 |= ((square >> np.uint64(40)) & BYTE) << place
            p6 |= ((square >> np.uint64(48)) & BYTE) << place
            p7 |= (square >> np.uint64(56)) << place
        for p, plane in enumerate((p0, p1, p2, p3, p4, p5, p6, p7)):
            planes[word, p] = plane


@jit
def turned(square):
    """Eight rows of eight bits with rows and columns exchanged."""
    for shift, mask in SWAPS:
        moved = (square ^ (square >> shift)) & mask
        square ^= moved ^ (moved << shift)
    return square


@jit
def count_products(planes, rows, sums):
    """sums (M,) = sum over planes and words of 2^p * count(plane & rows)."""
    for m in range(sums.size):
        sums[m] = 0
    for word in range(planes.shape[0]):
        p0, p1, p2, p3 = planes[word, 0], planes[word, 1], planes[word, 2], planes[word, 3]
        p4, p5, p6, p7 = planes[word, 4], planes[word, 5], planes[word, 6], planes[word, 7]
        signs = rows[word]
        for m in range(np.uintp(sums.size)):
            b = signs[m]
            total = TWO * count(p7 & b) + count(p6 & b)
            total = TWO * total + count(p5 & b)
            total = TWO * total + count(p4 & b)
            total = TWO * total + count(p3 & b)
            total = TWO * total + count(p2 & b)
            total = TWO * total + count(p1 & b)
            sums[m] += np.int64(TWO * total + count(p0 & b))


@jit_inline
def count(bits):
    """Bits that are set; LLVM knows this sequence and takes an instruction for it."""
    bits -= (bits >> ONE) & PAIRS
    bits = (bits & QUADS) + ((bits >> TWO) & QUADS)
    return (((bits + (bits >> FOUR)) & NIBBLES) * BYTES) >> TOP_BYTE
