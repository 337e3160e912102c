"""What the oracles need to know about a .tflite file: its first subgraph and its activations."""

from __future__ import annotations

from typing import Any

from ai_edge_litert import schema_py_generated as schema


def subgraph(model: bytes) -> Any:
    """The first subgraph, as the schema's reader gives it."""
    return schema.Model.GetRootAs(model, 0).Subgraphs(0)


def activations(model: bytes) -> list[int]:
    """Indices of the tensors that are fed or computed: inputs, then outputs in execution order."""
    graph = subgraph(model)
    indices = [graph.Inputs(i) for i in range(graph.InputsLength())]
    for i in range(graph.OperatorsLength()):
        operator = graph.Operators(i)
        indices += [operator.Outputs(j) for j in range(operator.OutputsLength())]
    return indices
