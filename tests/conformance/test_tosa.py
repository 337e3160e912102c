"""Rules of requantisation and whole profiles: equal to RESCALE of TOSA's reference model.

TOSA's SINGLE_ROUND is npusim's single_rounding, its DOUBLE_ROUND double_rounding, its scale of 16
bits on 48-bit values int16_reduced. One million accumulators for each, in the NumPy rule and in the
compiled kernel; and as biases of a layer under the profile, of which the default run takes a tenth.
What TOSA leaves open is not drawn here: there npusim follows TFLite, and other tests answer for it.

The reference model comes from PyPI into an environment of its own at the first use; without network
these tests are skipped, or fail where NPUSIM_TOSA=required.
"""

from __future__ import annotations

import os
from dataclasses import replace

import numpy as np
import pytest
from fuzz.agreement import EXECUTORS, open_session
from one_node import activation, pointwise
from oracles import tosa
from oracles.tosa import DOUBLE, SINGLE, Rescale

from npusim import Graph
from npusim.kernels import arith
from npusim.kernels.requantize import requantize_rows
from npusim.kernels.structs import REQUANTIZE, Requantization, Rounding
from npusim.reference import arithmetic
from npusim.reference.requantize import requantize

ROWS, CHANNELS = 250, 4000
SHIFTS = (2, 62)  # of RESCALE: to the right, of a product
INT32 = (-(2**31), 2**31 - 1)
RULES = {"single_rounding": SINGLE, "double_rounding": DOUBLE}
PROFILES = {"single-rounding": SINGLE, "tflm": DOUBLE}
ZERO_POINT = -7


@pytest.fixture(scope="module", autouse=True)
def _reference_model() -> None:
    """The environment of the reference model; skips or fails where there is none."""
    try:
        tosa.environment()
    except tosa.UnavailableError as error:
        reason = f"TOSA's reference model cannot be installed: {error}"
        if os.environ.get("NPUSIM_TOSA") == "required":
            pytest.fail(reason)
        pytest.skip(reason)


