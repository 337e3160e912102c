"""Calls of npusim/c/neural_art.c and ties.h: pieces of every shape, sums beyond int32, ties."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from kernels import drawn
from naive import neural_art as naive

from npusim.kernels.structs import TIES, Conv2d, FullyConnected, NeuralArt
from npusim.neural_art.pieces import runs
from npusim.reference import neural_art as reference

from ..records import SCRATCH, Case
from .arguments import struct, written


def cases(random: np.random.Generator) -> Iterator[Case]:
    yield _fully_connected(random, 2**16 + 1)
    yield _longest_sum()
    for first, second, count, offset in ((127, -128, 257, -60), (-128, 127, 259, 900)):
        for bits in (16, 24):
            yield _saturating_pieces(first, second, count, offset, bits)
    for n in (0, 1, 7, 8, 9, 15, 16, 17, 33, 100):
        a, b = random.integers(-255, 256, n).astype(np.int16), drawn.codes(random, (n,))
        total = int(a.astype(np.int64) @ b.astype(np.int64))
        yield Case("npu_neural_art_dot", {"a": a, "b": b, "n": n}, {"return": total})
    for ties in TIES:
        for n in (0, 1, 2, 7, 8, 15, 20, 31, 32, 40, 62):
            yield from _shifts(random, n, ties)


def fuzz(random: np.random.Generator, count: int) -> Iterator[Case]:
    for _ in range(count):
        yield _conv2d(random)
        yield _depthwise_conv2d(random)
        yield _fully_connected(random, int(random.integers(1, 300)))


def _conv2d(random: np.random.Generator) -> Case:
    """One group or several, the kernel in any pieces."""
    groups, inputs, outputs = (int(v) for v in random.integers(1, (4, 9, 6)))
    g = drawn.conv2d(random, groups, inputs, outputs)
    slabs = _parts(random, inputs)
    r = drawn.neural_art(random, g.o, _parts(random, g.kh), _parts(random, g.kw), slabs)
    weights = drawn.codes(random, (g.o, g.kh, g.kw, inputs))
    return conv2d(drawn.codes(random, (g.n, g.h, g.w, g.c)), weights, g, r)


def _depthwise_conv2d(random: np.random.Generator) -> Case:
    c, multiplier = (int(v) for v in random.integers(1, (20, 4)))
    g = drawn.conv2d(random, 1, c, c * multiplier)
    r = drawn.neural_art(random, g.o, _parts(random, g.kh), _parts(random, g.kw))
    weights = drawn.codes(random, (1, g.kh, g.kw, g.o))
    return depthwise_conv2d(drawn.codes(random, (g.n, g.h, g.w, g.c)), weights, g, r)


def _fully_connected(random: np.random.Generator, i: int) -> Case:
    """Slabs of 128 channels, or of any length."""
    n, o = (int(v) for v in random.integers(1, (4, 12)))
    slabs = [128] * (i // 128) + [i % 128] * (i % 128 > 0)
    r = drawn.neural_art(random, o, slabs=slabs if random.random() < 0.5 else _parts(random, i))
    g = FullyConnected(n, i, o, drawn.zero_point(random))
    return fully_connected(drawn.codes(random, (n, i)), drawn.codes(random, (o, i)), g, r)


def conv2d(x: np.ndarray, weights: np.ndarray, g: Conv2d, r: NeuralArt) -> Case:
    patch = np.full(weights[0].size, 77, np.int16)
    return _layer("conv2d", x, weights, g, r, {"patch": patch})


def depthwise_conv2d(x: np.ndarray, weights: np.ndarray, g: Conv2d, r: NeuralArt) -> Case:
    sums = {name: np.full(g.o, 77, np.int64) for name in ("acc", "partial")}
    return _layer("depthwise_conv2d", x, weights, g, r, sums)


def fully_connected(x: np.ndarray, weights: np.ndarray, g: FullyConnected, r: NeuralArt) -> Case:
    return _layer("fully_connected", x, weights, g, r, {"patch": np.full(g.i, 77, np.int16)})


FUNCTIONS = {f.__name__: f for f in (conv2d, depthwise_conv2d, fully_connected)}
"""Calls of layers, by the names of the reference."""


def _layer(
    name: str,
    x: np.ndarray,
    weights: np.ndarray,
    g: Conv2d | FullyConnected,
    r: NeuralArt,
    scratch: dict[str, np.ndarray],
) -> Case:
    y = reference.FUNCTIONS[name](x, weights, g, r)
    given = {"x": x.reshape(-1), "weights": weights.reshape(-1), "g": struct(g), "r": tail(r)}
    changed = {"y": y, **dict.fromkeys(scratch, SCRATCH)}
    return Case(f"npu_neural_art_{name}", {**given, "y": written(y), **scratch}, changed)


def _longest_sum() -> Case:
    """One piece of more products than an int32 sum of them could hold, all at the limit."""
    i, one = 2**17 + 5, np.ones(1, np.int32)
    r = NeuralArt(one, 0 * one, runs((1,), (1,), (i,)), 20, 0, 6, 1, 16, 0, 0, 0, -128, 127)
    x, weights = np.full((1, i), 127, np.int8), np.full((1, i), -128, np.int8)
    return fully_connected(x, weights, FullyConnected(1, i, 1, -128), r)


def _saturating_pieces(first: int, second: int, count: int, offset: int, bits: int) -> Case:
    """400 products that leave 24 bits, then about as much with the other sign, plus an offset."""
    one = np.ones(1, np.int32)
    pieces = runs((1,), (1,), (400, 400))
    r = NeuralArt(one, offset * one, pieces, 0, 0, 0, 1, bits, 0, 0, 0, -128, 127)
    weights = np.zeros((1, 800), np.int8)
    weights[0, :400], weights[0, 400 : 400 + count] = first, second
    return fully_connected(
        np.full((1, 800), 127, np.int8), weights, FullyConnected(1, 800, 1, -128), r
    )


def _shifts(random: np.random.Generator, n: int, ties: str) -> Iterator[Case]:
    """Ties and their neighbours, small numbers, and the ends of 8 to 48 bits."""
    half = (1 << n) >> 1
    near = [k * (1 << n) + half + d for k in range(-3, 3) for d in (-1, 0, 1)]
    ends = [sign * (1 << bits) + d for bits in (7, 15, 31, 47) for d in (-1, 0) for sign in (-1, 1)]
    for value in (
        *range(-3, 4),
        *random.choice(near, 6).tolist(),
        *random.choice(ends, 4).tolist(),
    ):
        if abs(value) >= 2**63:
            continue
        given, expected = {"value": value, "n": n}, {"return": naive.quotient(value, n, ties)}
        yield Case("npu_rounded_shift", {**given, "ties": TIES[ties]}, expected)
        if ties != "floor":
            yield Case(f"npu_shift_{ties}", given, expected)


def tail(r: NeuralArt) -> dict[str, Any]:
    """C's struct npu_neural_art."""
    numbers = r.runs.astype(np.int32).reshape(-1)
    return {**r._asdict(), "runs": numbers, "run_count": len(r.runs)}


def _parts(random: np.random.Generator, length: int) -> tuple[int, ...]:
    """A length in one part, in single ones, or cut anywhere."""
    if random.random() < 0.5 or length == 1:
        return (length,)
    cuts = np.flatnonzero(random.random(length - 1) < random.choice([0.1, 0.5, 1.0])) + 1
    return tuple(np.diff([0, *cuts.tolist(), length]).tolist())
