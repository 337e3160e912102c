"""Cases of the operators with weights: conv2d, depthwise_conv2d, fully_connected.

Five kinds of layer, drawn by `layer`:
* "full": weights use all of int8, channel scales lie within a factor of four;
* "spread": channel scales lie within a factor of 10^4, the weights' size goes against it;
* "hot": inputs near their zero point and few small weights, so most multipliers are above 1;
* "wrapping": as "hot", with multipliers so large that the left shift wraps, and no bias;
* "deep": multipliers from 2^-33 to 2^-10 and a bias that carries the output, up to wrapping.

What the output scale is chosen for is not clamping: the accumulator's deviation, known from the
codes, becomes 10 to 60 output codes, and the bias moves its mean into the activation's range.

TFLite Micro's limits: a fully connected layer with one weight scale and a bias needs
|s_x*s_w - s_bias| <= 0.02 s_y; multipliers of 2^31 and more are undefined; weight zero points are
ignored. LiteRT refuses a convolution without bias.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from . import draws, tflite_builder
from .draws import Affine, Drawn
from .tflite_builder import Tensor, constant

MAX_MACS = 150_000
MAX_CHANNELS = 33
MAX_KERNEL = 5
MAX_SIDE = 12
MAX_BATCH = 4
KINDS = ("full", "spread", "hot", "wrapping", "deep")
KIND_WEIGHTS = (0.5, 0.25, 0.13, 0.02, 0.1)
INT32_MAX = 2**31 - 1


class Layer(NamedTuple):
    """A drawn layer: codes, weights, bias (or None) and the quantisation of each.

    w_scale is (O,) per channel or (1,) per tensor.
    """

    x: NDArray[np.int8]
    weights: NDArray[np.int8]
    bias: NDArray[np.int32] | None
    x_affine: Affine
    w_scale: NDArray[np.float32]
    y_affine: Affine


def conv2d(rng: Generator) -> Drawn:
    """A convolution; every tenth one in groups."""
    while True:
        n, kernel, size = _image(rng)
        groups = int(rng.integers(2, 4)) if rng.random() < 0.1 else 1
        i = int(rng.integers(1, MAX_CHANNELS // groups, endpoint=True))
        o = groups * int(rng.integers(1, MAX_CHANNELS // groups, endpoint=True))
        walk = draws.window(rng, size, kernel, dilated=True)
        if walk is None:
            continue
        oh, ow = draws.window_output(size, kernel, walk)
        if n * oh * ow * o * kernel[0] * kernel[1] * i <= MAX_MACS:
            break
    name = draws.activation(rng)
    drawn = _layer(rng, (n, *size, i * groups), (o, *kernel, i), 0, name)
    tensors, indices = layer_tensors(drawn, (n, oh, ow, o), 0)
    operation = tflite_builder.conv_2d(indices, len(indices), walk, name)
    arguments = _arguments(drawn) | {"window": tuple(walk), "activation": name}
    return Drawn(tensors, operation, (drawn.x,), arguments)


def depthwise_conv2d(rng: Generator) -> Drawn:
    """A depthwise convolution; three of ten with a channel multiplier of 2 to 4."""
    while True:
        n, kernel, size = _image(rng)
        c = int(rng.integers(1, MAX_CHANNELS, endpoint=True))
        m = int(rng.integers(2, 5)) if rng.random() < 0.3 else 1
        walk = draws.window(rng, size, kernel, dilated=True)
        if walk is None:
            continue
        oh, ow = draws.window_output(size, kernel, walk)
        if n * oh * ow * c * m * kernel[0] * kernel[1] <= MAX_MACS:
            break
    name = draws.activation(rng)
    drawn = _layer(rng, (n, *size, c), (1, *kernel, c * m), 3, name)
    tensors, indices = layer_tensors(drawn, (n, oh, ow, c * m), 3)
    operation = tflite_builder.depthwise_conv_2d(indices, len(indices), walk, m, name)
    arguments = _arguments(drawn) | {"window": tuple(walk), "activation": name}
    return Drawn(tensors, operation, (drawn.x,), arguments)


def fully_connected(rng: Generator) -> Drawn:
    """A fully connected layer on x of rank 2 to 4."""
    rows = tuple(int(v) for v in rng.integers(1, MAX_BATCH, rng.integers(1, 4), endpoint=True))
    i = round(draws.log_uniform(rng, 1, 400))
    o = int(rng.integers(1, MAX_CHANNELS, endpoint=True))
    keep_dims = bool(rng.random() < 0.5)
    name = draws.activation(rng)
    drawn = _layer(rng, (*rows, i), (o, i), 0, name)
    shape = (*rows, o) if keep_dims else (math.prod(rows), o)
    tensors, indices = layer_tensors(drawn, shape, 0)
    operation = tflite_builder.fully_connected(indices, len(indices), keep_dims, name)
    arguments = _arguments(drawn) | {"keep_dims": keep_dims, "activation": name}
    return Drawn(tensors, operation, (drawn.x,), arguments)


def _image(rng: Generator) -> tuple[int, tuple[int, int], tuple[int, int]]:
    """(N, (KH, KW), (H, W)); a quarter of the kernels are 1x1."""
    n = int(rng.integers(1, MAX_BATCH + 1))
    kernel = (1, 1) if rng.random() < 0.25 else draws.pair(rng, MAX_KERNEL)
    return n, kernel, draws.pair(rng, MAX_SIDE)


def layer(
    rng: Generator,
    kind: str,
    source: tuple[NDArray[np.int8], Affine],
    w_shape: tuple[int, ...],
    axis: int,
    activation: str,
) -> Layer:
    """Draw weights, bias and quantisation for given input codes.

    `axis` is the weights' output channel; a simple input scale makes all scales simple.
    """
    x, x_affine = source
    ties = draws.is_simple(x_affine.scale)
    biased = kind == "deep" or (kind != "wrapping" and bool(rng.random() < 0.8))
    y_affine = _output_affine(rng, activation, ties, biased)
    level = _channel_levels(rng, kind, w_shape[axis])
    weights = _weights(rng, kind, w_shape, axis, level)
    multiplier = _multipliers(rng, kind, level, _deviations(x, x_affine, weights, axis))
    w_scale = (multiplier * y_affine.scale / x_affine.scale).astype(np.float32)
    if ties:
        w_scale = np.array([draws.simple(rng, scale) for scale in w_scale], np.float32)
    per_output = np.broadcast_to(w_scale / y_affine.scale * x_affine.scale, w_shape[axis])
    bias = _bias(rng, activation, per_output, y_affine) if biased else None
    return Layer(x, weights, bias, x_affine, w_scale, y_affine)


def layer_tensors(
    drawn: Layer, y_shape: tuple[int, ...], axis: int
) -> tuple[list[Tensor], tuple[int, ...]]:
    """The file's tensors x, weights, perhaps bias, y; and the indices of all but y."""
    weights = constant("weights", drawn.weights, drawn.w_scale)._replace(axis=axis)
    tensors = [draws.tensor("x", drawn.x, drawn.x_affine), weights]
    if drawn.bias is not None:
        bias_scale = (drawn.x_affine.scale * drawn.w_scale.astype(np.float64)).astype(np.float32)
        tensors.append(constant("bias", drawn.bias, bias_scale))
    indices = tuple(range(len(tensors)))
    return [*tensors, draws.output(y_shape, drawn.y_affine)], indices


