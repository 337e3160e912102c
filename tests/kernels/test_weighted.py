"""Weighted operators: plain and ordered kernels and the reference, bit for bit."""

import numpy as np
import pytest
from kernels import drawn, shaped
from kernels.twins import assert_kernel_matches_reference

from npusim import reference
from npusim.kernels.structs import ERROR, SATURATE, WRAP, Accumulation

ACCUMULATORS = [
    Accumulation(bits, overflow)
    for bits in (8, 15, 16, 20, 32, 64)
    for overflow in (WRAP, SATURATE)
]


def _bias(rng, o):
    """Small biases, and some near the ends of int32, where sums wrap."""
    small = rng.integers(-(2**14), 2**14, o)
    large = rng.choice([-(2**31), 2**31 - 1], o)
    return np.where(rng.random(o) < 0.2, large, small).astype(np.int32)


def _conv2d(seed):
    rng = np.random.default_rng(seed)
    groups, inputs, outputs = (int(v) for v in rng.integers(1, (4, 12, 9)))
    g = drawn.conv2d(rng, groups, inputs, outputs)
    weights = drawn.codes(rng, (g.o, g.kh, g.kw, inputs))
    x = drawn.codes(rng, (g.n, g.h, g.w, g.c))
    return x, weights, _bias(rng, g.o), g, drawn.requantization(rng, g.o)


def _depthwise_conv2d(seed):
    rng = np.random.default_rng(seed)
    channels, repeats = (int(v) for v in rng.integers(1, (40, 4)))
    g = drawn.conv2d(rng, channels, 1, repeats)._replace(groups=1)
    weights = drawn.codes(rng, (1, g.kh, g.kw, g.o))
    x = drawn.codes(rng, (g.n, g.h, g.w, g.c))
    return x, weights, _bias(rng, g.o), g, drawn.requantization(rng, g.o)


def _fully_connected(seed):
    rng = np.random.default_rng(seed)
    g = drawn.fully_connected(rng)
    x, weights = drawn.codes(rng, (g.n, g.i)), drawn.codes(rng, (g.o, g.i))
    return x, weights, _bias(rng, g.o), g, drawn.requantization(rng, g.o)


OPERATORS = {
    "conv2d": _conv2d,
    "depthwise_conv2d": _depthwise_conv2d,
    "fully_connected": _fully_connected,
}


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("seed", range(40))
def test_plain_kernel_matches_reference(op, seed):
    assert_kernel_matches_reference(op, *OPERATORS[op](seed))


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("a", ACCUMULATORS, ids=str)
def test_ordered_kernel_matches_reference(op, a):
    for seed in range(6):
        assert_kernel_matches_reference(op, *OPERATORS[op](seed), a)


@pytest.mark.parametrize("op", OPERATORS)
def test_ordered_kernel_reports_the_overflow_the_reference_reports(op):
    a = Accumulation(16, ERROR)
    for seed in range(10):
        arguments = OPERATORS[op](seed)
        messages = [_overflow(executor, op, *arguments, a) for executor in (reference, shaped)]
        assert messages[0] == messages[1]
    assert messages[0].startswith("accumulator: must hold every sum, got ")


def _overflow(executor, op, *arguments):
    """What the operator raises; empty when nothing overflows."""
    try:
        getattr(executor, op)(*arguments)
    except ArithmeticError as error:
        return str(error)
    return ""
