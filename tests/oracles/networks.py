"""Seeded random networks of up to a dozen operators.

They show what single operators cannot: memory that is used again, values read twice and later,
branches, several outputs. Each layer is fitted to the codes that TFLite Micro computes for the
layers before it, so that deep layers are still alive.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from . import draws, elementwise_cases, tflite_builder, tflm, weighted_cases
from .draws import Affine
from .tflite_builder import Operation, Tensor, Window, constant
from .weighted_cases import Layer

MAX_BATCH = 3
MAX_CHANNELS = 20
MAX_LAYERS = 9
MAX_ELEMENTS = 3000
SIDES = (4, 12)
SMALLEST_GATED = 1e-3  # a scale; below 6/2^31 TFLite Micro refuses relu6


class Network(NamedTuple):
    """A model with one image input; every tensor of the file has a name of its own."""

    seed: int
    model: bytes
    x: NDArray[np.int8]
    description: str


@dataclass
class Draft:
    """A model while it grows; `codes` holds the int8 activations so far by tensor index.

    `biased`: every layer with weights has a bias, of zeros where none was drawn.
    """

    rng: Generator
    biased: bool = False
    tensors: list[Tensor] = field(default_factory=list)
    operations: list[Operation] = field(default_factory=list)
    codes: dict[int, NDArray[np.int8]] = field(default_factory=dict)

    def affine(self, index: int) -> Affine:
        """The quantisation of an activation."""
        tensor = self.tensors[index]
        assert tensor.scale is not None
        return Affine(
            np.asarray(tensor.scale, np.float32).item(), np.asarray(tensor.zero_point).item()
        )

    def reals(self, index: int) -> NDArray[np.float64]:
        """The numbers that an activation's codes stand for."""
        return draws.reals(self.codes[index], self.affine(index))

    def append(self, tensors: list[Tensor], operation: Operation) -> int:
        """Add an operation with its constants and its output, which comes last; run it."""
        first = len(self.tensors)
        named = [t._replace(name=f"{t.name}_{first + k}") for k, t in enumerate(tensors)]
        self.tensors += named
        self.operations.append(operation)
        traced = tflm.trace(self.model(), [self.codes[0]])
        self.codes[operation.outputs[0]] = traced[operation.outputs[0]]
        return operation.outputs[0]

    def model(self) -> bytes:
        return tflite_builder.model(self.tensors, self.operations)


def network(seed: int, biased: bool = False) -> Network:
    """Draw a network: 2 to 9 layers on images, then, in most, a classifier.

    `biased`: the same network with a bias in every layer, which LiteRT wants.
    """
    rng = np.random.default_rng([0x6E6574, seed])
    draft = Draft(rng, biased)
    n = int(rng.integers(1, MAX_BATCH + 1))
    size = tuple(int(v) for v in rng.integers(*SIDES, 2, endpoint=True))
    affine = draws.affine(rng, bool(rng.random() < draws.TIES), 1e-3, 0.1)
    draft.codes[0] = draws.codes(rng, (n, *size, int(rng.integers(1, 5))), affine.zero_point)
    draft.tensors.append(draws.tensor("x", draft.codes[0], affine))
    last = 0
    for _ in range(int(rng.integers(2, MAX_LAYERS + 1))):
        last = LAYERS[str(rng.choice(list(LAYERS)))](draft, last)
    if rng.random() < 0.7:
        _classifier(draft, last)
    names = [tflite_builder.operator_name(operation) for operation in draft.operations]
    return Network(seed, draft.model(), draft.codes[0], f"network({seed}): {' '.join(names)}")


def fan(seed: int) -> Network:
    """Draw a network whose layers read the image: a convolution, two others, a fully connected one.

    So an input can bring each of them to any state. One image, a bias in every layer.
    """
    draft = Draft(np.random.default_rng([0x66616E, seed]), biased=True)
    affine = draws.affine(draft.rng, False, 1e-3, 0.1)
    draft.codes[0] = draws.codes(draft.rng, (1, 7, 7, 4), affine.zero_point)
    draft.tensors.append(draws.tensor("x", draft.codes[0], affine))
    others = [name for name in LAYERS if name not in ("pad", "convolution")]
    for kind in ("convolution", *draft.rng.choice(others, 2, replace=False)):
        LAYERS[str(kind)](draft, 0)
    _logits(draft, 0)
    names = [tflite_builder.operator_name(operation) for operation in draft.operations]
    return Network(seed, draft.model(), draft.codes[0], f"fan({seed}): {' '.join(names)}")


def _convolution(draft: Draft, x: int) -> int:
    i, o = draft.codes[x].shape[3], int(draft.rng.integers(1, MAX_CHANNELS + 1))
    kernel = (1, 1) if draft.rng.random() < 0.5 else (3, 3)
    return _weighted(draft, x, (o, *kernel, i), 0)


def _depthwise(draft: Draft, x: int) -> int:
    return _weighted(draft, x, (1, 3, 3, draft.codes[x].shape[3]), 3)


def _weighted(draft: Draft, x: int, w_shape: tuple[int, ...], axis: int) -> int:
    rng, codes = draft.rng, draft.codes[x]
    name = draws.activation(rng)
    kind = str(rng.choice(["full", "spread"]))
    source = (codes, draft.affine(x))
    layer = weighted_cases.layer(rng, kind, source, w_shape, axis, name)
    layer = _biased(draft, layer, axis)
    stride = int(rng.integers(1, 3))
    window = Window((stride, stride), (1, 1), "SAME")
    _, h, w, _ = codes.shape
    output = draws.window_output((h, w), (w_shape[1], w_shape[2]), window)
    shape = (codes.shape[0], *output, w_shape[axis])
    tensors, indices = weighted_cases.layer_tensors(layer, shape, axis)
    inputs, y = _placed(draft, x, indices)
    if axis == 0:
        return draft.append(tensors[1:], tflite_builder.conv_2d(inputs, y, window, name))
    return draft.append(tensors[1:], tflite_builder.depthwise_conv_2d(inputs, y, window, 1, name))


