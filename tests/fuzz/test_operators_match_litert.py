"""Every operator under LiteRT's three arithmetics: zero elements differ from LiteRT in that mode.

2,000 random cases each. Cases that LiteRT refuses are counted apart, and must be few. It refuses a
convolution without bias, and crashes on such a depthwise one: it is given zeros there, npusim none.
Where LiteRT is known to be wrong the right value stands in for it, see `litert_faults`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from formats.models import edited
from oracles import cases, litert
from oracles.cases import Case

from fuzz.agreement import disagreements, operands, parsed
from fuzz.litert_faults import corrected

TENTH = range(200)
REST = range(200, 2000)
MODES = {"litert-ref": "ref", "litert-x86": "x86", "xnnpack": "xnnpack"}
UNBIASED = ("conv2d", "depthwise_conv2d")
"""Operators that LiteRT does not run without a bias."""
MOST_REFUSED = {"dequantize": 0.5}
"""Largest share that LiteRT may refuse; of int16 codes it takes none with a zero point."""
FEW_REFUSED = 0.05
"""The same for the other operators."""


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
    assert len(refused) <= MOST_REFUSED.get(op, FEW_REFUSED) * len(seeds), refused


def asked(case: Case, mode: str) -> np.ndarray:
    """LiteRT's output; RuntimeError where it refuses the model."""
    bare = case.op in UNBIASED and case.arguments["bias"] is None
    return litert.run(with_zeros(case.model) if bare else case.model, case.inputs, mode)[0]


def with_zeros(model: bytes) -> bytes:
    """The model of one operator with a bias of zeros, whose scales are s_x * s_w."""
    return edited(model, _append_zeros)


def _append_zeros(model: Any) -> None:
    graph = model.subgraphs[0]
    (operator,) = graph.operators
    x, weights = (graph.tensors[i] for i in operator.inputs[:2])
    scales = np.float32(x.quantization.scale[0]) * np.asarray(
        weights.quantization.scale, np.float32
    )
    outputs = graph.tensors[operator.outputs[0]].shape[-1]
    bias, buffer = schema.TensorT(), schema.BufferT()
    buffer.data = np.zeros(4 * outputs, np.uint8)
    bias.name, bias.type, bias.shape = b"zeros", schema.TensorType.INT32, [outputs]
    bias.buffer, bias.quantization = len(model.buffers), schema.QuantizationParametersT()
    bias.quantization.scale = scales.tolist()
    bias.quantization.zeroPoint = [0] * scales.size
    operator.inputs = [*operator.inputs[:2], len(graph.tensors)]
    model.buffers.append(buffer)
    graph.tensors.append(bias)


def right(case: Case, profile: str, expected: np.ndarray) -> np.ndarray:
    """LiteRT's output with the right values where it is known to be wrong."""
    graph = parsed(case.model, case.op, profile)
    (node,) = graph.nodes
    given = {graph.tensors[i].stream: x for i, x in zip(graph.inputs, case.inputs, strict=True)}
    return corrected(graph, node, operands(graph, node, given), expected)
