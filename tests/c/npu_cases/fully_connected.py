"""Calls of npusim/c/fully_connected.h."""

from collections.abc import Iterator

import numpy as np
from kernels import drawn
from kernels.layers import bias

from npusim.kernels.structs import FullyConnected

from ..records import Case
from .arguments import with_integer_rules
from .weighted import call, layer

INPUTS = (1, 15, 16, 17, 32, 63, 64, 65, 300)
SEEDS = range(300_000, 300_020)


def cases(random: np.random.Generator) -> Iterator[Case]:
    for seed in SEEDS:
        yield call("fully_connected", layer("fully_connected", seed))
    for inputs in INPUTS:
        n, o = (int(v) for v in random.integers(1, (6, 12)))
        g = FullyConnected(n, inputs, o, drawn.zero_point(random))
        x, weights = drawn.codes(random, (n, inputs)), drawn.codes(random, (o, inputs))
        r = with_integer_rules(random, drawn.requantization(random, o))
        yield call("fully_connected", (x, weights, bias(random, o), g, r))
