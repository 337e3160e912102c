"""How a profile computes M = s_x * s_w / s_y, shown by accumulators that tell three ways apart.

The sums of products are zero: the bias is the accumulator, chosen next to a tie of acc * M such
that M in double, with a product in float32, or all in float32 give different codes.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import pytest
from numpy.random import Generator
from oracles import litert, tflite_builder, tflm
from oracles.tflite_builder import Operation, Tensor, Window, constant

from fuzz.agreement import EXECUTORS, difference, open_session, parsed

CHANNELS = 8
SEEDS = range(30)
MODES = {"tflm": "", "litert-ref": "ref", "litert-x86": "x86", "xnnpack": "xnnpack"}


class Layer(NamedTuple):
    """A weighted operator on zeros: shapes of x, weights and y, and how it is built."""

    x: tuple[int, ...]
    weights: tuple[int, ...]
    y: tuple[int, ...]
    axis: int
    operation: Operation


MAP, OPERANDS = (1, 1, 1, CHANNELS), (0, 1, 2)
LAYERS = {
    "conv2d": Layer((1, 1, 1, 4), (CHANNELS, 1, 1, 4), MAP, 0,
                    tflite_builder.conv_2d(OPERANDS, 3, Window())),
    "depthwise_conv2d": Layer(MAP, MAP, MAP, 3,
                              tflite_builder.depthwise_conv_2d(OPERANDS, 3, Window(), 1)),
    "fully_connected": Layer((1, 4), (CHANNELS, 4), (1, CHANNELS), 0,
                             tflite_builder.fully_connected(OPERANDS, 3)),
}  # fmt: skip


def three_ways(x: np.float32, w: np.float32, y: np.float32) -> tuple[float, float, float]:
    """M in double; with its product in float32; all in float32."""
    return float(x) * float(w) / float(y), float(x * w) / float(y), float(x * w / y)


def telling_accumulator(rng: Generator, ways: tuple[float, float, float]) -> tuple[int, bool]:
    """An accumulator that different ways bring to different sides of a tie; else any."""
    acc = 0
    for code in rng.integers(-120, 120, 60).tolist():
        acc = min(max(round((code + 0.5) / ways[0]), -(2**31)), 2**31 - 1)
        if len({math.floor(acc * m + 0.5) for m in ways}) > 1:
            return acc, True
    return acc, False


def drawn(layer: Layer, seed: int, per_channel: bool) -> tuple[bytes, int]:
    """A model, and the number of its channels that tell ways apart."""
    rng = np.random.default_rng(seed)
    x, y = (np.float32(np.exp(rng.uniform(-6, top))) for top in (0, 1))
    w = np.exp(rng.uniform(-11, -7, CHANNELS if per_channel else 1)).astype(np.float32)
    found = [telling_accumulator(rng, three_ways(x, w[o % len(w)], y)) for o in range(CHANNELS)]
    bias = np.array([acc for acc, _ in found], np.int32)
    weights = constant("weights", np.zeros(layer.weights, np.int8), w)._replace(axis=layer.axis)
    tensors = [
        Tensor("x", layer.x, np.int8, float(x), 0),
        weights,
        constant("bias", bias, x * w),
        Tensor("y", layer.y, np.int8, float(y), 0),
    ]
    return tflite_builder.model(tensors, [layer.operation]), sum(tells for _, tells in found)


@pytest.mark.parametrize("profile", MODES)
@pytest.mark.parametrize("per_channel", [True, False], ids=["channels", "tensor"])
@pytest.mark.parametrize("op", LAYERS)
def test_multiplier_is_computed_as_the_reference_does(
    op: str, per_channel: bool, profile: str
) -> None:
    layer, telling = LAYERS[op], 0
    x = np.zeros(layer.x, np.int8)
    for seed in SEEDS:
        model, tells = drawn(layer, seed, per_channel)
        telling += tells
        mode = MODES[profile]
        (expected,) = litert.run(model, [x], mode) if mode else tflm.run(model, [x])
        for executor in EXECUTORS:
            actual = open_session(parsed(model, op, profile), executor).run(x)
            assert isinstance(actual, np.ndarray)
            assert difference(actual, expected) is None, f"{executor}, seed {seed}"
    assert telling > 3 * len(SEEDS)