def _layer(
    rng: Generator, x_shape: tuple[int, ...], w_shape: tuple[int, ...], axis: int, activation: str
) -> Layer:
    """Draw everything but the geometry."""
    kind = str(rng.choice(KINDS, p=KIND_WEIGHTS))
    x_affine = draws.affine(rng, bool(rng.random() < draws.TIES))
    if kind in ("hot", "wrapping"):
        x = draws.codes_near(rng, x_shape, x_affine.zero_point, 2)
    else:
        x = draws.codes(rng, x_shape, x_affine.zero_point)
    return layer(rng, kind, (x, x_affine), w_shape, axis, activation)


def _output_affine(rng: Generator, activation: str, ties: bool, biased: bool) -> Affine:
    """Output quantisation with room for the activation's range; central without a bias."""
    low = draws.ACTIVATION_BOUNDS[activation][0]
    codes = (60, 400) if low == 0 else (30, 200)
    scale = draws.bounded_scale(rng, activation, ties, codes)
    if low == 0:
        zero_point = rng.choice([-128, 127, _between(rng, -128, 40)], p=[0.4, 0.1, 0.5])
        return Affine(scale, int(zero_point))
    if math.isfinite(low) or not biased:
        return Affine(scale, _between(rng, -60, 60))
    return Affine(scale, draws.zero_point(rng))