def channels(rng: np.random.Generator, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """A multiplier of so many bits and a shift for every channel, all as int64.

    Multipliers are normalised, of few ones (so that products hit ties), any, or at their ends.
    """
    top = 1 << bits
    multiplier = rng.integers(top // 2, top, CHANNELS)
    zeros = rng.integers(bits // 2, bits, CHANNELS)
    multiplier[::4] = np.maximum(multiplier >> zeros << zeros, top // 2)[::4]
    multiplier[1::8] = rng.integers(0, top, CHANNELS)[1::8]
    multiplier[2::40] = rng.choice([0, 1, top // 2, top - 1], CHANNELS)[2::40]
    shift = rng.integers(*SHIFTS, CHANNELS, endpoint=True)
    shift[3::20] = rng.choice([2, 3, bits - 1, bits, bits + 1, 61, 62], CHANNELS)[3::20]
    return multiplier, shift


def accumulators(
    rng: np.random.Generator, multiplier: np.ndarray, shift: np.ndarray, bits: int
) -> np.ndarray:
    """Accumulators (ROWS, CHANNELS) of so many bits, as int64, within the limits of RESCALE.

    A third lies at and beside ties of the result or of the product's upper half, the rest is of
    every size; rows 0..7 are zero, ones and the ends.
    """
    end = np.minimum(1 << (bits - 1), np.int64(1) << (shift - 1))
    size = np.exp2(rng.uniform(0, 1, (ROWS, CHANNELS)) * np.log2(end))
    acc = (size * rng.choice([-1, 1], size.shape)).astype(np.int64)
    steps = rng.choice([31, 0], size.shape)
    half = np.ldexp(0.5, np.where(steps, np.minimum(31, shift), shift)) / np.maximum(multiplier, 1)
    odd = 2 * np.rint(acc / half / 2) + 1
    near = np.rint(odd * half).astype(np.int64) + rng.integers(-1, 2, size.shape)
    acc = np.where(rng.random(size.shape) < 1 / 3, near, acc)
    for row, value in enumerate((0, 1, -1, end - 1, -end, end - 2, 1 - end, 2)):
        acc[row] = value
    return np.clip(acc, -end, end - 1)


def drawn(seed: int, bits: int = 31, wide: int = 32) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(acc, multiplier, shift) as int64."""
    rng = np.random.default_rng(seed)
    multiplier, shift = channels(rng, bits)
    return accumulators(rng, multiplier, shift, wide), multiplier, shift


def ties(acc: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> int:
    """How many products lie exactly between two results; they fit 63 bits."""
    return int(np.sum((acc * multiplier) & ((1 << shift) - 1) == (np.int64(1) << (shift - 1))))


def by_numpy(rule: str, acc: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
    return getattr(arithmetic, f"requantize_{rule}")(acc, multiplier, 31 - shift)


def by_kernel(rule: str, acc: np.ndarray, multiplier: np.ndarray, shift: np.ndarray) -> np.ndarray:
    number = REQUANTIZE.index(rule)
    r = Requantization(multiplier.astype(np.int32), (31 - shift).astype(np.int32),
                       np.ldexp(multiplier.astype(np.float64), -shift), 0, *INT32,
                       Rounding(number, 1, number))  # fmt: skip
    y = np.empty(acc.size, np.int32)
    requantize_rows(acc.astype(np.int32).ravel(), ROWS, CHANNELS, r, y, 0)
    return y.reshape(acc.shape)


@pytest.mark.parametrize("rule", RULES)
def test_rule_matches_rescale(rule: str) -> None:
    numbers = acc, multiplier, shift = drawn(1)
    expected = tosa.rescale(Rescale(acc.astype(np.int32), multiplier.astype(np.int32),
                                    shift.astype(np.int8), RULES[rule]))  # fmt: skip
    assert acc.size == 1_000_000
    assert ties(*numbers) > 10_000
    for compute in (by_numpy, by_kernel):
        assert np.sum(compute(rule, *numbers) != expected) == 0, compute.__name__
    others = [name for name in RULES if name != rule]
    assert all(np.sum(by_numpy(name, *numbers) != expected) > 10_000 for name in others)


@pytest.mark.parametrize("dtype", ["int8", "int16"])
@pytest.mark.parametrize("rule", RULES)
def test_tail_matches_rescale(rule: str, dtype: str) -> None:
    """The zero point and the clamp to narrower codes, in both executors."""
    acc, multiplier, shift = drawn(2)
    expected = tosa.rescale(Rescale(acc.astype(np.int32), multiplier.astype(np.int32),
                                    shift.astype(np.int8), RULES[rule], dtype,
                                    ZERO_POINT if dtype == "int8" else 0))  # fmt: skip
    number, limits = REQUANTIZE.index(rule), np.iinfo(dtype)
    r = Requantization(multiplier.astype(np.int32), (31 - shift).astype(np.int32),
                       np.ldexp(multiplier.astype(np.float64), -shift),
                       ZERO_POINT if dtype == "int8" else 0, limits.min, limits.max,
                       Rounding(number, 1, number))  # fmt: skip
    y = np.empty(acc.size, dtype)
    requantize_rows(acc.astype(np.int32).ravel(), ROWS, CHANNELS, r, y, 0)
    assert np.sum(y.reshape(acc.shape) != expected) == 0
    assert np.sum(requantize(acc, r, dtype) != expected) == 0


def layer(acc: np.ndarray, profile: str) -> Graph:
    """A 1x1 convolution of nothing: its biases are the accumulators."""
    outputs = acc.size
    x, y = np.zeros((outputs, 1), np.int8), activation((), 1.0, ZERO_POINT)
    graph = pointwise(1.0, x, y, np.ones(outputs), acc.ravel().astype(np.int32))
    return replace(graph, profile=profile)


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(
    "rows", [ROWS // 10, pytest.param(ROWS, marks=pytest.mark.full)], ids=["tenth", "all"]
)
def test_layer_under_the_profile_matches_rescale(profile: str, rows: int) -> None:
    acc, multiplier, shift = drawn(3)
    acc = acc[:: ROWS // rows]
    expected = tosa.rescale(Rescale(acc.astype(np.int32), multiplier.astype(np.int32),
                                    shift.astype(np.int8), PROFILES[profile], "int8",
                                    ZERO_POINT))  # fmt: skip
    graph = layer(acc, profile)
    for executor in EXECUTORS:
        session = open_session(graph, executor)
        requantization = session.requantization["conv2d_0"]
        requantization.multiplier[:] = np.tile(multiplier, rows)
        requantization.shift[:] = np.tile(31 - shift, rows)
        actual = session.run(np.zeros((1, 1, 1, 1), np.int8))
        assert np.sum(np.reshape(actual, expected.shape) != expected) == 0, executor


def test_int16_reduced_matches_rescale() -> None:
    """Accumulators of 48 bits, multipliers of 16: TOSA's scale without scale32."""
    numbers = acc, reduced, shift = drawn(4, bits=15, wide=48)
    expected = tosa.rescale(Rescale(acc, reduced.astype(np.int16), shift.astype(np.int8), SINGLE))
    assert ties(*numbers) > 10_000
    rounded_off = np.random.default_rng(5).integers(-(2**15), 2**15, CHANNELS)
    multiplier = np.maximum((reduced << 16) + rounded_off, 0)
    assert np.sum(arithmetic.requantize_int16_reduced(acc, multiplier, 15 - shift) != expected) == 0
    each = zip(acc.ravel(), np.tile(multiplier, ROWS), np.tile(15 - shift, ROWS), strict=True)
    actual = np.array([arith.requantize_int16_reduced(*one) for one in each])
    assert np.sum(actual.reshape(acc.shape) != expected) == 0


@pytest.mark.parametrize(("acc", "multiplier", "shift"), [
    (2, 2**30, 2), (-3, 2**30, 2), (2**29, 2**30, 30), (0, 2**30, 1), (0, 2**30, 63), (0, -1, 31),
])  # fmt: skip
def test_rescale_leaves_open_what_the_draws_avoid(acc: int, multiplier: int, shift: int) -> None:
    arrays = np.array([[acc]], np.int32), np.array([multiplier], np.int32)
    with pytest.raises(tosa.UnpredictableError):
        tosa.rescale(Rescale(*arrays, np.array([shift], np.int8), SINGLE))
