"""Every operator under LiteRT's three arithmetics: zero elements differ from LiteRT in that mode.

2,000 random cases each. Cases that LiteRT refuses are counted apart, and must be the smaller part.
Where LiteRT is known to be wrong the right value stands in for it, see `litert_faults`.
"""

from __future__ import annotations

import numpy as np
import pytest
from oracles import cases, litert
from oracles.cases import Case

from fuzz.agreement import disagreements, operands, parsed
from fuzz.litert_faults import corrected

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
            expected = right(case, profile, asked(case, MODES[profile]))
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


def right(case: Case, profile: str, expected: np.ndarray) -> np.ndarray:
    """LiteRT's output with the right values where it is known to be wrong."""
    graph = parsed(case.model, case.op, profile)
    (node,) = graph.nodes
    given = {graph.tensors[i].stream: x for i, x in zip(graph.inputs, case.inputs, strict=True)}
    return corrected(graph, node, operands(graph, node, given), expected)
