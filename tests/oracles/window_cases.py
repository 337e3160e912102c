"""Cases of the operators that reduce: average_pool2d, max_pool2d, mean.

TFLite Micro's limits: pools need equal quantisation of input and output (scales within 1e-6).
Mean has none that matters here: any rank, any axes, also negative, unsorted or repeated ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.random import Generator

from . import draws, tflite_builder
from .draws import Affine, Drawn
from .tflite_builder import Operation, constant

MAX_SIDE = 13
MAX_CHANNELS = 33
MAX_BATCH = 4
MAX_KERNEL = 5
MAX_ELEMENTS = 8000
LONGEST_BY_RANK = (3000, 80, 18, 9, 6)  # dimension of a mean's input of rank 1, 2, ...


def average_pool2d(rng: Generator) -> Drawn:
    """Windows of 1x1 to 5x5, under SAME also larger than the image."""
    return _pool(rng, tflite_builder.average_pool_2d)


def max_pool2d(rng: Generator) -> Drawn:
    """Windows of 1x1 to 5x5, under SAME also larger than the image."""
    return _pool(rng, tflite_builder.max_pool_2d)


def mean(rng: Generator) -> Drawn:
    """Every set of axes of tensors of rank 1 to 5; a quarter keep the input's quantisation."""
    rank = int(rng.integers(1, len(LONGEST_BY_RANK) + 1))
    shape = tuple(int(v) for v in rng.integers(1, LONGEST_BY_RANK[rank - 1] + 1, rank))
    ties = bool(rng.random() < draws.TIES)
    chosen = int(rng.integers(1, 2**rank))
    axes = [axis for axis in range(rank) if chosen >> axis & 1]
    keep_dims = bool(rng.random() < 0.5)
    x_affine = draws.affine(rng, ties)
    x = draws.codes(rng, shape, x_affine.zero_point)
    means = draws.reals(x, x_affine).mean(axis=tuple(axes), keepdims=keep_dims)
    y_affine = x_affine if rng.random() < 0.25 else draws.fitted(rng, means, ties)
    tensors = [
        draws.tensor("x", x, x_affine),
        constant("axes", _written(rng, axes, rank)),
        draws.output(means.shape, y_affine),
    ]
    arguments = {
        "x": x,
        "axes": tuple(axes),
        "keep_dims": keep_dims,
        "quantization": (x_affine, y_affine),
    }
    return Drawn(tensors, tflite_builder.mean((0, 1), 2, keep_dims), (x,), arguments)


def _pool(rng: Generator, build: Callable[..., Operation]) -> Drawn:
    while True:
        n = int(rng.integers(1, MAX_BATCH, endpoint=True))
        h, w = draws.pair(rng, MAX_SIDE)
        c = int(rng.integers(1, MAX_CHANNELS, endpoint=True))
        kernel = draws.pair(rng, MAX_KERNEL)
        walk = draws.window(rng, (h, w), kernel, dilated=False)
        if walk is not None and n * h * w * c <= MAX_ELEMENTS:
            break
    name = draws.activation(rng)
    scale = draws.bounded_scale(rng, name, bool(rng.random() < draws.TIES), (120, 260))
    affine = Affine(scale, draws.zero_point(rng))
    affine = draws.suited(rng, affine, name)
    x = draws.codes(rng, (n, h, w, c), affine.zero_point)
    shape = (n, *draws.window_output((h, w), kernel, walk), c)
    tensors = [draws.tensor("x", x, affine), draws.output(shape, affine)]
    arguments = {
        "x": x,
        "kernel": kernel,
        "window": tuple(walk),
        "activation": name,
        "affine": affine,
    }
    return Drawn(tensors, build(0, 1, kernel, walk, name), (x,), arguments)


def _written(rng: Generator, axes: list[int], rank: int) -> np.ndarray:
    """The axes as a file may hold them: in any order, some of them counted from the end."""
    shuffled = rng.permutation(axes)
    return np.where(rng.random(len(axes)) < 0.2, shuffled - rank, shuffled).astype(np.int32)
