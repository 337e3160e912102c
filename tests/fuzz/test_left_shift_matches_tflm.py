"""MUL with multipliers up to 2^30: its left shift wraps at 32 bits, as in C on a CPU."""

from __future__ import annotations

import numpy as np
import pytest
from naive import operators
from oracles import draws, tflite_builder, tflm
from oracles.tflite_builder import Tensor

from fuzz.agreement import EXECUTORS, difference, named_inputs, open_session, parsed

SHAPE = (16, 16)


@pytest.mark.parametrize("shift", range(31))
def test_left_shift_of_mul_wraps(shift: int) -> None:
    rng = np.random.default_rng(shift)
    affines = [draws.Affine(draws.float32(scale), draws.zero_point(rng))
               for scale in (*rng.uniform(0.5, 2, 2), 2.0**-shift)]  # fmt: skip
    inputs = [draws.codes_near(rng, SHAPE, affine.zero_point, 40) for affine in affines[:2]]
    tensors = [Tensor(name, SHAPE, np.int8, *affine)
               for name, affine in zip("aby", affines, strict=True)]  # fmt: skip
    model = tflite_builder.model(tensors, [tflite_builder.mul((0, 1), 2)])
    expected = operators.mul(*inputs, tuple(affines), "none").astype(np.int8)
    assert difference(tflm.run(model, inputs)[0], expected) is None
    graph = parsed(model, "mul", "tflm")
    for executor in EXECUTORS:
        actual = open_session(graph, executor).run(named_inputs(graph, inputs))
        assert difference(actual, expected) is None, executor


def test_some_left_shifts_wrap() -> None:
    """A product that grows changes its sign: 40 * 40 << 21 is beyond int32."""
    affines = ((1.0, 0), (1.0, 0), (2.0**-21, 0))
    assert operators.mul([[40]], [[40]], affines, "none").tolist() == [[-128]]
