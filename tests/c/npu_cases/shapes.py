"""Draws of shapes: small ones, and rows long enough to be cut in pieces."""

import numpy as np

Shape = tuple[int, ...]


def any_shape(random: np.random.Generator, most: int = 5) -> Shape:
    """1 to `most` dimensions, some of one cell, the last one often long."""
    rank = int(random.integers(1, most + 1))
    shape = random.choice([1, 2, 3, 4, 5], rank)
    shape[-1] = random.choice([1, 3, 8, 16, 31, 48, 70])
    return tuple(shape.tolist())


def broadcasting(random: np.random.Generator) -> tuple[Shape, Shape]:
    """Two shapes that broadcast to one: dimensions are repeated or missing in either."""
    shape = any_shape(random)
    return _part(random, shape), _part(random, shape)


def _part(random: np.random.Generator, shape: Shape) -> Shape:
    kept = random.random(len(shape)) < random.choice([0.5, 0.8, 1.0])
    part = np.where(kept, shape, 1)
    return tuple(part[int(random.choice([0, 0, 1, len(shape)])) :].tolist())
