"""Requantisations that show accumulators instead of scaling them, and guards around outputs."""

from __future__ import annotations

from typing import Any

import numpy as np
from naive.rounding import clamp, requantize_double_rounding, wrap32

from npusim.kernels.structs import TWICE, Requantization

GUARD = 77
SHIFTS = (-23, -15, -7, 1)  # the output shows accumulators divided by 2^24, 2^16, 2^8 and 1


def shown(acc: Any, shift: int) -> np.ndarray:
    """int8 codes that `showing(.., shift)` makes of exact accumulators, by the naive rounding."""
    codes = [
        clamp(requantize_double_rounding(wrap32(int(a)), 1 << 30, shift), -128, 127)
        for a in np.ravel(acc)
    ]
    return np.array(codes, np.int8).reshape(np.shape(acc))


def showing(outputs: int, shift: int) -> Requantization:
    """acc * 2^(shift - 1) on every channel."""
    multiplier = np.full(outputs, 1 << 30, np.int32)
    shifts = np.full(outputs, shift, np.int32)
    scale = np.ldexp(np.ones(outputs), shift - 1)
    return Requantization(multiplier, shifts, scale, 0, -128, 127, TWICE)


def guarded(size: int) -> tuple[np.ndarray, np.ndarray]:
    """(memory, its middle of `size` codes): what a kernel writes into the middle stays there."""
    memory = np.full(size + 128, GUARD, np.int8)
    return memory, memory[64 : 64 + size]


def assert_guarded(memory: np.ndarray) -> None:
    """Nothing was written around the middle."""
    assert (memory[:64] == GUARD).all()
    assert (memory[-64:] == GUARD).all()
