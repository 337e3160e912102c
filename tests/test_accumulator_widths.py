"""Every width of accumulator told from its neighbours and from the exact sum, by rules that see it.

double_rounding reads 32 bits of a sum; single_rounding and float64_away read all of it. The layers
here go out of the range by eight products and come back, or stay outside, on either side. All their
products have one size, so Python integers give each sum run by run, without a loop.
"""

from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from graphs import Draft
from naive.rounding import clamp, round_away, round_up

from npusim import Accumulator, ModelError, Session
from npusim.backend import chosen_isa

pytestmark = pytest.mark.usefixtures("isa")
OPERATORS = ("conv2d", "depthwise_conv2d", "fully_connected")
WIDEST = 35  # beyond it a layer would need more than a million products
OVERSHOOT = 8
RULES = {"single_rounding": round_up, "float64_away": round_away}
LONG = 28  # sums for wider accumulators are slow in NumPy
WIDTHS = [*range(8, LONG + 1)]
WIDE = [*range(LONG + 1, 65)]


class Channel(NamedTuple):
    """A sum: its start, then runs of (products, value)."""

    start: int
    runs: tuple[tuple[int, int], ...]

    @property
    def exact(self):
        return self.start + sum(count * value for count, value in self.runs)

    def kept(self, bits, overflow):
        """What the accumulator holds at the end."""
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        if overflow == "wrap":
            return (self.exact - low) % (1 << bits) + low
        total = clamp(self.start, low, high)
        for count, value in self.runs:  # a run goes one way: clamped at its end is clamped always
            total = clamp(total + count * value, low, high)
        return total

    def first_outside(self, bits):
        """The first sum that leaves the range, by the first run; None if none does."""
        low, high = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
        (count, value), total = self.runs[0], self.start
        room = (high - total) // value if value > 0 else (low - total) // value
        return total + (room + 1) * value if room < count else None


def factors(bits):
    """(x - zero point, weight) with a product of a sixteenth of the range, or the largest."""
    product = 1 << min(bits - 4, 13)
    weight = min(product, 64)
    return (255, 127) if bits > 18 else (product // weight, weight)


def channels(bits):
    """Out and back, out for good, on either side."""
    value, weight = factors(bits)
    product, end = value * weight, 1 << (bits - 1)
    start = min(end, 1 << 31) - product // 2
    out, back = -(-(end - start) // product) + OVERSHOOT, end // product + 4
    return [
        Channel(sign * start, ((out, sign * product), (again, -sign * product)))
        for sign in (-1, 1)
        for again in (back, 0)
    ]


def layer(op, rule, bits):
    """A layer with these sums, its input, and the shift that shows a product as four codes."""
    sums, (value, weight) = channels(bits), factors(bits)
    length = max(sum(count for count, _ in c.runs) for c in sums)
    rows = np.zeros((len(sums), length), np.int8)
    for row, channel in zip(rows, sums, strict=True):
        first, second = (count for count, _ in channel.runs)
        sign = 1 if channel.runs[0][1] > 0 else -1
        row[:first], row[first : first + second] = sign * weight, -sign * weight
    shapes = {"conv2d": ((1, 1, 1, length), (4, 1, 1, length)),
              "depthwise_conv2d": ((1, 1, length, 4), (1, 1, length, 4)),
              "fully_connected": ((1, length), (4, length))}  # fmt: skip
    image, kernel = shapes[op]
    data = (rows.T if op == "depthwise_conv2d" else rows).reshape(kernel)
    draft = Draft()
    x = draft.input(image, scale=1.0, zero_point=-128)
    starts = np.array([c.start for c in sums], np.int32)
    operands = [x, draft.constant("weights", np.ascontiguousarray(data), 1.0),
                draft.constant("bias", starts, 1.0)]  # fmt: skip
    window = {"keep_dims": False} if op == "fully_connected" else {
        "stride": (1, 1), "dilation": (1, 1), "padding": "valid"}  # fmt: skip
    y = draft.node(
        op, operands, affine={"scale": 1.0, "zero_point": 4}, activation="none", **window
    )
    graph = draft.graph(y)
    graph = replace(graph, nodes=(replace(graph.nodes[0], rule=rule),))
    shift = 3 - (value * weight).bit_length()
    return graph, np.full(image, value - 128, np.int8), shift


def run(graph, x, shift, accumulator):
    """The codes, or what an overflow says."""
    session = Session(graph, accumulator=accumulator, threads=1)
    for r in session.requantization.values():
        r.multiplier[:], r.shift[:] = 1 << 30, shift + 1
    try:
        return session.run(x).ravel().tolist()
    except ModelError as error:
        return str(error)


def expected(graph, bits, of, shift, overflow):
    """The codes by Python integers, or the message; sums are those of a layer for `of` bits."""
    node, sums = graph.nodes[0], channels(of)
    place = (0, 0) if node.op == "fully_connected" else (0, 0, 0, 0)
    outside = sums[0].first_outside(bits)
    if overflow == "error" and outside is not None:
        return (f"{node.name}/{node.op}: accumulator: must stay in {bits} bits, got {outside} at "
                f"output {place}; use a wider accumulator")  # fmt: skip
    kept = [c.kept(bits, "wrap" if overflow == "wrap" else "saturate") for c in sums]
    rounded = RULES[node.rule]
    return [clamp(int(rounded(total * 2.0**shift)) + 4, -128, 127) for total in kept]


def check(op, rule, widths):
    for bits in widths:
        of = min(bits, WIDEST if bits <= WIDEST + 1 else 33)
        graph, x, shift = layer(op, rule, of)
        found = {}
        for overflow in ("wrap", "saturate", "error"):
            found[overflow] = run(graph, x, shift, Accumulator(bits, overflow))
            wanted = expected(graph, bits, of, shift, overflow)
            assert found[overflow] == wanted, (bits, overflow)
        exact = expected(graph, 64, of, shift, "wrap")
        told = {str(codes) for codes in (*found.values(), exact)}
        assert len(told) == (4 if bits == of else 1), bits
        for narrower in ("wrap", "saturate"):
            assert expected(graph, of, of, shift, narrower) != exact


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("rule", RULES)
def test_every_width_and_way_to_overflow_is_told_from_the_others(op, rule):
    check(op, rule, WIDTHS)


@pytest.mark.parametrize("op", OPERATORS)
@pytest.mark.parametrize("rule", RULES)
def test_wide_accumulators_are_told_from_the_others(op, rule):
    """The compiled nests; NumPy, which sums a product at a time, where it takes a second."""
    fast = WIDE if op == "fully_connected" else [w for w in WIDE if w <= 33]
    check(op, rule, [LONG + 1] if chosen_isa() == "numpy" else fast)


@pytest.mark.full
@pytest.mark.parametrize("op", OPERATORS)
def test_numpy_tells_wide_accumulators_too(op):
    check(op, "single_rounding", (32, 33))
