"""Drawn layers of the weighted operators: input, weights, bias, geometry and tail, by seed."""

import numpy as np
from kernels import drawn


def bias(rng, o):
    """Small biases, and some near the ends of int32, where sums wrap."""
    small = rng.integers(-(2**14), 2**14, o)
    large = rng.choice([-(2**31), 2**31 - 1], o)
    return np.where(rng.random(o) < 0.2, large, small).astype(np.int32)


def conv2d(seed):
    rng = np.random.default_rng(seed)
    groups, inputs, outputs = (int(v) for v in rng.integers(1, (4, 12, 9)))
    g = drawn.conv2d(rng, groups, inputs, outputs)
    weights = drawn.codes(rng, (g.o, g.kh, g.kw, inputs))
    x = drawn.codes(rng, (g.n, g.h, g.w, g.c))
    return x, weights, bias(rng, g.o), g, drawn.requantization(rng, g.o)


def depthwise_conv2d(seed):
    rng = np.random.default_rng(seed)
    channels, repeats = (int(v) for v in rng.integers(1, (40, 4)))
    g = drawn.conv2d(rng, channels, 1, repeats)._replace(groups=1)
    weights = drawn.codes(rng, (1, g.kh, g.kw, g.o))
    x = drawn.codes(rng, (g.n, g.h, g.w, g.c))
    return x, weights, bias(rng, g.o), g, drawn.requantization(rng, g.o)


def fully_connected(seed):
    rng = np.random.default_rng(seed)
    g = drawn.fully_connected(rng)
    x, weights = drawn.codes(rng, (g.n, g.i)), drawn.codes(rng, (g.o, g.i))
    return x, weights, bias(rng, g.o), g, drawn.requantization(rng, g.o)


LAYERS = {
    "conv2d": conv2d,
    "depthwise_conv2d": depthwise_conv2d,
    "fully_connected": fully_connected,
}
