"""Layers whose sums leave every accumulator, on one side and back over the other.

Inputs, weights and zero points stand at the ends of int8, biases at the ends of int32.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from graphs import Draft
from naive import operators as naive
from naive.rounding import clamp

Step = Callable[[int, int], int]
LAYERS = {
    "conv2d": lambda draft, x: draft.conv2d(x, 4, (3, 2), groups=2, stride=(2, 1)),
    "depthwise_conv2d": lambda draft, x: draft.depthwise_conv2d(x, (2, 3), multiplier=2),
    "fully_connected": lambda draft, x: draft.fully_connected(x, 6, keep_dims=True),
}


def hostile(op, seed):
    """A layer on (1, 3, 4, 4), and two images for it."""
    rng = np.random.default_rng(seed)
    draft = Draft(seed)
    x = draft.input((1, 3, 4, 4), zero_point=int(rng.choice([-128, -1, 0, 127])))
    y = LAYERS[op](draft, x)
    weights, bias = draft.nodes[0].inputs[1:]
    shape = draft.tensors[weights].shape
    runs = rng.choice([-1, 1], (*shape[:-1], 1)) * np.ones(shape)
    signs = rng.choice([runs, rng.choice([-1, 1], shape)])
    codes = np.where(signs > 0, 127, -128) // rng.choice([1, 1, 16])
    sizes = rng.choice([0, 1 << 7, 1 << 15, 1 << 31], draft.tensors[bias].shape)
    starts = np.clip(sizes * rng.choice([-1, 1], sizes.shape), -(2**31), 2**31 - 1)
    draft.tensors[weights] = replace(draft.tensors[weights], data=codes.astype(np.int8))
    draft.tensors[bias] = replace(draft.tensors[bias], data=starts.astype(np.int32))
    images = rng.choice(np.array([-128, 127], np.int8), (2, 3, 4, 4))
    return draft.graph(y), images


def sums(graph, x, start: Step, step: Step):
    """Accumulators by the naive twin; `start` brings a bias into the accumulator."""
    node = graph.nodes[0]
    weights, bias = (graph.tensors[i].data for i in node.inputs[1:])
    first = [start(int(b), 0) for b in bias]
    zero_point = int(graph.tensors[0].quantization.zero_point[0])
    window = []
    if "stride" in node.attributes:
        window = [(node.attributes["stride"], node.attributes["dilation"], "SAME")]
    return getattr(naive, f"{node.op}_accumulators")(x, weights, first, zero_point, *window, step)


def wrapping(bits) -> Step:
    half = 1 << (bits - 1)
    return lambda total, product: (total + product + half) % (2 * half) - half


def saturating(bits) -> Step:
    return lambda total, product: clamp(total + product, -(1 << (bits - 1)), (1 << (bits - 1)) - 1)
