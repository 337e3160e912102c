"""Philox4x32-10 against Random123's answers, PyPI's randomgen and a twin in Python integers."""

import numpy as np
import pytest
from naive import training as naive

from zo import prng

pytestmark = pytest.mark.usefixtures("isa")

# Counter, key and output of Random123's tests/kat_vectors, lines "philox4x32 10".
KNOWN_ANSWERS = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def words_of(text):
    return [int(word, 16) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "output"), KNOWN_ANSWERS)
def test_philox_gives_the_known_answers(counter, key, output):
    (block, tensor, sample, step), (low, high) = words_of(counter), words_of(key)
    stream = prng.Stream(low, high, tensor, step)

    words = prng.random_words(stream, sample, 4 * block, 4)

    assert words.tolist() == words_of(output)
    assert naive.philox((low, high), (block, tensor, sample, step)) == words_of(output)


def test_philox_takes_arrays_of_counters():
    counters = np.array([words_of(counter) for counter, _, _ in KNOWN_ANSWERS], np.uint32)

    actual = prng.philox4x32((0xA4093822, 0x299F31D0), counters.reshape(3, 1, 4))

    assert actual.shape == (3, 1, 4)
    assert actual[2, 0].tolist() == words_of(KNOWN_ANSWERS[2][2])


def test_words_match_randomgen():
    # randomgen increments its counter before the first block: its first output is block 1.
    randomgen = pytest.importorskip("randomgen")
    key = 0x299F31D0A4093822
    oracle = randomgen.Philox(key=key, counter=0, number=4, width=32)
    expected = oracle.random_raw(10**6)

    actual = prng.random_words(prng.sign_stream(key, 0, 0), 0, 4, 10**6)

    np.testing.assert_array_equal(actual, expected)


def test_signs_match_naive():
    for seed, step, sample, tensor, n in [
        (0, 0, 0, 0, 1), (1, 2, 3, 4, 127), (2**63 + 5, 10**6, 1023, 77, 128),
        (2**64 - 1, 2**32 - 1, 2**32 - 1, 2**32 - 1, 300),
    ]:  # fmt: skip
        actual = prng.signs(seed, step, sample, tensor, n)

        assert actual.dtype == np.int8
        assert actual.tolist() == naive.signs(seed, step, sample, tensor, n)


def test_tiles_are_parts_of_the_whole():
    whole = prng.signs(9, 8, 7, 6, 1000)
    stream = prng.sign_stream(9, 8, 6)
    random = np.random.default_rng(0)

    for _ in range(300):
        first, last = np.sort(random.integers(0, 1001, 2)).tolist()
        tile = prng.sign_tile(stream, 7, first, last - first)
        np.testing.assert_array_equal(tile, whole[first:last])


def test_tiles_reach_the_last_weight_a_counter_can_name():
    stream = prng.sign_stream(3, 2, 1)
    last = (128 << 32) - 4

    tile = prng.sign_tile(stream, 0, last, 4)

    word = naive.philox((3, 0), (2**32 - 1, 1, 0, 2))[3]
    assert tile.tolist() == [2 * (word >> bit & 1) - 1 for bit in range(28, 32)]


def test_blocks_are_stacked_samples():
    stream = prng.sign_stream(5, 4, 3)

    block = prng.sign_block(stream, 2, 9, 333)

    for i, row in enumerate(block):
        np.testing.assert_array_equal(row, prng.signs(5, 4, 2 + i, 3, 333))


