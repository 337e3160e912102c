"""Inputs that are drawn at random: noise, flat and coarse pictures, variations of what is there."""

from typing import NamedTuple

import numpy as np

from ..affine import LIMITS
from ..graph import Graph, Quantization, Tensor

COARSEST = 8
FLOAT_STEPS = (-0.5, 0.0, 0.5)


class Source(NamedTuple):
    """An input of a model.

    tensor   as the model declares it, one image
    codes    quantisation of what real numbers become; None for codes
    known    inputs that are there, (images, ..); None without
    """

    tensor: Tensor
    codes: Quantization | None
    known: np.ndarray | None


def sources(graph: Graph, known: dict[str, np.ndarray]) -> list[Source]:
    """The graph's inputs."""
    found = []
    for i in graph.inputs:
        tensor = graph.tensors[i]
        readers = [n for n in graph.nodes if i in n.inputs]
        q = graph.tensors[readers[0].outputs[0]].quantization if readers else None
        real = tensor.dtype == "float32"
        found.append(Source(tensor, q if real else None, known.get(tensor.name)))
    return found


def drawn(rng: np.random.Generator, source: Source, images: int) -> np.ndarray:
    """New inputs, (images, ..), of the tensor's type."""
    return np.stack([_image(rng, source) for _ in range(images)])


def children(
    rng: np.random.Generator, source: Source, parents: list[np.ndarray], images: int
) -> np.ndarray:
    """Parents with some elements drawn anew, or a few moved by a step or more."""
    made = []
    for _ in range(images):
        child = parents[int(rng.integers(len(parents)))].copy()
        flat = child.reshape(-1)
        most = max(1, min(flat.size // 4, 64))
        count = int(np.exp(rng.uniform(0, np.log(most + 1))))
        if rng.random() < 0.5:
            places = rng.integers(0, flat.size, count)
            flat[places] = _image(rng, source).reshape(-1)[places]
        else:
            _step(rng, source, flat, rng.integers(0, flat.size, min(count, 4)))
        made.append(child)
    return np.stack(made)


def _step(rng: np.random.Generator, source: Source, flat: np.ndarray, places: np.ndarray) -> None:
    """Move elements, in place, by up to 8 codes."""
    steps = rng.integers(-8, 9, len(places))
    dtype = source.tensor.dtype
    if dtype in LIMITS:
        flat[places] = np.clip(flat[places].astype(np.int64) + steps, *LIMITS[dtype])
    elif source.codes is not None:
        flat[places] += (steps * float(source.codes.scale[0])).astype(flat.dtype)


def _image(rng: np.random.Generator, source: Source) -> np.ndarray:
    shape = source.tensor.shape[1:]
    if source.known is not None and len(source.known) and rng.random() < 0.25:
        image = source.known[int(rng.integers(len(source.known)))].copy()
        fresh = rng.random(shape) < rng.uniform(0, 0.5)
        return np.where(fresh, _typed(rng, source, _pattern(rng, shape)), image)
    return _typed(rng, source, _pattern(rng, shape))


def _pattern(rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """Numbers, most in -1..1: noise, a level with noise, or coarse cells."""
    way = int(rng.integers(3))
    if way == 0:
        return rng.uniform(-1, 1, shape)
    level, spread = rng.uniform(-1, 1), rng.uniform(0.02, 0.6)
    noise = rng.normal(level if way == 1 else 0.0, spread, shape)
    if way == 1 or len(shape) < 2:
        return noise
    cell = int(rng.integers(2, COARSEST + 1))
    coarse = tuple(-(-length // cell) for length in shape[:2])
    cells = rng.uniform(-1, 1, (*coarse, *shape[2:]))
    full = cells.repeat(cell, 0).repeat(cell, 1)[: shape[0], : shape[1]]
    return full + noise * 0.3


def _typed(rng: np.random.Generator, source: Source, pattern: np.ndarray) -> np.ndarray:
    """A pattern as codes of the input's type, or as real numbers on and between codes."""
    dtype = source.tensor.dtype
    if dtype in LIMITS:
        low, high = LIMITS[dtype]
        codes = np.rint((pattern + 1) / 2 * (high - low)) + low
        return np.clip(codes, low, high).astype(dtype)
    if source.codes is None:
        return pattern.astype(dtype)
    zero, scale = int(source.codes.zero_point[0]), np.float32(source.codes.scale[0])
    steps = np.rint(pattern * 128) - zero + rng.choice(FLOAT_STEPS, pattern.shape)
    real = steps.astype(np.float32) * scale
    # a unit in the last place decides whether a quotient is a tie
    near = np.nextafter(real, np.float32(np.inf) * rng.choice([-1, 1], real.shape))
    return np.where(rng.random(real.shape) < 0.5, real, near).astype(np.float32)
