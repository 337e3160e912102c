"""Cases of the operators that only move codes: pad, reshape, transpose.

TFLite Micro's limits: pad and transpose take rank 5 at most; pad fills with the output's zero
point and does not compare the quantisations, which are drawn equal here.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.random import Generator

from . import draws, tflite_builder
from .draws import Drawn
from .tflite_builder import constant

MAX_RANK = 5
MAX_DIMENSION = 7
MAX_ELEMENTS = 4000
MAX_PADDING = 3


def pad(rng: Generator) -> Drawn:
    """0 to 3 cells before and after every dimension."""
    shape = _shape(rng)
    affine = draws.affine(rng, ties=False)
    x = draws.codes(rng, shape, affine.zero_point)
    padding = rng.integers(0, MAX_PADDING, (len(shape), 2), np.int32, endpoint=True)
    padding[rng.random(len(shape)) < 0.4] = 0
    y_shape = tuple(int(n + p.sum()) for n, p in zip(shape, padding, strict=True))
    tensors = [
        draws.tensor("x", x, affine),
        constant("padding", padding),
        draws.output(y_shape, affine),
    ]
    arguments = {"x": x, "padding": padding.tolist(), "value": affine.zero_point}
    return Drawn(tensors, tflite_builder.pad((0, 1), 2), (x,), arguments)


def reshape(rng: Generator) -> Drawn:
    """Any factorisation of the element count; the shape as an operand or only as an option."""
    shape = _shape(rng)
    affine = draws.affine(rng, ties=False)
    x = draws.codes(rng, shape, affine.zero_point)
    y_shape = _factors(rng, math.prod(shape))
    wanted = list(y_shape)
    if rng.random() < 0.3:
        wanted[int(rng.integers(len(wanted)))] = -1
    tensors = [draws.tensor("x", x, affine), draws.output(y_shape, affine)]
    operation = tflite_builder.reshape((0,), 1, wanted)
    if rng.random() < 0.6:
        tensors.insert(1, constant("shape", np.array(wanted, np.int32)))
        operation = tflite_builder.reshape((0, 1), 2, wanted)
    return Drawn(tensors, operation, (x,), {"x": x, "shape": y_shape})


def transpose(rng: Generator) -> Drawn:
    """Every permutation of the dimensions of tensors of rank 1 to 5."""
    shape = _shape(rng)
    affine = draws.affine(rng, ties=False)
    x = draws.codes(rng, shape, affine.zero_point)
    permutation = rng.permutation(len(shape)).astype(np.int32)
    y_shape = tuple(shape[axis] for axis in permutation)
    tensors = [
        draws.tensor("x", x, affine),
        constant("permutation", permutation),
        draws.output(y_shape, affine),
    ]
    arguments = {"x": x, "permutation": permutation.tolist()}
    return Drawn(tensors, tflite_builder.transpose((0, 1), 2), (x,), arguments)


def _shape(rng: Generator) -> tuple[int, ...]:
    while True:
        rank = int(rng.integers(1, MAX_RANK, endpoint=True))
        shape = tuple(int(v) for v in rng.integers(1, MAX_DIMENSION, rank, endpoint=True))
        if math.prod(shape) <= MAX_ELEMENTS:
            return shape


def _factors(rng: Generator, total: int) -> tuple[int, ...]:
    """A shape of rank 1 to 5 with `total` elements."""
    factors = []
    for _ in range(int(rng.integers(0, MAX_RANK))):
        divisors = [d for d in range(1, total + 1) if total % d == 0]
        factors.append(int(rng.choice(divisors)))
        total //= factors[-1]
    return tuple(int(v) for v in rng.permutation([*factors, total]))
