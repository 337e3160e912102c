"""Calls of npusim's C kernels without weights, and of Neural-ART's, whose instructions
`m55_instructions.py` counts."""

import numpy as np
from c.npu_cases import neural_art, neural_art_units, shaped
from c.records import Case
from kernels import drawn

from npusim.kernels.structs import (
    PIECE,
    TWICE,
    Add,
    Conv2d,
    Mean,
    Mul,
    NeuralArt,
    Pool2d,
    Requantization,
    Rescale,
    Softmax,
)
from npusim.neural_art.pieces import runs

SEED = 20261205
SIDE, CHANNELS = 12, 64
Call = tuple[Case, int]


def unweighted_calls() -> dict[str, Call]:
    """(call, how many things it does) by what is counted."""
    random = np.random.default_rng(SEED)
    shape = (1, SIDE, SIDE, CHANNELS)
    x, other = drawn.codes(random, (2, *shape))
    window = Pool2d(1, SIDE, SIDE, CHANNELS, SIDE // 2, SIDE // 2, 2, 2, 2, 2, 0, 0, -128, 127)
    cells = SIDE**2
    logits = drawn.codes(random, (16, 10))
    return {
        **_elementwise(x, other),
        "cell of average_pool2d 2x2": (shaped.average_pool2d(x, window), x.size),
        "cell of max_pool2d 2x2": (shaped.max_pool2d(x, window), x.size),
        "cell of a global mean": (shaped.mean(x, (1, 2), Mean(cells, 3), _tail(-7)), x.size),
        "code of softmax over 10": (shaped.softmax(logits, Softmax(16, 10, 2**30, 24, -124)), 160),
        "element of transpose NHWC -> NCHW": (shaped.transpose(x, (0, 3, 1, 2)), x.size),
        "element of neural_art_add": (
            neural_art_units.add(x, other, drawn.neural_art_add(random)),
            x.size,
        ),
        "MAC of neural_art_conv2d 3x3, K = 576": _neural_art(random, x),
    }


def _elementwise(x: np.ndarray, other: np.ndarray) -> dict[str, Call]:
    wide = _tail(0)._replace(zero_point=0, act_min=-(2**31), act_max=2**31 - 1)
    add = Add(x.size, 20, 3, -4, wide, wide._replace(shift=np.array([-1], np.int32)))
    made = {
        "element of add": shaped.add(x, other, add, _tail(-18)),
        "element of mul": shaped.mul(x, other, Mul(3, -4), _tail(-7)),
        "element of rescale": shaped.rescale(x, Rescale(3), _tail(0), np.int8),
    }
    return {what: (planned(case), x.size) for what, case in made.items()}


def planned(case: Case) -> Case:
    """An elementwise call with the scratch of one piece of a plan, which tests make shorter."""
    if "scratch" not in case.arguments:
        return case
    memory = {"scratch": np.zeros(PIECE, np.int32), "count": PIECE}
    return case._replace(arguments={**case.arguments, **memory})


def _tail(shift: int) -> Requantization:
    """One multiplier."""
    return Requantization(
        np.array([2**30 + 12345], np.int32), np.array([shift], np.int32), np.ones(1), -5, -128, 127,
        TWICE,
    )  # fmt: skip


def _neural_art(random: np.random.Generator, x: np.ndarray) -> Call:
    """A padded layer; what lies in the padding counts as work."""
    g = Conv2d(1, SIDE, SIDE, CHANNELS, SIDE, SIDE, 16, 3, 3, 1, 1, 1, 1, 1, 1, 1, -128)
    coefficients = np.full(16, 20000, np.int32)
    pieces = runs((3,), (3,), (CHANNELS,))
    r = NeuralArt(coefficients, coefficients, pieces, 4, 12, 20, 20000, 16, 0, 0, 0, -128, 127)
    weights = drawn.codes(random, (16, 3, 3, CHANNELS))
    return neural_art.conv2d(x, weights, g, r), SIDE**2 * weights.size
