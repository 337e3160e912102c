"""Calls of zo/c/prng.c."""

from collections.abc import Iterator

import numpy as np

from zo import prng

from ..records import Case
from .arguments import UINT32, draw_stream, draw_uint32, stream

SIZES = (0, 1, 4, 5, 15, 16, 17, 31, 32, 33, 127, 128, 129, 511, 512, 513, 700)
FIRST = (0, 1, 3, 4, 31, 100, 127, 128, 500, 512, 2**32 - 5, 2**32)


def cases(random: np.random.Generator) -> Iterator[Case]:
    yield from _streams(random)
    yield from _blocks(random)
    for n in SIZES:
        for first in random.choice(FIRST, 3, replace=False):
            yield _fill_words(random, int(first), n)
            yield _fill_signs(random, int(first), n)
    yield _fill_signs(random, (128 << 32) - 700, 700)
    yield _fill_words(random, (4 << 32) - 9, 9)
    yield from _walsh(random)
    yield from _orders(random)


def _streams(random: np.random.Generator) -> Iterator[Case]:
    for seed in (0, 2**32, 2**64 - 1, *map(int, random.integers(0, 2**63, 5))):
        for name, made in (("sign", prng.sign_stream), ("rounding", prng.rounding_stream)):
            step, tensor = draw_uint32(random), draw_uint32(random)
            hadamard = {"hadamard": int(random.integers(0, 2))} if name == "sign" else {}
            expected = made(seed, step, tensor, **hadamard)
            fields = {f"return.{field}": value for field, value in expected._asdict().items()}
            given = {"seed": seed, "step": step, "tensor": tensor, **hadamard}
            yield Case(f"zo_{name}_stream", given, fields)


def _walsh(random: np.random.Generator) -> Iterator[Case]:
    """Words of rows, counted bit by bit, and whole blocks of signs."""
    for _ in range(40):
        row, index = draw_uint32(random), draw_uint32(random)
        bits = [(row & (32 * index + b)).bit_count() % 2 for b in range(32)]
        word = sum(bit << b for b, bit in enumerate(bits))
        yield Case("zo_walsh_word", {"row": row, "index": index}, {"return": word})
        drawn, sample, block = draw_stream(random), draw_uint32(random), draw_uint32(random)
        bits = prng.sign_tile(drawn, sample, 128 * block, 128) > 0
        words = np.packbits(bits, bitorder="little").view("<u4").astype(np.uint32)
        given = {"stream": stream(drawn), "sample": sample, "block": block}
        given["words"] = np.zeros(4, np.uint32)
        yield Case("zo_sign_words", given, {"words": words})


def _blocks(random: np.random.Generator) -> Iterator[Case]:
    for block in (*UINT32, *map(int, random.integers(0, 2**32, 20))):
        drawn, sample = draw_stream(random), draw_uint32(random)
        counter = np.array([block, drawn.tensor, sample, drawn.step], np.uint32)
        expected = prng.philox4x32((drawn.key0, drawn.key1), counter)
        given = {"stream": stream(drawn), "sample": sample, "block": block}
        yield Case("zo_philox4x32", {**given, "words": np.zeros(4, np.uint32)}, {"words": expected})


def _fill_words(random: np.random.Generator, first: int, n: int) -> Case:
    drawn, sample = draw_stream(random), draw_uint32(random)
    expected = prng.random_words(drawn, sample, first, n)
    given = {"stream": stream(drawn), "sample": sample, "first": first}
    return Case(
        "zo_fill_words", {**given, "words": np.zeros(n, np.uint32), "n": n}, {"words": expected}
    )


def _fill_signs(random: np.random.Generator, first: int, n: int) -> Case:
    drawn, sample = draw_stream(random), draw_uint32(random)
    expected = prng.sign_tile(drawn, sample, first, n)
    given = {"stream": stream(drawn), "sample": sample, "first": first}
    return Case("zo_fill_signs", {**given, "z": np.zeros(n, np.int8), "n": n}, {"z": expected})


def _orders(random: np.random.Generator) -> Iterator[Case]:
    for n in (1, 2, 3, 4, 5, 8, 9, 63, 1000):
        seed, epoch, image = int(random.integers(0, 2**63)), draw_uint32(random), 3
        expected = prng.shuffle(seed, epoch, n).astype(np.int32)
        given = {"seed": seed, "epoch": epoch, "order": np.zeros(n, np.int32), "n": n}
        yield Case("zo_shuffle", given, {"order": expected})
        words = prng.augmentation_words(seed, epoch, image, n)
        given = {"seed": seed, "epoch": epoch, "image": image, "n": n}
        yield Case(
            "zo_augmentation_words",
            {**given, "words": np.zeros(n, np.uint32)},
            {"words": words},
        )
