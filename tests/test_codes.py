"""`npusim.quantize` at its limits, and what it refuses."""

import re

import numpy as np
import pytest

import npusim
from npusim import reference
from npusim.kernels.structs import DIVIDE_AWAY, Quantize, Rounding


def test_quantize_matches_reference():
    values = np.array([-np.inf, -64.5, -0.75, -0.25, 0, 0.25, 0.75, 64.5, np.inf], np.float32)
    expected = [-128, -126, 1, 2, 3, 4, 5, 127, 127]
    assert npusim.quantize(values, 0.5, 3, "int8").tolist() == expected
    p = Quantize(np.float32(0.5), 3, Rounding(DIVIDE_AWAY, 1, DIVIDE_AWAY))
    for dtype in ("int8", np.int8, np.dtype("uint8"), "int16"):
        actual = npusim.quantize(values, 0.5, 3, dtype)
        assert np.array_equal(actual, reference.quantize(values, p, dtype))
        assert actual.dtype == dtype


def test_quantize_takes_numbers_and_lists():
    assert npusim.quantize(1.5, 0.5, 0, "int8").tolist() == 3
    assert npusim.quantize([1.5, -1.5], 0.5, 0, "int8").tolist() == [3, -3]


REFUSED = {
    "NaN": (([1.0, np.nan, np.nan], 0.5, 0, "int8"), ValueError,
            "quantize: real numbers must not be NaN, got 2 of 3"),
    "one NaN": ((np.nan, 0.5, 0, "int8"), ValueError,
                "quantize: real numbers must not be NaN, got 1 of 1"),
    "no such type": (([1.0], 0.5, 0, "int4"), TypeError,
                     "quantize: dtype must be one of int8, uint8, int16, got 'int4'"),
    "float": (([1.0], 0.5, 0, "float32"), TypeError,
              "quantize: dtype must be one of int8, uint8, int16, got 'float32'"),
    "scale": (([1.0], 0.0, 0, "int8"), ValueError,
              "quantize: scale must be finite and above 0, got 0.0"),
    "scale NaN": (([1.0], np.nan, 0, "int8"), ValueError,
                  "quantize: scale must be finite and above 0, got nan"),
    "rule": (([1.0], 0.5, 0, "int8", "nearest"), ValueError,
             "quantize: rule must be one of divide_away, divide_even, reciprocal_even, "
             "double_away, got 'nearest'"),
}  # fmt: skip


def test_quantize_rounds_by_the_rule_asked_for():
    halves = [0.5, 1.5, -0.5, -1.5]
    assert npusim.quantize(halves, 1.0, 0, "int8").tolist() == [1, 2, -1, -2]
    assert npusim.quantize(halves, 1.0, 0, "int8", "divide_even").tolist() == [0, 2, 0, -2]
    near = np.float32([1.55])  # 15.499999 by division, 15.5 times the reciprocal, in float32
    assert npusim.quantize(near, 0.1, 0, "int8", "divide_even").tolist() == [15]
    assert npusim.quantize(near, 0.1, 0, "int8", "reciprocal_even").tolist() == [16]
    assert npusim.quantize([0.5], 1.0, 0, "int8", "double_away").tolist() == [1]


@pytest.mark.parametrize("case", REFUSED)
def test_quantize_rejects(case):
    arguments, kind, message = REFUSED[case]
    with pytest.raises(kind, match=f"^{re.escape(message)}$"):
        npusim.quantize(*arguments)
