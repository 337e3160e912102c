"""Every operator under LiteRT's three arithmetics: zero elements differ from LiteRT in that mode.

2,000 random cases each. Cases that LiteRT refuses are counted apart, and must be the smaller part.
Where LiteRT is known to be wrong the right value stands in for it:
* its reference FULLY_CONNECTED converts a double beyond int32 to an integer, which C leaves
  undefined; right is the nearest int32;
* its MUL for x86 adds the zero point in 16 bits, which wrap; right is the sum;
* XNNPACK returns a broadcast of one element and several dimensions in the shape of the operand
  with fewer; right is the declared shape.
"""

from __future__ import annotations

import numpy as np
import pytest
from naive import operators, rounding
from oracles import cases, litert
from oracles.cases import Case

from fuzz.agreement import disagreements

TENTH = range(200)
REST = range(200, 2000)
MODES = {"litert-ref": "ref", "litert-x86": "x86", "xnnpack": "xnnpack"}
CRASHES = "LiteRT crashes on a depthwise convolution without bias"


@pytest.mark.parametrize("op", cases.OPERATORS)
@pytest.mark.parametrize("profile", MODES)
@pytest.mark.parametrize(
    "seeds", [TENTH, pytest.param(REST, marks=pytest.mark.full)], ids=["tenth", "rest"]
)
def test_operator_matches_litert(
    op: str, profile: str, seeds: range, record_property: pytest.RecordProperty
) -> None:
    found: list[str] = []
    refused: list[str] = []
    for case in (cases.case(op, seed) for seed in seeds):
        try:
            expected = corrected(case, MODES[profile], asked(case, MODES[profile]))
        except RuntimeError as refusal:
            refused.append(str(refusal))
            continue
        found += disagreements(case, expected, profile=profile)
    record_property("refused", len(refused))
    assert not found, "\n".join(found)
    assert len(refused) < len(seeds) / 2, refused


def asked(case: Case, mode: str) -> np.ndarray:
    """LiteRT's output; RuntimeError where it refuses the model."""
    if case.op == "depthwise_conv2d" and mode != "ref" and case.arguments["bias"] is None:
        raise RuntimeError(CRASHES)
    return litert.run(case.model, case.inputs, mode)[0]


def corrected(case: Case, mode: str, expected: np.ndarray) -> np.ndarray:
    """LiteRT's output with the right values where it is known to be wrong."""
    if (case.op, mode) == ("fully_connected", "ref"):
        return saturated(case, expected)
    if (case.op, mode) == ("mul", "x86"):
        return added_in_full(case, expected)
    if case.op in ("add", "mul") and mode == "xnnpack":
        a, b = case.arguments["a"], case.arguments["b"]
        return expected.reshape(np.broadcast_shapes(a.shape, b.shape))
    return expected


def saturated(case: Case, expected: np.ndarray) -> np.ndarray:
    """Outputs whose accumulator times M is no int32 lie at the end they passed."""
    given = case.arguments
    (x_scale, x_zero), w_scales, affine = given["quantization"]
    acc = operators.fully_connected_accumulators(
        given["x"], given["weights"], given["bias"], x_zero
    )
    reals = x_scale * np.array(w_scales) / affine.scale
    products = np.vectorize(rounding.wrap32, otypes=[object])(acc).astype(np.float64) * reals
    low, high = rounding.activation_range(given["activation"], affine)
    ends = np.where(products > 0, high, low).reshape(expected.shape)
    beyond = (np.abs(products) >= 2.0**31 - 0.5).reshape(expected.shape)
    return np.where(beyond, ends, expected).astype(np.int8)


def added_in_full(case: Case, expected: np.ndarray) -> np.ndarray:
    """Outputs that leave int16 with the zero point lie at the end they passed."""
    given = case.arguments
    (a_scale, a_zero), (b_scale, b_zero), affine = given["quantization"]
    product = (given["a"].astype(np.int64) - a_zero) * (given["b"].astype(np.int64) - b_zero)
    total = product * (a_scale * b_scale / affine.scale) + affine.zero_point
    low, high = rounding.activation_range(given["activation"], affine)
    ends = np.where(total > 0, high, low)
    return np.where(np.abs(total) > 2**15 - 2, ends, expected).astype(np.int8)
