"""A small MobileNet: every block that mobile vision networks are made of, once or twice.

uint8 image -> quantize -> convolution -> inverted residuals (one with a sum, one with squeeze and
excite, one with a padded stride) -> pools -> mean -> fully connected -> softmax -> real numbers.
Layers are fitted to the codes TFLite Micro computes for the layers before, so all of them live.
"""

from __future__ import annotations

import numpy as np

from . import draws, tflite_builder, weighted_cases
from .draws import Affine
from .networks import Draft, Network
from .tflite_builder import Tensor, Window, constant

SIDE = 24
CLASSES = 10
EXPANSION = 3
ALIVE = 20  # different codes of a layer
SAME, STRIDED = Window((1, 1), (1, 1), "SAME"), Window((2, 2), (1, 1), "SAME")
STRIDED_VALID = Window((2, 2), (1, 1), "VALID")


def mobile_network(seed: int) -> Network:
    """The network with weights drawn from the seed, and an image to run it on."""
    rng = np.random.default_rng([0x6D6F62, seed])
    draft = Draft(rng)
    image = rng.integers(0, 256, (1, SIDE, SIDE, 3), np.uint8)
    draft.codes[0] = image
    draft.tensors.append(draws.tensor("x", image, Affine(draws.float32(1 / 128), 128)))
    x = _convolution(draft, _requantized(draft, 0), (16, 3), STRIDED, "relu6")
    x = _convolution(draft, _depthwise(draft, x, SAME), (8, 1))
    x = _sum(draft, x, _inverted(draft, x, 8, SAME))
    x = _inverted(draft, x, 12, STRIDED)
    x = _sum(draft, _gated(draft, x), x)
    x = _inverted(draft, _pool(draft, x, "max"), 16, STRIDED_VALID, padded=True)
    x = _pool(draft, x, "average")
    _classifier(draft, x)
    names = [tflite_builder.operator_name(operation) for operation in draft.operations]
    return Network(seed, draft.model(), image, f"mobile_network({seed}): {' '.join(names)}")


def _inverted(draft: Draft, x: int, outputs: int, window: Window, padded: bool = False) -> int:
    """Expand, convolve by channel, project."""
    x = _convolution(draft, x, (EXPANSION * draft.codes[x].shape[3], 1), SAME, "relu6")
    x = _depthwise(draft, _padded(draft, x) if padded else x, window)
    return _convolution(draft, x, (outputs, 1))


def _convolution(
    draft: Draft, x: int, size: tuple[int, int], window: Window = SAME, activation: str = "none"
) -> int:
    """A convolution with (outputs, kernel) = size."""
    outputs, kernel = size
    shape = (outputs, kernel, kernel, draft.codes[x].shape[3])
    return _weighted(draft, x, shape, window, activation)


def _depthwise(draft: Draft, x: int, window: Window) -> int:
    return _weighted(draft, x, (1, 3, 3, draft.codes[x].shape[3]), window, "relu6")


def _weighted(draft: Draft, x: int, shape: tuple[int, ...], window: Window, activation: str) -> int:
    """A convolution, by channel if its weights are (1, KH, KW, C); drawn until it lives."""
    axis = 3 if shape[0] == 1 else 0
    source = (draft.codes[x], draft.affine(x))
    n, h, w, _ = draft.codes[x].shape
    output = draws.window_output((h, w), (shape[1], shape[2]), window)
    first = len(draft.tensors)
    while True:
        layer = weighted_cases.layer(draft.rng, "full", source, shape, axis, activation)
        tensors, indices = weighted_cases.layer_tensors(layer, (n, *output, shape[axis]), axis)
        y = first + len(indices) - 1
        inputs = (x, *range(first, y))
        if axis == 3:
            operation = tflite_builder.depthwise_conv_2d(inputs, y, window, 1, activation)
        else:
            operation = tflite_builder.conv_2d(inputs, y, window, activation)
        draft.append(tensors[1:], operation)
        if len(np.unique(draft.codes[y])) >= min(ALIVE, draft.codes[y].size // 2):
            return y
        del draft.tensors[first:], draft.operations[-1]


def _requantized(draft: Draft, x: int) -> int:
    """uint8 -> int8 of the same numbers."""
    scale, zero_point = draft.affine(x)
    output = draws.output(draft.codes[x].shape, Affine(scale, zero_point - 128))
    return draft.append([output], tflite_builder.quantize(x, len(draft.tensors)))


def _sum(draft: Draft, a: int, b: int) -> int:
    reals = draft.reals(a) + draft.reals(b)
    output = draws.output(reals.shape, draws.fitted(draft.rng, reals, False))
    return draft.append([output], tflite_builder.add((a, b), len(draft.tensors)))


def _gated(draft: Draft, x: int) -> int:
    """x times what two 1x1 convolutions make of its channel means."""
    channels = draft.codes[x].shape[3]
    gate = _convolution(draft, _mean(draft, x, True), (4, 1), SAME, "relu")
    gate = _convolution(draft, gate, (channels, 1), SAME, "relu6")
    reals = draft.reals(x) * draft.reals(gate)
    output = draws.output(reals.shape, draws.fitted(draft.rng, reals, False))
    return draft.append([output], tflite_builder.mul((x, gate), len(draft.tensors)))


def _padded(draft: Draft, x: int) -> int:
    """One row and one column of zeros after the image, as PyTorch exports a strided block."""
    padding = np.array([[0, 0], [0, 1], [0, 1], [0, 0]], np.int32)
    n, h, w, c = draft.codes[x].shape
    tensors = [constant("padding", padding), draws.output((n, h + 1, w + 1, c), draft.affine(x))]
    k = len(draft.tensors)
    return draft.append(tensors, tflite_builder.pad((x, k), k + 1))


def _pool(draft: Draft, x: int, kind: str) -> int:
    """2x2 maxima at stride 1, or 3x3 means that reach into the padding."""
    n, h, w, c = draft.codes[x].shape
    output = draws.output((n, h, w, c), draft.affine(x))
    y = len(draft.tensors)
    if kind == "max":
        return draft.append([output], tflite_builder.max_pool_2d(x, y, (2, 2), SAME))
    return draft.append([output], tflite_builder.average_pool_2d(x, y, (3, 3), SAME))


def _mean(draft: Draft, x: int, keep_dims: bool) -> int:
    means = draft.reals(x).mean(axis=(1, 2), keepdims=keep_dims)
    output = draws.output(means.shape, draws.fitted(draft.rng, means, False))
    k = len(draft.tensors)
    axes = constant("axes", np.array([1, 2], np.int32))
    return draft.append([axes, output], tflite_builder.mean((x, k), k + 1, keep_dims))


def _classifier(draft: Draft, x: int) -> None:
    features = _mean(draft, x, False)
    codes = draft.codes[features]
    source = (codes, draft.affine(features))
    layer = weighted_cases.layer(draft.rng, "full", source, (CLASSES, codes.shape[1]), 0, "none")
    tensors, indices = weighted_cases.layer_tensors(layer, (1, CLASSES), 0)
    first = len(draft.tensors)
    logits = first + len(indices) - 1
    inputs = (features, *range(first, logits))
    draft.append(tensors[1:], tflite_builder.fully_connected(inputs, logits))
    likely = Tensor("likely", (1, CLASSES), np.int8, 1 / 256, -128)
    softmax = draft.append([likely], tflite_builder.softmax(logits, logits + 1, 1.0))
    reals = Tensor("y", (1, CLASSES), np.float32)
    draft.append([reals], tflite_builder.dequantize(softmax, softmax + 1))
