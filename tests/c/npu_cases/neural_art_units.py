"""Calls of npusim/c/neural_art_units.c: the ADD and the global average of Neural-ART."""

from collections.abc import Iterator

import numpy as np
from kernels import drawn

from npusim import strides
from npusim.kernels.structs import NeuralArtAdd, NeuralArtMean
from npusim.reference import neural_art as reference

from ..records import SCRATCH, Case
from .arguments import struct, written
from .elementwise import EVERY_PAIR
from .shaped import steps
from .shapes import broadcasting


def cases(random: np.random.Generator) -> Iterator[Case]:
    yield add(*EVERY_PAIR, drawn.neural_art_add(random))


def fuzz(random: np.random.Generator, count: int) -> Iterator[Case]:
    for _ in range(count):
        a, b = (drawn.codes(random, shape) for shape in broadcasting(random))
        yield add(a, b, drawn.neural_art_add(random))
        n, h, w, c = (int(v) for v in random.integers(1, (4, 9, 9, 40)))
        x = drawn.codes(random, (n, h, w, c))
        yield mean(x, drawn.neural_art_mean(random, h * w, c))


def add(a: np.ndarray, b: np.ndarray, p: NeuralArtAdd) -> Case:
    y = reference.add(a, b, p)
    walk = steps(strides.broadcast(a.shape, b.shape, y.shape), "a_strides", "b_strides")
    given = {"a": a.reshape(-1), "b": b.reshape(-1), "p": struct(p), **walk, "y": written(y)}
    return Case("npu_neural_art_add", given, {"y": y})


def mean(x: np.ndarray, p: NeuralArtMean) -> Case:
    """x (N, H, W, C)"""
    y = reference.mean(x, (1, 2), p)
    given = {"x": x.reshape(-1), "p": struct(p), "y": written(y), "n": y.size}
    sums = np.full(p.channels, 77, np.int32)
    return Case("npu_neural_art_mean", {**given, "sums": sums}, {"y": y, "sums": SCRATCH})
