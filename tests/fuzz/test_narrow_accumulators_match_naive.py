"""Accumulators that saturate or wrap below 32 bits: equal to sums made one product at a time."""

from collections.abc import Callable

import numpy as np
import pytest
from naive import operators
from naive.rounding import clamp
from oracles import cases

from fuzz.agreement import disagreements
from npusim import Accumulator

FEW = range(60)
MANY = range(60, 600)
WIDTHS = (12, 16, 20, 24)
SUMS: dict[str, Callable[..., np.ndarray]] = {
    "conv2d": operators.conv2d_accumulators,
    "depthwise_conv2d": operators.depthwise_conv2d_accumulators,
    "fully_connected": operators.fully_connected_accumulators,
}


def saturating(bits: int) -> Callable[[int, int], int]:
    return lambda acc, product: clamp(acc + product, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def wrapping(bits: int) -> Callable[[int, int], int]:
    half = 2 ** (bits - 1)
    return lambda acc, product: (acc + product + half) % (2 * half) - half


STEPS = {"saturate": saturating, "wrap": wrapping}


@pytest.mark.parametrize("op", SUMS)
@pytest.mark.parametrize("overflow", STEPS)
@pytest.mark.parametrize(
    "seeds", [FEW, pytest.param(MANY, marks=pytest.mark.full)], ids=["few", "many"]
)
def test_narrow_accumulator_matches_naive(op: str, overflow: str, seeds: range) -> None:
    found: list[str] = []
    for seed in seeds:
        case, bits = cases.case(op, seed), WIDTHS[seed % len(WIDTHS)]
        given = case.arguments
        operands = [given[name] for name in ("x", "weights", "bias")]
        walk = [given["window"]] if "window" in given else []
        zero_point = given["quantization"][0].zero_point
        sums = SUMS[op](*operands, zero_point, *walk, step=STEPS[overflow](bits))
        y = operators.requantize_channels(sums, given["quantization"], given["activation"])
        shape = (*case.inputs[0].shape[:-1], -1) if given.get("keep_dims") else y.shape
        expected = y.astype(np.int8).reshape(shape)
        found += disagreements(case, expected, Accumulator(bits, overflow))
    assert not found, "\n".join(found)
