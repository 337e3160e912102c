"""Weighted operators: plain and ordered kernels and the reference, bit for bit."""

import pytest
from kernels import shaped
from kernels.layers import LAYERS
from kernels.twins import assert_kernel_matches_reference

from npusim import reference
from npusim.kernels.structs import ERROR, SATURATE, WRAP, Accumulation

ACCUMULATORS = [
    Accumulation(bits, overflow)
    for bits in (8, 15, 16, 20, 32, 64)
    for overflow in (WRAP, SATURATE)
]


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("seed", range(40))
def test_plain_kernel_matches_reference(op, seed):
    assert_kernel_matches_reference(op, *LAYERS[op](seed))


@pytest.mark.parametrize("op", LAYERS)
@pytest.mark.parametrize("a", ACCUMULATORS, ids=str)
def test_ordered_kernel_matches_reference(op, a):
    for seed in range(6):
        assert_kernel_matches_reference(op, *LAYERS[op](seed), a)


@pytest.mark.parametrize("op", LAYERS)
def test_ordered_kernel_reports_the_overflow_the_reference_reports(op):
    a = Accumulation(16, ERROR)
    for seed in range(10):
        arguments = LAYERS[op](seed)
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