def _channel_levels(rng: Generator, kind: str, channels: int) -> NDArray[np.float64]:
    """Relative scale of each channel, (O,); (1,) for a layer quantised per tensor."""
    if rng.random() < 0.25:
        return np.ones(1)
    reach = 2.0 if kind == "spread" else 0.3
    return 10 ** rng.uniform(-reach, reach, channels)


def _weights(
    rng: Generator, kind: str, shape: tuple[int, ...], axis: int, level: NDArray[np.float64]
) -> NDArray[np.int8]:
    """Weight codes; in "spread" their size falls as their channel's scale grows."""
    if kind in ("hot", "wrapping"):
        return (rng.integers(-1, 2, shape) * (rng.random(shape) < 0.5)).astype(np.int8)
    if kind != "spread":
        low = -128 if rng.random() < 0.1 else -127
        return rng.integers(low, 128, shape).astype(np.int8)
    by_axis = [-1 if i == axis else 1 for i in range(len(shape))]
    wanted = np.clip(11 / level, 0.02, 127).reshape(by_axis)
    size = np.maximum(np.rint(wanted), 1)
    dense = np.rint(rng.uniform(-1, 1, shape) * size)
    return (dense * (rng.random(shape) < wanted)).astype(np.int8)


def _deviations(
    x: NDArray[np.int8], x_affine: Affine, weights: NDArray[np.int8], axis: int
) -> NDArray[np.float64]:
    """Standard deviation of each channel's accumulator, (O,), as if codes were independent."""
    by_channel = np.moveaxis(weights, axis, 0).reshape(weights.shape[axis], -1).astype(np.float64)
    squares = (by_channel**2).sum(axis=1)
    power = ((x.astype(np.float64) - x_affine.zero_point) ** 2).mean()
    return np.maximum(np.sqrt(squares * power), 1.0)


def _multipliers(
    rng: Generator, kind: str, level: NDArray[np.float64], deviation: NDArray[np.float64]
) -> NDArray[np.float64]:
    """M of each channel: the median channel's deviation becomes 10 to 60 output codes."""
    if kind == "deep":
        return np.exp2(-rng.uniform(10, 33, level.shape))
    if kind == "wrapping":
        return np.exp2(rng.uniform(8, 30, level.shape))
    return level * rng.uniform(10, 60) / np.median(level * deviation)


def _bias(
    rng: Generator, activation: str, multiplier: NDArray[np.float32], y_affine: Affine
) -> NDArray[np.int32]:
    """A bias (O,) that moves each channel's mean to somewhere inside the activation's range."""
    low, high = draws.ACTIVATION_BOUNDS[activation]
    scale, zero_point = y_affine
    low_code = max(-128.0, zero_point + low / scale)
    high_code = max(min(127.0, zero_point + high / scale), low_code + 1)
    codes = rng.uniform(low_code, high_code, multiplier.shape) - zero_point
    real = codes / multiplier.astype(np.float64)
    return np.clip(np.rint(real), -INT32_MAX, INT32_MAX).astype(np.int32)


def _arguments(drawn: Layer) -> dict[str, object]:
    return {
        "x": drawn.x,
        "weights": drawn.weights,
        "bias": drawn.bias,
        "quantization": (drawn.x_affine, drawn.w_scale.tolist(), drawn.y_affine),
    }


def _between(rng: Generator, low: int, high: int) -> int:
    return int(rng.integers(low, high, endpoint=True))