def _sum(draft: Draft, x: int) -> int:
    """x plus an earlier activation of its shape, x itself if there is no other."""
    same = [i for i, codes in draft.codes.items() if codes.shape == draft.codes[x].shape]
    other = int(draft.rng.choice(same))
    name = draws.activation(draft.rng)
    reals = draft.reals(x) + draft.reals(other)
    affine = draws.fitted(draft.rng, reals, False, name)
    affine = elementwise_cases.summable(affine, draft.affine(x), draft.affine(other))
    y = draws.output(reals.shape, affine)
    return draft.append([y], tflite_builder.add((other, x), len(draft.tensors), name))


def _gate(draft: Draft, x: int) -> int:
    """x times its own channel means, as squeeze-and-excite does; not on numbers near zero."""
    if draft.affine(x).scale < SMALLEST_GATED:
        return x
    means = _mean(draft, x, keep_dims=True)
    reals = draft.reals(x) * draft.reals(means)
    affine = draws.fitted(draft.rng, reals, False)
    y = len(draft.tensors)
    return draft.append([draws.output(reals.shape, affine)], tflite_builder.mul((x, means), y))


def _pool(draft: Draft, x: int) -> int:
    rng, codes = draft.rng, draft.codes[x]
    build = (tflite_builder.average_pool_2d, tflite_builder.max_pool_2d)[int(rng.integers(2))]
    window = Window(draws.pair(rng, 2), (1, 1), "SAME")
    kernel = draws.pair(rng, 3)
    n, h, w, c = codes.shape
    shape = (n, *draws.window_output((h, w), kernel, window), c)
    y = len(draft.tensors)
    return draft.append([draws.output(shape, draft.affine(x))], build(x, y, kernel, window))


def _pad(draft: Draft, x: int) -> int:
    codes = draft.codes[x]
    if codes.size > MAX_ELEMENTS:
        return x
    padding = draft.rng.integers(0, 3, (4, 2), np.int32)
    padding[[0, 3]] = 0
    shape = tuple(int(v) for v in codes.shape + padding.sum(axis=1))
    k = len(draft.tensors)
    tensors = [constant("padding", padding), draws.output(shape, draft.affine(x))]
    return draft.append(tensors, tflite_builder.pad((x, k), k + 1))


def _rescale(draft: Draft, x: int) -> int:
    """The same numbers, or their positive part, in another quantisation."""
    name = str(draft.rng.choice(["none", "relu"]))
    affine = draws.fitted(draft.rng, draft.reals(x), False, name)
    build = tflite_builder.relu if name == "relu" else tflite_builder.quantize
    y = len(draft.tensors)
    return draft.append([draws.output(draft.codes[x].shape, affine)], build(x, y))


def _classifier(draft: Draft, x: int) -> None:
    """Logits, softmax."""
    logits = _logits(draft, x)
    shape = draft.codes[logits].shape
    probabilities = Tensor("y", shape, np.int8, 1 / 256, -128)
    draft.append([probabilities], tflite_builder.softmax(logits, len(draft.tensors), 1.0))


def _logits(draft: Draft, x: int) -> int:
    """Means or all positions, a fully connected layer."""
    rng = draft.rng
    flat = _mean(draft, x, keep_dims=False) if rng.random() < 0.5 else _flatten(draft, x)
    codes = draft.codes[flat]
    o = int(rng.integers(2, MAX_CHANNELS))
    source = (codes, draft.affine(flat))
    layer = weighted_cases.layer(rng, "full", source, (o, codes.shape[1]), 0, "none")
    layer = _biased(draft, layer, 0)
    tensors, indices = weighted_cases.layer_tensors(layer, (codes.shape[0], o), 0)
    inputs, y = _placed(draft, flat, indices)
    return draft.append(tensors[1:], tflite_builder.fully_connected(inputs, y))


def _mean(draft: Draft, x: int, keep_dims: bool) -> int:
    means = draft.reals(x).mean(axis=(1, 2), keepdims=keep_dims)
    affine = draws.fitted(draft.rng, means, False)
    k = len(draft.tensors)
    tensors = [constant("axes", np.array([1, 2], np.int32)), draws.output(means.shape, affine)]
    return draft.append(tensors, tflite_builder.mean((x, k), k + 1, keep_dims))


def _flatten(draft: Draft, x: int) -> int:
    n = draft.codes[x].shape[0]
    shape = (n, draft.codes[x].size // n)
    y = len(draft.tensors)
    return draft.append(
        [draws.output(shape, draft.affine(x))], tflite_builder.reshape((x,), y, shape)
    )


def _biased(draft: Draft, layer: Layer, axis: int) -> Layer:
    """The layer, with a bias of zeros where it has none and the draft wants one."""
    if not draft.biased or layer.bias is not None:
        return layer
    return layer._replace(bias=np.zeros(layer.weights.shape[axis], np.int32))


def _placed(draft: Draft, x: int, indices: tuple[int, ...]) -> tuple[tuple[int, ...], int]:
    """A layer's operands x, weights, bias and its output, as indices at the draft's end."""
    end = len(draft.tensors)
    constants = range(end, end + len(indices) - 1)
    return (x, *constants), end + len(constants)


LAYERS: Mapping[str, Callable[[Draft, int], int]] = {
    "convolution": _convolution,
    "depthwise": _depthwise,
    "sum": _sum,
    "gate": _gate,
    "pool": _pool,
    "pad": _pad,
    "rescale": _rescale,
}
