"""Ordered accumulators: their exact sums, their limits, and the first overflow they note."""

import itertools

import numpy as np
import pytest
from kernels import drawn
from kernels.exact import showing
from naive import operators as naive
from naive.rounding import clamp

from npusim.kernels import ordered
from npusim.kernels.structs import ERROR, SATURATE, WRAP, Accumulation, Conv2d, FullyConnected

WIDTHS = range(8, 65)
NONE = [-1, -1]  # a fault that holds nothing


def bounds(bits):
    return -(1 << (bits - 1)), (1 << (bits - 1)) - 1


def step_of(a):
    """One step of an accumulator in Python integers."""
    low, high = bounds(a.bits)
    if a.overflow == WRAP:
        return lambda total, product: (total + product - low) % (1 << a.bits) + low
    return lambda total, product: clamp(total + product, low, high)


def fully_connected_sums(x, weights, bias, g, a):
    """(sums of the last row, fault) of the kernel."""
    acc, first = np.zeros((2, g.o), np.int64)
    fault, y = np.array(NONE), np.empty(g.n * g.o, np.int8)
    ordered.fully_connected_ordered(x.ravel(), weights.ravel(), bias, g, showing(g.o, 1), a, y,
                                    acc, first, fault)  # fmt: skip
    return acc.tolist(), fault.tolist()


@pytest.mark.parametrize("overflow", [WRAP, SATURATE, ERROR])
def test_sums_of_every_width_match_python(overflow):
    """Inputs, weights and biases at their ends; signs change in runs."""
    for bits in WIDTHS:
        rng = np.random.default_rng(bits)
        g, a = FullyConnected(1, 40, 5, int(rng.choice([-128, 127]))), Accumulation(bits, overflow)
        x = rng.choice(np.array([-128, 127], np.int8), (1, 40))
        weights = np.repeat(rng.choice(np.array([-128, 127], np.int8), (5, 8)), 5, axis=1)
        bias = rng.choice(np.array([-(2**31), -(2**15), 0, 2**31 - 1], np.int32), 5)
        step = step_of(a)
        start = [step(int(b), 0) for b in bias]
        expected = naive.fully_connected_accumulators(x, weights, start, g.x_zero_point, step)
        acc, _ = fully_connected_sums(x, weights, bias, g, a)
        assert acc == expected[0].tolist(), bits


@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d"])
@pytest.mark.parametrize("overflow", [WRAP, SATURATE, ERROR])
@pytest.mark.parametrize("bits", WIDTHS)
def test_sums_of_convolutions_match_python(op, overflow, bits):
    """One output position, so that the sums are what the kernel leaves behind."""
    rng = np.random.default_rng(bits)
    a, step = Accumulation(bits, overflow), step_of(Accumulation(bits, overflow))
    g = Conv2d(1, 3, 2, 6, 1, 1, 12, 3, 2, 1, 1, 1, 1, 0, 0, 3 if op == "conv2d" else 1, -128)
    shape = (12, 3, 2, 2) if op == "conv2d" else (1, 3, 2, 12)
    x, weights = drawn.codes(rng, (1, 3, 2, 6)), drawn.codes(rng, shape)
    bias = rng.choice(np.array([-(2**31), -(2**15), 0, 2**31 - 1], np.int32), 12)
    start = [step(int(b), 0) for b in bias]
    window = ((1, 1), (1, 1), "VALID")
    expected = getattr(naive, f"{op}_accumulators")(x, weights, start, -128, window, step)
    (acc, first), y = np.zeros((2, 12), np.int64), np.empty(12, np.int8)
    kernel = getattr(ordered, f"{op}_ordered")
    kernel(x.ravel(), weights.ravel(), bias, g, showing(12, 1), a, y, acc, first, np.array(NONE))
    assert acc.tolist() == expected.ravel().tolist()


