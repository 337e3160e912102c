"""Random bits as a pure function of counters: Philox4x32-10.

    words(block) = philox4x32(key = (seed low, seed high ^ purpose),
                              counter = (block, tensor, sample, step))

Weight n (row-major) takes bit n mod 32 of word (n div 32) mod 4 of block n div 128; a 1 is z = +1,
a 0 is z = -1. Any order, any tile and one tensor alone give the same bits; nothing is stored.

A Hadamard stream gives the rows of a Hadamard matrix whose columns change sign at random: row i has
at weight n the sign of sample 0, turned where the parity of popcount(i & n) is odd. Rows are
orthogonal over any 2^b weights from a multiple of 2^b on, for i < 2^b.
Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11; Random123 kat_vectors.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .twins import twin

SIGNS, ROUNDING, SHUFFLING, AUGMENTATION = range(4)

MULTIPLIER_0 = np.uint64(0xD2511F53)
MULTIPLIER_1 = np.uint64(0xCD9E8D57)
WEYL_0 = np.uint64(0x9E3779B9)
WEYL_1 = np.uint64(0xBB67AE85)
LOW32 = np.uint64(0xFFFFFFFF)
HALF = np.uint64(32)
ROUNDS = 10
PARITY_MASKS = (0xAAAAAAAA, 0xCCCCCCCC, 0xF0F0F0F0, 0xFF00FF00, 0xFFFF0000)
"""Bit b of mask j is bit j of b."""


class Stream(NamedTuple):
    """What all random words of one tensor in one step share: key and half of the counter.

    Every field is an int in 0..2^32-1. Make one with `sign_stream` and its kin.

    hadamard   1 where signs are rows of a Hadamard matrix, else 0
    """

    key0: int
    key1: int
    tensor: int
    step: int
    hadamard: int = 0


def sign_stream(seed: int, step: int, tensor: int, hadamard: int = 0) -> Stream:
    """The stream of the signs z.

    seed       0..2^64-1
    step       training steps done before this one, 0..2^32-1
    tensor     `Tensor.stream`, the number given once when the model was loaded, 0..2^32-1
    hadamard   1 for orthogonal samples, 0 for independent ones
    raises     ValueError outside these ranges
    """
    check_range("hadamard", hadamard, 2)
    return _stream(seed, SIGNS, step, tensor)._replace(hadamard=hadamard)


def rounding_stream(seed: int, step: int, tensor: int) -> Stream:
    """The stream of stochastic rounding, word n for weight n; arguments as in `sign_stream`."""
    return _stream(seed, ROUNDING, step, tensor)


def signs(seed: int, step: int, sample: int, tensor: int, n: int) -> NDArray[np.int8]:
    """The signs z (n,) of one perturbation, +1 or -1.

    sample   0 for the first perturbation (loss L_1)
    others   as in `sign_stream`
    """
    return sign_tile(sign_stream(seed, step, tensor), sample, 0, n)


def sign_tile(stream: Stream, sample: int, first: int, n: int) -> NDArray[np.int8]:
    """Signs of the weights first .. first+n-1: a part of what `signs` gives."""
    check_range("sample", sample, 1 << 32)
    check_range("last weight", first + max(n, 1) - 1, 128 << 32)
    z = np.empty(n, np.int8)
    fill_signs(stream, sample, first, z)
    return z


def sign_block(stream: Stream, sample: int, q: int, n: int) -> NDArray[np.int8]:
    """Signs (q, n) of the samples sample .. sample+q-1."""
    return unpacked(sign_bits(stream, sample, q, n), n)


def sign_bits(stream: Stream, sample: int, q: int, n: int) -> NDArray[np.uint64]:
    """The same as bits, uint64 (q, ceil(n/64)): bit n mod 64 of word n div 64, 1 for z = +1."""
    check_range("sample", sample, 1 << 32)
    check_range("last sample", sample + max(q, 1) - 1, 1 << 32)
    check_range("last weight", max(n, 1) - 1, 128 << 32)
    bits = np.empty((q, (n + 63) // 64), np.uint64)
    fill_sign_bits(stream, sample, bits)
    return bits


def unpacked(bits: NDArray[np.uint64], n: int) -> NDArray[np.int8]:
    """The first n signs (q, n) of bits (q, ceil(n/64)), new."""
    flat = np.unpackbits(bits.astype("<u8").view(np.uint8).reshape(-1), bitorder="little")
    z = flat.view(np.int8).reshape(len(bits), -1)
    z += z  # in place: a new array for each step takes ten times as long
    z -= 1
    return z[:, :n]


def random_words(stream: Stream, sample: int, first: int, n: int) -> NDArray[np.uint32]:
    """Words first .. first+n-1 of a stream; word i is word i mod 4 of block i div 4."""
    check_range("sample", sample, 1 << 32)
    check_range("last word", first + max(n, 1) - 1, 4 << 32)
    words = np.empty(n, np.uint32)
    fill_words(stream, sample, first, words)
    return words


def augmentation_words(seed: int, epoch: int, image: int, n: int) -> NDArray[np.uint32]:
    """n words that decide how an image is augmented in an epoch: counter (block, 0, image, epoch).

    image   its index in the data set, so that order and batch do not matter
    """
    return random_words(_stream(seed, AUGMENTATION, epoch, 0), image, 0, n)


def shuffle(seed: int, epoch: int, n: int) -> NDArray[np.int64]:
    """A permutation of 0..n-1: Fisher-Yates for i = n-1..1, swapping i and (x_i * (i+1)) >> 32.

    x_i is word i mod 4 of block i div 4, counter (block, 0, 0, epoch).
    """
    words = random_words(_stream(seed, SHUFFLING, epoch, 0), 0, 0, n)
    order = np.arange(n, dtype=np.int64)
    swap_down(words, order)
    return order


def philox4x32(
    key: tuple[int, int] | NDArray[np.uint32], counter: NDArray[np.uint32]
) -> NDArray[np.uint32]:
    """The four output words of each counter, in Random123's order.

    key       two words
    counter   uint32 (..., 4)
    returns   uint32 (..., 4), new
    """
    c0, c1, c2, c3 = (counter[..., i].astype(np.uint64) for i in range(4))
    k0, k1 = (np.array(int(word), np.uint64) for word in key)
    for _ in range(ROUNDS):
        p0, p1 = c0 * MULTIPLIER_0, c2 * MULTIPLIER_1
        c0, c1, c2, c3 = (p1 >> HALF) ^ c1 ^ k0, p1 & LOW32, (p0 >> HALF) ^ c3 ^ k1, p0 & LOW32
        k0, k1 = (k0 + WEYL_0) & LOW32, (k1 + WEYL_1) & LOW32
    return np.stack((c0, c1, c2, c3), axis=-1).astype(np.uint32)


@twin
def fill_words(stream: Stream, sample: int, first: int, words: NDArray[np.uint32]) -> None:
    """Fill words (n,) with the stream's words from `first` on."""
    begin, end = first // 4, (first + words.size + 3) // 4
    counter = np.empty((end - begin, 4), np.uint32)
    counter[:, 0] = np.arange(begin, end)
    counter[:, 1:] = stream.tensor, sample, stream.step
    blocks = philox4x32((stream.key0, stream.key1), counter)
    words[:] = blocks.reshape(-1)[first - 4 * begin :][: words.size]