@pytest.mark.parametrize("n", [1, 63, 64, 65, 128, 333])
def test_bits_are_the_signs(n):
    bits = prng.sign_bits(prng.sign_stream(5, 4, 3), 2, 3, n)

    assert bits.shape == (3, -(-n // 64))
    for i, row in enumerate(bits.tolist()):
        z = naive.signs(5, 4, 2 + i, 3, 64 * len(row))
        assert [2 * (row[j // 64] >> j % 64 & 1) - 1 for j in range(64 * len(row))] == z


def test_signs_do_not_depend_on_order():
    calls = [(seed, step, sample, tensor) for seed in (0, 2**40) for step in (0, 3)
             for sample in (0, 1) for tensor in (0, 2)]  # fmt: skip
    forwards = {call: prng.signs(*call, 200).tobytes() for call in calls}
    backwards = {call: prng.signs(*call, 200).tobytes() for call in reversed(calls)}

    assert forwards == backwards
    assert len(set(forwards.values())) == len(calls)


def test_signs_are_balanced():
    # 2^20 fair signs: the sum has deviation 1024; 5 deviations are 1 in 1.7 million.
    assert abs(int(prng.signs(1, 0, 0, 0, 1 << 20).sum(dtype=np.int64))) < 5 * 1024


@pytest.mark.parametrize("first", [0, 1, 2, 3, 6])
def test_words_start_anywhere(first):
    stream = prng.rounding_stream(12, 34, 56)
    whole = prng.random_words(stream, 0, 0, 20)

    np.testing.assert_array_equal(prng.random_words(stream, 0, first, 9), whole[first : first + 9])
    assert whole.tolist() == [naive.word(12, naive.ROUNDING, (56, 0, 34), n) for n in range(20)]


def test_augmentation_words_match_naive():
    expected = [naive.word(2**33 + 1, naive.AUGMENTATION, (0, 42, 5), n) for n in range(6)]

    assert prng.augmentation_words(2**33 + 1, 5, 42, 6).tolist() == expected


@pytest.mark.parametrize("n", [1, 2, 5, 127, 400])
def test_shuffle_matches_naive(n):
    order = prng.shuffle(2**35 + 7, 3, n)

    assert order.dtype == np.int64
    assert order.tolist() == naive.shuffle(2**35 + 7, 3, n)


def test_shuffle_is_a_permutation_that_changes_with_the_epoch():
    first, second = (prng.shuffle(1, epoch, 27000) for epoch in (0, 1))

    np.testing.assert_array_equal(np.sort(first), np.arange(27000))
    assert (first != second).mean() > 0.99


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((-1, 0, 0), "prng: seed must be 0..2^64-1, got -1"),
        ((1 << 64, 0, 0), "prng: seed must be 0..2^64-1, got 18446744073709551616"),
        ((0, 1 << 32, 0), "prng: step must be 0..2^32-1, got 4294967296"),
        ((0, 0, -3), "prng: tensor must be 0..2^32-1, got -3"),
    ],
)
def test_streams_reject_what_no_counter_holds(arguments, message):
    with pytest.raises(ValueError, match=message.replace("^", r"\^")):
        prng.sign_stream(*arguments)


def test_samples_reject_what_no_counter_holds():
    with pytest.raises(ValueError, match=r"prng: sample must be 0..2\^32-1, got 4294967296"):
        prng.signs(0, 0, 1 << 32, 0, 8)
    with pytest.raises(ValueError, match=r"prng: sample must be 0..2\^32-1, got -1"):
        prng.sign_bits(prng.sign_stream(0, 0, 0), -1, 4, 8)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize(("seed", "step", "tensor"), [(1, 0, 3), (2**64 - 1, 2**32 - 1, 9)])
def test_hadamard_rows_match_naive(seed, step, tensor):
    stream = prng.sign_stream(seed, step, tensor, hadamard=1)
    for row in (0, 1, 2, 31, 32, 33, 127, 128, 300, 1000):
        expected = naive.hadamard(seed, step, row, tensor, 700)
        assert prng.sign_tile(stream, row, 0, 700).tolist() == expected
        assert prng.sign_tile(stream, row, 77, 300).tolist() == expected[77:377]
    top = prng.sign_tile(stream, 2**32 - 1, 2**39 - 40, 40).tolist()
    columns = prng.sign_tile(stream, 0, 2**39 - 40, 40).tolist()
    turned = [(-1) ** ((2**32 - 1) & n).bit_count() for n in range(2**39 - 40, 2**39)]
    assert top == [z * turn for z, turn in zip(columns, turned, strict=True)]


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("n", [32, 128, 512])
def test_hadamard_rows_are_orthogonal(n):
    z = prng.sign_block(prng.sign_stream(5, 4, 3, hadamard=1), 0, n, n).astype(int)
    assert np.array_equal(z @ z.T, n * np.eye(n, dtype=int))


def test_hadamard_columns_differ_between_steps():
    rows = [prng.signs(5, step, 0, 3, 256).tolist() for step in range(3)]
    turned = [prng.sign_tile(prng.sign_stream(5, s, 3, 1), 9, 0, 256).tolist() for s in range(3)]
    assert len({tuple(row) for row in [*rows, *turned]}) == 6


def test_hadamard_is_a_flag():
    with pytest.raises(ValueError, match=r"prng: hadamard must be 0..2\^1-1, got 2"):
        prng.sign_stream(1, 2, 3, hadamard=2)
