"""Calls of npusim/c/depthwise_conv2d.h."""

from collections.abc import Iterator

import numpy as np
from kernels import drawn
from kernels.layers import bias
from naive.rounding import wrap32

from npusim.kernels.structs import Conv2d

from ..records import Case
from .arguments import with_integer_rules, written
from .weighted import call, layer

CHANNELS = (1, 3, 4, 7, 8, 9, 15, 16, 17, 24, 31, 32, 33)
SEEDS = range(200_000, 200_020)


def cases(random: np.random.Generator) -> Iterator[Case]:
    for seed in SEEDS:
        yield call("depthwise_conv2d", layer("depthwise_conv2d", seed))
    for channels in CHANNELS:
        for multiplier in (1, 1, 2, 5):
            yield _sums(random, channels, multiplier)
    g = Conv2d(1, 2, 3, 9, 8, 9, 9, 2, 2, 1, 1, 1, 1, 4, 4, 1, -7)
    x, weights = drawn.codes(random, (1, 2, 3, 9)), drawn.codes(random, (1, 2, 2, 9))
    r = with_integer_rules(random, drawn.requantization(random, 9))
    yield call("depthwise_conv2d", (x, weights, bias(random, 9), g, r))


def _sums(random: np.random.Generator, channels: int, multiplier: int) -> Case:
    """The sums alone, at all their 32 bits, of a window within wider rows; or of an empty one."""
    o = channels * multiplier
    rows, columns = (int(v) for v in random.integers(0, 5, 2))
    x = drawn.codes(random, (5, 6, channels + 2))
    weights = drawn.codes(random, (5, 5, o + 1))
    biases, zero_point = bias(random, o), drawn.zero_point(random)
    values = np.repeat(x[:rows, :columns, :channels].astype(np.int64) - zero_point, multiplier, 2)
    exact = biases + (values * weights[:rows, :columns, :o]).sum((0, 1))
    acc = np.array([wrap32(int(v)) for v in exact], np.int32)
    window = {
        "x": x, "weights": weights, "rows": rows, "columns": columns,
        "x_row": x[0].size, "x_column": x[0, 0].size,
        "weights_row": weights[0].size, "weights_column": weights[0, 0].size,
    }  # fmt: skip
    given = {"window": window, "channels": channels, "multiplier": multiplier}
    given |= {"zero_point": zero_point, "bias": biases, "acc": written(acc)}
    return Case("npu_depthwise_sums", given, {"acc": acc})