@twin
def fill_signs(stream: Stream, sample: int, first: int, z: NDArray[np.int8]) -> None:
    """Fill z (n,) with the signs of the weights from `first` on."""
    begin, end = first // 32, (first + z.size + 31) // 32
    words = np.empty(end - begin, np.uint32)
    fill_words(stream, 0 if stream.hadamard else sample, begin, words)
    if stream.hadamard:
        words ^= walsh_word(sample, np.arange(begin, end).astype(np.uint32))
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
    z[:] = 2 * bits[first - 32 * begin :][: z.size].astype(np.int8) - 1


def walsh_word(row: int, index: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Bit b of the word for weights 32*index.. is the parity of popcount(row & (32*index + b)).

    row     0..2^32-1; index beyond 2^27 changes nothing, since its weights are beyond every row
    """
    inside = np.uint32(0)
    for bit, mask in enumerate(PARITY_MASKS):
        inside ^= np.uint32(mask * (row >> bit & 1))
    odd = index & np.uint32(row >> 5)
    for shift in (16, 8, 4, 2, 1):
        odd ^= odd >> np.uint32(shift)
    return np.where(odd & 1, ~inside, inside)


@twin
def fill_sign_bits(stream: Stream, sample: int, bits: NDArray[np.uint64]) -> None:
    """Fill bits (q, words), row i with the signs of sample + i; the last word's too."""
    z = np.empty(64 * bits.shape[1], np.int8)
    for i, row in enumerate(bits):
        fill_signs(stream, sample + i, 0, z)
        row[:] = np.packbits(z > 0, bitorder="little").view("<u8")


@twin
def swap_down(words: NDArray[np.uint32], order: NDArray[np.int64]) -> None:
    """Shuffle order (n,) in place by Fisher-Yates with one word per element."""
    counts = np.arange(1, order.size + 1, dtype=np.uint64)
    targets = (words.astype(np.uint64) * counts) >> HALF
    items, swaps = order.tolist(), targets.tolist()
    for i in range(order.size - 1, 0, -1):
        j = swaps[i]
        items[i], items[j] = items[j], items[i]
    order[:] = items


def _stream(seed: int, purpose: int, step: int, tensor: int) -> Stream:
    check_range("seed", seed, 1 << 64)
    check_range("step", step, 1 << 32)
    check_range("tensor", tensor, 1 << 32)
    return Stream(seed & 0xFFFFFFFF, (seed >> 32) ^ purpose, tensor, step)


def check_range(name: str, value: int, limit: int) -> None:
    """Raise ValueError unless 0 <= value < limit, a power of two."""
    if not 0 <= value < limit:
        raise ValueError(f"prng: {name} must be 0..2^{limit.bit_length() - 1}-1, got {value}")
