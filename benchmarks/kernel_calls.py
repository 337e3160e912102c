"""Calls of npusim's C kernels whose instructions `m55_instructions.py` counts."""

import numpy as np
from c.npu_cases.arguments import INTEGER_RULES, requantization
from c.npu_cases.weighted import POSITIONS, call
from c.records import Case

from npusim.kernels.structs import (
    REQUANTIZE,
    TWICE,
    Conv2d,
    FullyConnected,
    Requantization,
    Rounding,
)

SEED = 20261204
DEPTHS = (32, 64, 128, 576)
OUTPUTS, SIDE = 64, 12
Call = tuple[Case, int]


def kernel_calls() -> dict[str, Call]:
    """(call, how many things it does) by what is counted."""
    random = np.random.default_rng(SEED)
    found = {f"MAC of sums alone, K = {k}": _sums(random, k) for k in DEPTHS}
    found |= {f"MAC of conv2d 1x1, K = {k}": _conv2d(random, 1, k) for k in DEPTHS}
    found["MAC of conv2d 3x3, K = 576"] = _conv2d(random, 3, 64)
    found["MAC of conv2d 3x3, K = 27"] = _conv2d(random, 3, 3)
    found |= {f"MAC of fully_connected, K = {k}": _fully_connected(random, k) for k in DEPTHS}
    found["MAC of depthwise_conv2d 3x3"] = _depthwise(random)
    for rule in INTEGER_RULES:
        found[f"output requantised, {REQUANTIZE[rule]}"] = _requantized(random, rule)
    return found


def _codes(random: np.random.Generator, *shape: int) -> np.ndarray:
    return random.integers(-127, 128, shape).astype(np.int8)


def _tail(random: np.random.Generator, o: int, rule: Rounding = TWICE) -> Requantization:
    """Right shifts, as layers have."""
    multiplier = random.integers(2**30, 2**31, o).astype(np.int32)
    shift = random.integers(-10, -4, o).astype(np.int32)
    return Requantization(multiplier, shift, np.ones(o), -5, -128, 127, rule)


def _sums(random: np.random.Generator, depth: int) -> Call:
    """The inner loops of conv2d: no gathering, no requantisation."""
    given = {
        "patch": _codes(random, POSITIONS, depth),
        "depth": depth,
        "weights": _codes(random, OUTPUTS, depth),
        "outputs": OUTPUTS,
        "acc": np.zeros((1 + POSITIONS) * OUTPUTS, np.int32),
        "stride": OUTPUTS,
    }
    return Case("npu_dot_block", given, {}), POSITIONS * OUTPUTS * depth


def _conv2d(random: np.random.Generator, kernel: int, channels: int) -> Call:
    """A layer of OUTPUTS channels on a map of SIDE by SIDE, padded where the kernel is 3x3."""
    pad = kernel // 2
    g = Conv2d(1, SIDE, SIDE, channels, SIDE, SIDE, OUTPUTS, kernel, kernel, 1, 1, 1, 1,
               pad, pad, 1, -128)  # fmt: skip
    x = _codes(random, 1, SIDE, SIDE, channels)
    weights = _codes(random, OUTPUTS, kernel, kernel, channels)
    arguments = (x, weights, np.zeros(OUTPUTS, np.int32), g, _tail(random, OUTPUTS))
    return call("conv2d", arguments), SIDE**2 * weights.size


def _fully_connected(random: np.random.Generator, inputs: int) -> Call:
    """One row."""
    weights = _codes(random, OUTPUTS, inputs)
    g = FullyConnected(1, inputs, OUTPUTS, -128)
    bias = np.zeros(OUTPUTS, np.int32)
    arguments = (_codes(random, 1, inputs), weights, bias, g, _tail(random, OUTPUTS))
    return call("fully_connected", arguments), weights.size


def _depthwise(random: np.random.Generator) -> Call:
    """OUTPUTS channels on a padded map; what lies in the padding counts as work."""
    g = Conv2d(1, SIDE, SIDE, OUTPUTS, SIDE, SIDE, OUTPUTS, 3, 3, 1, 1, 1, 1, 1, 1, 1, -128)
    x, weights = _codes(random, 1, SIDE, SIDE, OUTPUTS), _codes(random, 1, 3, 3, OUTPUTS)
    arguments = (x, weights, np.zeros(OUTPUTS, np.int32), g, _tail(random, OUTPUTS))
    return call("depthwise_conv2d", arguments), SIDE**2 * weights.size


def _requantized(random: np.random.Generator, rule: int) -> Call:
    """Three rows of OUTPUTS channels."""
    acc = random.integers(-(2**16), 2**16, POSITIONS * OUTPUTS).astype(np.int32)
    given = {
        "acc": acc,
        "rows": POSITIONS,
        "n": OUTPUTS,
        "r": requantization(_tail(random, OUTPUTS, Rounding(rule, 1, rule))),
        "y": np.zeros(acc.size, np.int8),
        "start": 0,
    }
    return Case("npu_requantize_rows", given, {}), acc.size
