"""Every operator, 2,000 random cases: zero elements differ from TFLite Micro's."""

import pytest
from oracles import cases, tflm

from fuzz.agreement import disagreements

TENTH = range(200)
REST = range(200, 2000)


@pytest.mark.parametrize("op", cases.OPERATORS)
@pytest.mark.parametrize(
    "seeds", [TENTH, pytest.param(REST, marks=pytest.mark.full)], ids=["tenth", "rest"]
)
def test_operator_matches_tflm(op: str, seeds: range) -> None:
    found: list[str] = []
    for case in (cases.case(op, seed) for seed in seeds):
        (expected,) = tflm.run(case.model, case.inputs)
        found += disagreements(case, expected)
    assert not found, "\n".join(found)
