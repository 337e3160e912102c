"""One weighted layer of every kind that Neural-ART makes otherwise, with random codes and scales.

A kind is an operator with its kernel, channels and window. Parameters by the rules come from the
naive twin, from the layer's own scales and weights; npusim has no part in them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from naive import neural_art as naive
from numpy.random import Generator

from npusim.graph import ABSENT, Graph, Node, Quantization, Tensor
from npusim.shapes import output_shape

CONV, DEPTHWISE, DENSE = "conv2d", "depthwise_conv2d", "fully_connected"
ROWS, COLUMNS, CHANNELS = 3, 6, 128  # the most that a pass takes


@dataclass(frozen=True)
class Kind:
    """A layer.

    kernel, size   height and width of the kernel and of the image
    outputs        channels that come out
    one_scale      weights with one scale for all channels
    """

    op: str
    kernel: tuple[int, int] = (1, 1)
    channels: int = 3
    outputs: int = 3
    size: tuple[int, int] = (4, 4)
    stride: tuple[int, int] = (1, 1)
    dilation: tuple[int, int] = (1, 1)
    groups: int = 1
    padding: str = "same"
    one_scale: bool = False

    @property
    def depth(self) -> int:
        """Input channels of an output."""
        return 1 if self.op == DEPTHWISE else self.channels // self.groups

    @property
    def name(self) -> str:
        """conv2d_5x5_3to2, and what is unusual"""
        unusual = [f"{field}_{getattr(self, field)}" for field in ("groups", "padding", "one_scale")
                   if getattr(self, field) != getattr(Kind(self.op), field)]  # fmt: skip
        unusual += [f"{field}_{'x'.join(map(str, getattr(self, field)))}"
                    for field in ("size", "stride", "dilation")
                    if getattr(self, field) != getattr(Kind(self.op), field)]  # fmt: skip
        kernel = "x".join(map(str, self.kernel))
        return "_".join([self.op, kernel, f"{self.channels}to{self.outputs}", *unusual])


DEEP = (127, 128, 129, 255, 256, 257)
WIDE = ((1, 3), (3, 1), (2, 2), (3, 3), (4, 6), (6, 4), (5, 5), (3, 7), (7, 3), (1, 7), (7, 1),
        (7, 7), (2, 13), (13, 2), (9, 9))  # fmt: skip
PLAIN = [
    *(Kind(CONV, (1, 1), i, 2, (2, 1)) for i in (1, *DEEP, 513)),
    *(Kind(DENSE, (1, 1), i) for i in (1, *DEEP, 640)),
    *(Kind(op, kernel, 3, 3, (5, 4)) for op in (CONV, DEPTHWISE) for kernel in WIDE),
]
UNUSUAL = [
    Kind(CONV, (3, 3), 1, 1, (1, 1)),
    Kind(CONV, (3, 3), 129, 1, (2, 2)),
    Kind(CONV, (7, 7), 2, 1, (1, 1)),
    Kind(CONV, (7, 7), 3, 2, (7, 7), padding="valid"),
    Kind(CONV, (5, 5), 3, 2, (7, 6), stride=(2, 2)),
    Kind(CONV, (1, 1), 129, 3, (3, 4), stride=(2, 3)),
    Kind(CONV, (3, 3), 6, 4, groups=2),
    Kind(CONV, (1, 1), 258, 4, (2, 1), groups=2),
    Kind(CONV, (5, 7), 4, 4, groups=4),
    Kind(CONV, (3, 3), 3, 2, (7, 7), dilation=(2, 3)),
    Kind(CONV, (5, 5), 2, 2, (6, 6), dilation=(2, 1)),
    Kind(DEPTHWISE, (3, 3), 3, 6, (5, 5), stride=(2, 2)),
    Kind(DEPTHWISE, (5, 5), 2, 6),
    Kind(DEPTHWISE, (7, 7), 1, 1, (1, 1)),
    Kind(DEPTHWISE, (7, 7), 2, 4, (9, 8), stride=(2, 1)),
    Kind(DEPTHWISE, (3, 3), 257, 257, (1, 2)),
    Kind(DEPTHWISE, (1, 1), 5, 5),
    Kind(DEPTHWISE, (3, 5), 3, 3, (6, 6), dilation=(2, 2)),
]
ONE_SCALE = [
    replace(kind, one_scale=True)
    for kind in (Kind(CONV, (1, 1), 129, 3, (2, 2)), Kind(CONV, (7, 7)), Kind(DENSE, (1, 1), 130),
                 Kind(DEPTHWISE, (5, 5)), Kind(CONV, (3, 3), 4, 4, groups=2))
]  # fmt: skip
KINDS = [*PLAIN, *UNUSUAL, *ONE_SCALE]


def layer(kind: Kind, rng: Generator, zero_point: int = -128) -> Graph:
    """A graph of one node of the kind.

    zero_point   of the input: sums go by unsigned bytes where it is -128
    """
    kh, kw = kind.kernel
    image = (1, *kind.size, kind.channels)
    shape: tuple[int, ...] = (kind.outputs, kh, kw, kind.depth)
    if kind.op == DEPTHWISE:
        shape = (1, kh, kw, kind.outputs)
    if kind.op == DENSE:
        image, shape = (1, kind.channels), (kind.outputs, kind.channels)
    largest = int(rng.choice([3, 127]))
    weights = rng.integers(-largest - 1, largest + 1, shape).astype(np.int8)
    x_scale, w_scale, y_scale = _scales(kind, rng, largest)
    bias = rng.integers(-50, 51, kind.outputs) * largest * int(np.sqrt(kh * kw * kind.depth))
    axis = None if kind.one_scale else len(shape) - 1 if kind.op == DEPTHWISE else 0
    none = np.zeros(len(w_scale))
    y_zero, activation = int(rng.integers(-128, 128)), str(rng.choice(["none", "relu", "relu6"]))
    w = Quantization(w_scale, none, axis)
    b = Quantization(x_scale * w_scale, none, None if kind.one_scale else 0)
    tensors = [
        Tensor("x", image, "int8", "input", Quantization([x_scale], [zero_point])),
        Tensor("w", shape, "int8", "constant", w, weights),
        Tensor("b", (kind.outputs,), "int32", "constant", b, bias.astype(np.int32)),
        Tensor("y", (), "int8", "activation", Quantization([y_scale], [y_zero])),
    ]
    attributes: dict[str, Any] = {"activation": activation}
    if kind.op == DENSE:
        attributes["keep_dims"] = False
    else:
        attributes |= {"stride": kind.stride, "dilation": kind.dilation, "padding": kind.padding}
    inputs = (0, 1, 2 if rng.random() < 0.8 else ABSENT)
    node = Node(kind.op, "layer", inputs, (3,), attributes)
    draft = Graph("kind", tuple(tensors), (node,), (0,), (3,), profile="neural-art")
    tensors[3] = replace(tensors[3], shape=output_shape(draft, node))
    return replace(draft, tensors=tuple(tensors))


def rule_tail(
    kind: Kind, graph: Graph, given: dict[str, Any], limits: tuple[int, int]
) -> naive.Tail:
    """The parameters by the rules, in exact fractions, but for those given.

    given    ties, and any of s0, stages, partial_bits, and s1, A_c, s2, A2 together
    raises   ValueError where the rules have no answer
    """
    node, (x, w, b, y) = graph.nodes[0], graph.tensors
    s_w = [float(s) for s in w.quantization.scale] * (kind.outputs if kind.one_scale else 1)
    scales = (float(x.quantization.scale[0]), s_w, float(y.quantization.scale[0]))
    bias = [0] * kind.outputs if node.inputs[2] == ABSENT else b.data.tolist()
    y_zero = int(y.quantization.zero_point[0])
    s0 = given.get("s0", _default_s0(kind, graph))
    rule = naive.derived if given.get("stages", 3) == 3 else naive.derived_two_stages
    if "s1" in given:
        s1, a_c, s2, a2 = (given[name] for name in ("s1", "A_c", "s2", "A2"))
        a_c, bc_c = [a_c] * kind.outputs, naive.derived_offsets(scales, y_zero, bias, s2)
    else:
        s1, a_c, s2, a2, bc_c = rule(scales, y_zero, bias, s0)[-5:]
    deep = CHANNELS if kind.kernel == (1, 1) else kind.depth
    rows, columns = _split(kind.kernel[0], ROWS), _split(kind.kernel[1], COLUMNS)
    return naive.Tail(s0, s1, s2, a_c, a2, bc_c, rows, columns, _split(kind.depth, deep),
                      given.get("partial_bits", 16), tuple(given["ties"]), limits)  # fmt: skip


def _default_s0(kind: Kind, graph: Graph) -> int:
    x, w = graph.tensors[:2]
    assert w.data is not None
    products = w.data.reshape(-1, kind.outputs)
    if kind.op != DEPTHWISE:
        products = w.data.reshape(kind.outputs, -1).T
    return naive.default_s0(products, kind.outputs, int(x.quantization.zero_point[0]))


def _scales(kind: Kind, rng: Generator, largest: int) -> tuple[float, np.ndarray, float]:
    """Of input, weights and output: any, or powers of two, whose stages meet ties often.

    Now and then the output's is so small that most codes are at an end or that no coefficient holds
    it, or scales are as small or large as a float32 allows.
    """
    count = 1 if kind.one_scale else kind.outputs
    x_exponent, w_exponents = rng.uniform(-9, -3), rng.uniform(-8, -3, count)
    spread = np.log2(largest * 74 * np.sqrt(np.prod(kind.kernel) * kind.depth))
    codes = rng.choice([5, 6, 7, 12, 24], p=[0.3, 0.3, 0.3, 0.07, 0.03])
    y_exponent = x_exponent + w_exponents.max() + spread - codes
    shift = rng.choice([0, 40, -60], p=[0.9, 0.05, 0.05])
    exponents = np.array([x_exponent + shift, *w_exponents, y_exponent + shift])
    if rng.random() < 0.5:
        exponents = np.rint(exponents)
    scales = np.exp2(exponents).astype(np.float32)
    return float(scales[0]), scales[1:-1], float(scales[-1])


def _split(length: int, most: int) -> list[int]:
    """7 in parts of 3 is 3, 3, 1."""
    return [min(most, length - start) for start in range(0, length, most)]
