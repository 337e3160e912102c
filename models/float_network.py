"""Two small networks in float: their layers, gradients and training loop, NumPy only.

image -> stem conv 3x3 -> down conv 3x3 stride 2 -> depthwise 3x3 -> pointwise 1x1, each with relu,
-> mean over the map -> head, logits. In SMALL the stem and the depthwise have stride 2 as well.
Training is stochastic gradient descent with momentum, weight decay on weights and a rate that falls
as a cosine to zero.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from .float_layers import (
    conv,
    conv_gradient,
    conv_slopes,
    cross_entropy,
    depthwise,
    depthwise_gradient,
)

MOMENTUM = 0.9
GRID = 2.0**20


class Layer(NamedTuple):
    """A layer before the mean: its name, operator, weight shape and stride."""

    name: str
    op: str
    shape: tuple[int, int, int, int]
    stride: int


class Network(NamedTuple):
    """A network: its name, the image (H, W, C) it takes, its layers before the mean, its logits."""

    name: str
    image: tuple[int, int, int]
    layers: tuple[Layer, ...]
    classes: int = 10

    @property
    def features(self) -> int:
        """What the head reads."""
        return self.layers[-1].shape[0]


DIGITS = Network(
    "digits_cnn",
    (8, 8, 1),
    (
        Layer("stem", "conv2d", (24, 3, 3, 1), 1),
        Layer("down", "conv2d", (48, 3, 3, 24), 2),
        Layer("depthwise", "depthwise_conv2d", (1, 3, 3, 48), 1),
        Layer("pointwise", "conv2d", (64, 1, 1, 48), 1),
    ),
)
SMALL = Network(
    "small_cnn",
    (32, 32, 3),
    (
        Layer("stem", "conv2d", (12, 3, 3, 3), 2),
        Layer("down", "conv2d", (24, 3, 3, 12), 2),
        Layer("depthwise", "depthwise_conv2d", (1, 3, 3, 24), 2),
        Layer("pointwise", "conv2d", (64, 1, 1, 24), 1),
    ),
)
"""For colour pictures; a forward is 278,000 multiply-accumulates, the digit reader's 236,000."""


class Parameters(NamedTuple):
    """Weights and biases, float64, by layer name; "head" is (classes, features)."""

    weights: dict[str, np.ndarray]
    biases: dict[str, np.ndarray]


class Recipe(NamedTuple):
    """What training depends on besides the images; chosen on the validation part."""

    seed: int = 1
    epochs: int = 60
    batch: int = 32
    rate: float = 0.05
    decay: float = 3e-4


def initialise(random: np.random.RandomState, net: Network = DIGITS) -> Parameters:
    """Normal weights of variance 2 / fan-in (head: 1 / fan-in), zero biases."""
    weights, biases = {}, {}
    for layer in net.layers:
        fan_in = math.prod(layer.shape[1:3]) * (layer.shape[3] if layer.op == "conv2d" else 1)
        weights[layer.name] = random.standard_normal(layer.shape) * math.sqrt(2.0 / fan_in)
        outputs = layer.shape[0] if layer.op == "conv2d" else layer.shape[3]
        biases[layer.name] = np.zeros(outputs)
    head = (net.classes, net.features)
    weights["head"] = random.standard_normal(head) / math.sqrt(net.features)
    biases["head"] = np.zeros(net.classes)
    return Parameters(weights, biases)


def forward(
    p: Parameters, x: np.ndarray, net: Network = DIGITS
) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Run the network.

    x         (N, H, W, C) in 0..1
    returns   the input and every layer's output after relu, the mean (N, features), the logits
              (N, classes)
    """
    values = [x]
    for layer in net.layers:
        operator = conv if layer.op == "conv2d" else depthwise
        y = operator(values[-1], p.weights[layer.name], p.biases[layer.name], layer.stride)
        values.append(np.maximum(y, 0.0))
    mean = values[-1].mean((1, 2))
    return values, mean, mean @ p.weights["head"].T + p.biases["head"]


def gradient(
    p: Parameters, x: np.ndarray, labels: np.ndarray, net: Network = DIGITS
) -> tuple[float, Parameters]:
    """Mean cross-entropy of a batch and its gradient in every parameter."""
    values, mean, logits = forward(p, x, net)
    loss, dlogits = cross_entropy(logits, labels)
    weights, biases = {"head": dlogits.T @ mean}, {"head": dlogits.sum(0)}
    cells = math.prod(values[-1].shape[1:3])
    dy = (dlogits @ p.weights["head"])[:, None, None, :] / cells
    for layer, x, y in reversed(list(zip(net.layers, values[:-1], values[1:], strict=True))[1:]):
        operator = conv_gradient if layer.op == "conv2d" else depthwise_gradient
        dy, dw, db = operator(x, p.weights[layer.name], layer.stride, dy * (y > 0))
        weights[layer.name], biases[layer.name] = dw, db
    name, stride = net.layers[0].name, net.layers[0].stride
    weights[name], biases[name] = conv_slopes(values[0], p.weights[name], stride,
                                              dy * (values[1] > 0))  # fmt: skip
    return loss, Parameters(weights, biases)


def train(
    x: np.ndarray,
    labels: np.ndarray,
    recipe: Recipe,
    net: Network = DIGITS,
    progress: Callable[[int, int], None] | None = None,
) -> Parameters:
    """Train from scratch on x (N, H, W, C) in 0..1 and labels (N,).

    After every epoch all parameters are rounded to multiples of 2**-20: differences in the last
    bits of a sum, such as another BLAS makes, are wiped out before they can grow, so the int8
    network comes out the same on other machines.
    progress   called with epochs done and in all
    """
    random = np.random.RandomState(recipe.seed)  # its streams are frozen across NumPy versions
    p = initialise(random, net)
    speed = Parameters(*({k: np.zeros_like(v) for k, v in part.items()} for part in p))
    steps = len(labels) // recipe.batch
    for epoch in range(recipe.epochs):
        order = random.permutation(len(labels))
        for step in range(steps):
            rows = order[step * recipe.batch : (step + 1) * recipe.batch]
            done = (epoch * steps + step) / (recipe.epochs * steps)
            rate = recipe.rate * 0.5 * (1.0 + math.cos(math.pi * done))
            descend(p, speed, gradient(p, x[rows], labels[rows], net)[1], rate, recipe.decay)
        round_to_grid(p)
        if progress is not None:
            progress(epoch + 1, recipe.epochs)
    return p


def descend(p: Parameters, speed: Parameters, g: Parameters, rate: float, decay: float) -> None:
    """In place: ``speed = 0.9 speed + g + decay w``, ``w -= rate speed``; biases do not decay."""
    for values, speeds, slopes, pull in zip(p, speed, g, (decay, 0.0), strict=True):
        for name, value in values.items():
            speeds[name] *= MOMENTUM
            speeds[name] += slopes[name] + pull * value
            value -= rate * speeds[name]


def round_to_grid(p: Parameters) -> None:
    """In place: every parameter to the nearest multiple of 2**-20."""
    for part in p:
        for values in part.values():
            values[...] = np.rint(values * GRID) / GRID