@pytest.mark.parametrize("bits", WIDTHS)
def test_limits_are_the_range_of_the_width(bits):
    for overflow in (SATURATE, ERROR):
        low, high = ordered.limits(Accumulation(bits, overflow))
        assert (int(low), int(high)) == bounds(bits)
    low, high = ordered.limits(Accumulation(bits, WRAP))
    assert (int(low), int(high)) == bounds(64)


@pytest.mark.parametrize(("start", "kept", "noted"), [
    (127, 127, 0), (128, 127, 128), (-128, -128, 0), (-129, -128, -129),
    (2**31 - 1, 127, 2**31 - 1),
])  # fmt: skip
def test_a_bias_is_the_first_sum(start, kept, noted):
    acc, first = np.full((2, 1), 99, np.int64)
    ordered.begin(np.array([start], np.int32), 1, Accumulation(8, ERROR), acc, first)
    assert (acc[0], first[0]) == (kept, noted)


def test_only_the_first_sum_out_of_range_is_noted():
    """127 + 1 is noted; -129, which comes after the clamp, is not."""
    a, acc, first = Accumulation(8, ERROR), np.array([127]), np.array([0])
    for value in (1, -127, -128, -1):
        ordered.add_products(value, np.ones(1, np.int8), 0, 1, 0, 1, a, acc, first)
    assert (acc[0], first[0]) == (-128, 128)


def test_products_go_to_their_channels():
    """Weights in steps of 3 from position 2, sums from channel 1 on."""
    a, weights = Accumulation(32, SATURATE), np.arange(20, dtype=np.int8)
    acc, first = np.array([5, 0, 10, 20, 7]), np.zeros(5, np.int64)
    ordered.add_products(-2, weights, 2, 3, 1, 3, a, acc, first)
    assert acc.tolist() == [5, -4, 0, 4, 7]


@pytest.mark.parametrize("overflow", [WRAP, SATURATE, ERROR])
def test_a_fault_is_noted_only_when_asked_for(overflow):
    g = FullyConnected(2, 2, 3, 0)
    x = np.array([[0, 0], [127, 127]], np.int8)
    weights = np.array([[1, 0], [1, 1], [127, 127]], np.int8)
    acc, fault = fully_connected_sums(x, weights, np.zeros(3, np.int32), g,
                                      Accumulation(8, overflow))  # fmt: skip
    assert fault == ([4, 254] if overflow == ERROR else NONE)
    assert acc == {WRAP: [127, -2, 2], SATURATE: [127, 127, 127], ERROR: [127, 127, 127]}[overflow]


def test_a_fault_that_is_there_stays():
    g, a = FullyConnected(1, 1, 1, 0), Accumulation(8, ERROR)
    acc, first = np.zeros((2, 1), np.int64)
    fault, operands = np.array([3, 400]), (np.array([127], np.int8),) * 2
    ordered.fully_connected_ordered(*operands, np.zeros(1, np.int32), g, showing(1, 1), a,
                                    np.empty(1, np.int8), acc, first, fault)  # fmt: skip
    assert fault.tolist() == [3, 400]


def test_conv2d_adds_rows_then_columns_then_channels():
    """Only in this order do 8 bits end where they end: every other one gives another sum."""
    products = np.array([[[100, 50], [-70, -90]], [[60, 80], [-127, 90]]])
    step = step_of(Accumulation(8, SATURATE))
    ends = {}
    for order in itertools.permutations(range(3)):
        total = 0
        for product in products.transpose(order).ravel().tolist():
            total = step(total, product)
        ends[order] = total
    assert [order for order, end in ends.items() if end == ends[0, 1, 2]] == [(0, 1, 2)]
    g = Conv2d(1, 2, 2, 2, 1, 1, 1, 2, 2, 1, 1, 1, 1, 0, 0, 1, 0)
    acc, first = np.zeros((2, 1), np.int64)
    ordered.conv2d_ordered(products.astype(np.int8).ravel(), np.ones(8, np.int8),
                           np.zeros(1, np.int32), g, showing(1, 1), Accumulation(8, SATURATE),
                           np.empty(1, np.int8), acc, first, np.array(NONE))  # fmt: skip
    assert acc[0] == ends[0, 1, 2]
