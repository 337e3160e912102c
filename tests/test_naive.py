"""The naive operators and rounding rules: equal to TFLite Micro, and to known values."""

import math

import numpy as np
import pytest
from naive import operators, rounding, softmax
from oracles import cases, tflm

TWINS = {op: getattr(operators, op, None) or softmax.softmax for op in cases.OPERATORS}


@pytest.mark.parametrize("op", cases.OPERATORS)
def test_naive_matches_tflm(op: str) -> None:
    for seed in range(1000, 1040):
        case = cases.case(op, seed)
        (expected,) = tflm.run(case.model, case.inputs)
        actual = TWINS[op](**case.arguments)
        assert actual.shape == expected.shape, case.description
        assert np.array_equal(actual, expected), case.description


@pytest.mark.parametrize(
    ("acc", "multiplier", "shift", "expected"),
    [
        (1, 2**30, 0, 1),  # 0.5: the product's tie goes up
        (-1, 2**30, 0, 0),  # -0.5: up as well
        (3, 2**30, 1, 3),  # exactly 1
        (2, 2**30, -1, 1),  # 1 * 0.5: the shift's tie goes away from zero
        (-2, 2**30, -1, -1),
        (5, 2**30, -1, 2),  # 5/4: 2.5 -> 3, then 1.5 -> 2; a single rounding gives 1
        (2**31 - 1, 2**31 - 1, 0, 2**31 - 2),
        (-(2**31), 2**30, 0, -(2**30)),
        (2**30, 2**30, 2, 0),  # the left shift wraps to zero
        (2**29, 2**30, 2, -(2**30)),  # and here to the smallest integer
        (12345, 0, 0, 0),
    ],
)
def test_requantize_double_rounding_has_known_values(
    acc: int, multiplier: int, shift: int, expected: int
) -> None:
    assert rounding.requantize_double_rounding(acc, multiplier, shift) == expected


@pytest.mark.parametrize(
    ("real", "expected"),
    [
        (1.0, (2**30, 1)),
        (0.5, (2**30, 0)),
        (3.0, (3 * 2**29, 2)),
        (1 - 2**-40, (2**30, 1)),  # the mantissa rounds to 2^31 and is halved
        (2.0**-32, (2**30, -31)),
        (2.0**-33, (0, 0)),
        (0.0, (0, 0)),
    ],
)
def test_quantize_multiplier_has_known_values(real: float, expected: tuple[int, int]) -> None:
    assert rounding.quantize_multiplier(real) == expected


def test_accumulators_take_saturating_steps_in_order() -> None:
    def saturate(acc: int, product: int) -> int:
        return rounding.clamp(acc + product, -100, 100)

    x, weights = [[1, 1, 1]], [[90, 90, -90]]
    exact = operators.fully_connected_accumulators(x, weights, None, 0)
    narrow = operators.fully_connected_accumulators(x, weights, None, 0, saturate)
    assert (exact[0, 0], narrow[0, 0]) == (90, 10)


def test_exp_of_negative_is_near_exp() -> None:
    for a in range(-(2**31) + 1, 1, 2**22 + 12345):
        real = math.exp(a / 2**26)
        assert abs(softmax.exp_of_negative(a) / 2**31 - real) < 2**-19


def test_reciprocal_of_one_plus_is_near_the_reciprocal() -> None:
    for a in range(0, 2**31, 2**22 + 12345):
        real = 1 / (1 + a / 2**31)
        assert abs(softmax.reciprocal_of_one_plus(a) / 2**31 - real) < 2**-26
