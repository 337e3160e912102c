"""The digit reader in float: its layers, gradients and training loop, NumPy only.

image 8x8x1 -> stem conv 3x3 -> down conv 3x3 stride 2 -> depthwise 3x3 -> pointwise 1x1, each with
relu, -> mean over the map -> head, 10 logits. Training is stochastic gradient descent with
momentum, weight decay on weights and a rate that falls as a cosine to zero.
"""

import math
from typing import NamedTuple

import numpy as np

from .float_layers import conv, conv_gradient, cross_entropy, depthwise, depthwise_gradient

MOMENTUM = 0.9
GRID = 2.0**20


class Layer(NamedTuple):
    """A layer before the mean: its name, operator, weight shape and stride."""

    name: str
    op: str
    shape: tuple[int, int, int, int]
    stride: int


LAYERS = (
    Layer("stem", "conv2d", (24, 3, 3, 1), 1),
    Layer("down", "conv2d", (48, 3, 3, 24), 2),
    Layer("depthwise", "depthwise_conv2d", (1, 3, 3, 48), 1),
    Layer("pointwise", "conv2d", (64, 1, 1, 48), 1),
)
CLASSES = 10


class Parameters(NamedTuple):
    """Weights and biases, float64, by layer name; "head" is (10, 64)."""

    weights: dict[str, np.ndarray]
    biases: dict[str, np.ndarray]


class Recipe(NamedTuple):
    """What training depends on besides the images; chosen on the validation part."""

    seed: int = 1
    epochs: int = 60
    batch: int = 32
    rate: float = 0.05
    decay: float = 3e-4


def initialise(random: np.random.RandomState) -> Parameters:
    """Normal weights of variance 2 / fan-in (head: 1 / fan-in), zero biases."""
    weights, biases = {}, {}
    for layer in LAYERS:
        fan_in = math.prod(layer.shape[1:3]) * (layer.shape[3] if layer.op == "conv2d" else 1)
        weights[layer.name] = random.standard_normal(layer.shape) * math.sqrt(2.0 / fan_in)
        outputs = layer.shape[0] if layer.op == "conv2d" else layer.shape[3]
        biases[layer.name] = np.zeros(outputs)
    features = LAYERS[-1].shape[0]
    weights["head"] = random.standard_normal((CLASSES, features)) / math.sqrt(features)
    biases["head"] = np.zeros(CLASSES)
    return Parameters(weights, biases)


def forward(p: Parameters, x: np.ndarray) -> tuple[list[np.ndarray], np.ndarray, np.ndarray]:
    """Run the network.

    x         (N, 8, 8, 1) in 0..1
    returns   the input and every layer's output after relu, the mean (N, 64), the logits (N, 10)
    """
    values = [x]
    for layer in LAYERS:
        operator = conv if layer.op == "conv2d" else depthwise
        y = operator(values[-1], p.weights[layer.name], p.biases[layer.name], layer.stride)
        values.append(np.maximum(y, 0.0))
    mean = values[-1].mean((1, 2))
    return values, mean, mean @ p.weights["head"].T + p.biases["head"]


def gradient(p: Parameters, x: np.ndarray, labels: np.ndarray) -> tuple[float, Parameters]:
    """Mean cross-entropy of a batch and its gradient in every parameter."""
    values, mean, logits = forward(p, x)
    loss, dlogits = cross_entropy(logits, labels)
    weights, biases = {"head": dlogits.T @ mean}, {"head": dlogits.sum(0)}
    cells = math.prod(values[-1].shape[1:3])
    dy = (dlogits @ p.weights["head"])[:, None, None, :] / cells
    for layer, x, y in reversed(list(zip(LAYERS, values[:-1], values[1:], strict=True))):
        dy = dy * (y > 0)
        operator = conv_gradient if layer.op == "conv2d" else depthwise_gradient
        dy, dw, db = operator(x, p.weights[layer.name], layer.stride, dy)
        weights[layer.name], biases[layer.name] = dw, db
    return loss, Parameters(weights, biases)


def train(x: np.ndarray, labels: np.ndarray, recipe: Recipe) -> Parameters:
    """Train from scratch on x (N, 8, 8, 1) in 0..1 and labels (N,).

    After every epoch all parameters are rounded to multiples of 2**-20: differences in the last
    bits of a sum, such as another BLAS makes, are wiped out before they can grow, so the int8
    network comes out the same on other machines.
    """
    random = np.random.RandomState(recipe.seed)  # its streams are frozen across NumPy versions
    p = initialise(random)
    speed = Parameters(*({k: np.zeros_like(v) for k, v in part.items()} for part in p))
    steps = len(labels) // recipe.batch
    for epoch in range(recipe.epochs):
        order = random.permutation(len(labels))
        for step in range(steps):
            rows = order[step * recipe.batch : (step + 1) * recipe.batch]
            done = (epoch * steps + step) / (recipe.epochs * steps)
            rate = recipe.rate * 0.5 * (1.0 + math.cos(math.pi * done))
            descend(p, speed, gradient(p, x[rows], labels[rows])[1], rate, recipe.decay)
        for part in p:
            for values in part.values():
                values[...] = np.rint(values * GRID) / GRID
    return p


def descend(p: Parameters, speed: Parameters, g: Parameters, rate: float, decay: float) -> None:
    """In place: ``speed = 0.9 speed + g + decay w``, ``w -= rate speed``; biases do not decay."""
    for values, speeds, slopes, pull in zip(p, speed, g, (decay, 0.0), strict=True):
        for name, value in values.items():
            speeds[name] *= MOMENTUM
            speeds[name] += slopes[name] + pull * value
            value -= rate * speeds[name]
