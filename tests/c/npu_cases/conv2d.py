"""Calls of npusim/c/conv2d.h."""

from collections.abc import Iterator

import numpy as np
from kernels import drawn
from kernels.layers import LAYERS, bias
from naive.rounding import wrap32

from npusim.kernels.structs import Conv2d

from ..records import Case
from .arguments import struct, with_integer_rules, written
from .weighted import POSITIONS, call, layer

DEPTHS = (1, 7, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 129)
SEEDS = range(100_000, 100_020)


def cases(random: np.random.Generator) -> Iterator[Case]:
    for seed in SEEDS:
        yield call("conv2d", layer("conv2d", seed))
    for depth in DEPTHS:
        yield _pointwise(random, depth)
        yield from _dots(random, depth, int(random.integers(1, 8)))
    yield from _dots(random, 0, 2)
    for n in (0, 1, 15, 16, 17, 40):
        codes, value = drawn.codes(random, (n,)), int(random.integers(-128, 128))
        more = {"to": written(codes), "from": codes, "n": n}
        yield Case("npu_copy_codes", more, {"to": codes})
        filled = np.full(n, value, np.int8)
        yield Case("npu_fill_codes", {"to": codes, "value": value, "n": n}, {"to": filled})
    yield _outside(random)
    yield from _geometry(random)
    for start in range(-9, 10):
        for dilation, taps, size in ((1, 3, 5), (2, 4, 3), (3, 1, 1), (1, 7, 2)):
            inside = [k for k in range(taps) if 0 <= start + k * dilation < size]
            given = {"start": start, "dilation": dilation, "taps": taps}
            if inside:
                yield Case("npu_first_tap", given, {"return": inside[0]})
                end = {"return": inside[-1] + 1}
                yield Case("npu_end_tap", {**given, "size": size}, end)


def _pointwise(random: np.random.Generator, depth: int) -> Case:
    """A kernel of one cell, any number of positions and outputs."""
    n, h, w, o = (int(v) for v in random.integers(1, (3, 6, 6, 20)))
    zero_point = drawn.zero_point(random)
    g = Conv2d(n, h, w, depth, h, w, o, 1, 1, 1, 1, 1, 1, 0, 0, 1, zero_point)
    r = with_integer_rules(random, drawn.requantization(random, o))
    x, weights = drawn.codes(random, (n, h, w, depth)), drawn.codes(random, (o, 1, 1, depth))
    return call("conv2d", (x, weights, bias(random, o), g, r))


def _outside(random: np.random.Generator) -> Case:
    """Padding larger than the kernel: some windows hold no cell of x."""
    g = Conv2d(1, 2, 3, 2, 8, 9, 4, 2, 2, 1, 1, 1, 1, 4, 4, 1, -7)
    x, weights = drawn.codes(random, (1, 2, 3, 2)), drawn.codes(random, (4, 2, 2, 2))
    r = with_integer_rules(random, drawn.requantization(random, 4))
    return call("conv2d", (x, weights, bias(random, 4), g, r))


def _dots(random: np.random.Generator, depth: int, outputs: int) -> Iterator[Case]:
    """Sums alone, at all their 32 bits."""
    weights = drawn.codes(random, (outputs, depth))
    patch = drawn.codes(random, (POSITIONS, depth))
    biases, zero_point = bias(random, outputs), drawn.zero_point(random)
    given = {"weights": weights, "outputs": outputs, "depth": depth}
    wide = weights.astype(np.int64)
    start = _wrapped(biases - zero_point * wide.sum(1))
    more = {"bias": biases, "zero_point": zero_point, "start": written(start)}
    yield Case("npu_start_sums", {**given, **more}, {"start": start})
    row = _wrapped(biases + wide @ (patch[0].astype(np.int64) - zero_point))
    more = {"patch": patch[0], "zero_point": zero_point, "bias": biases, "acc": written(row)}
    yield Case("npu_dot_row", {**given, **more}, {"acc": row})
    stride = outputs + int(random.integers(0, 3))
    block = np.full((1 + POSITIONS, stride), 7, np.int32)
    block[0, :outputs] = start
    more = {"patch": patch, "acc": block.copy(), "stride": stride}
    block[1:, :outputs] = _wrapped(start + patch.astype(np.int64) @ wide.T)
    yield Case("npu_dot_block", {**given, **more}, {"acc": block})


def _wrapped(sums: np.ndarray) -> np.ndarray:
    flat = [wrap32(int(v)) for v in sums.reshape(-1)]
    return np.array(flat, np.int32).reshape(sums.shape)


def _geometry(random: np.random.Generator) -> Iterator[Case]:
    """Sizes that headers compute."""
    for seed in range(40):
        g = LAYERS["conv2d"](seed)[3]
        depth = g.kh * g.kw * g.c // g.groups
        plain = g._replace(kh=1, kw=1, stride_h=1, stride_w=1, groups=1, pad_top=0, pad_left=0,
                           oh=g.h, ow=g.w)  # fmt: skip
        field = str(random.choice(["kh", "kw", "stride_h", "stride_w", "groups", "pad_top",
                                   "pad_left", "oh", "ow"]))  # fmt: skip
        almost = plain._replace(**{field: getattr(plain, field) + 1})
        for some, pointwise in ((plain, 1), (almost, 0)):
            given = {"g": struct(some)}
            yield Case("npu_is_pointwise", given, {"return": pointwise})
        given = {"g": struct(g)}
        yield Case("npu_conv2d_depth", given, {"return": depth})
        yield Case("npu_conv2d_acc", given, {"return": (1 + POSITIONS) * g.o})
        strided = {"g": struct(g._replace(stride_h=2))}
        yield Case("npu_conv2d_patch", strided, {"return": POSITIONS * depth})
        yield Case("npu_conv2d_patch", {"g": struct(plain)}, {"return": 0})
