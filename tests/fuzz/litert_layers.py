"""A graph, layer by layer, against the tensors that LiteRT made of the same model."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from fuzz.agreement import (
    EXECUTORS,
    difference,
    named_inputs,
    open_session,
    operands,
    run_node,
)
from fuzz.litert_faults import corrected
from npusim import Graph
from npusim.graph import Node

Tensors = dict[int, NDArray[Any]]
"""Arrays by the stream of the tensor they belong to."""


def differing_layers(graph: Graph, tensors: Tensors) -> list[str]:
    """One line for each node that does not make of LiteRT's tensors what LiteRT makes of them.

    Where LiteRT is known to be wrong, what it should have made.
    """
    found = []
    for k, node in enumerate(graph.nodes):
        expected = expected_of(graph, node, tensors)
        for executor in EXECUTORS:
            fault = difference(run_node(graph, k, tensors, executor), expected)
            if fault:
                found.append(f"{executor}: {graph.name}/{node.name}: {fault}")
    return found


def right_throughout(graph: Graph, tensors: Tensors) -> bool:
    """Whether LiteRT made none of its known faults."""
    return all(
        difference(
            tensors[graph.tensors[node.outputs[0]].stream], expected_of(graph, node, tensors)
        )
        is None
        for node in graph.nodes
    )


def differing_run(graph: Graph, tensors: Tensors) -> list[str]:
    """One line for each tensor of a run of the whole graph that is not LiteRT's."""
    session = open_session(graph, EXECUTORS[-1], threads=2)
    x = [tensors[graph.tensors[i].stream] for i in graph.inputs]
    streams = {tensor.name: tensor.stream for tensor in graph.tensors}
    traced = session.trace(named_inputs(graph, x))
    faults = ((name, difference(y, tensors[streams[name]])) for name, y in traced)
    return [f"whole run: {name}: {fault}" for name, fault in faults if fault]


def expected_of(graph: Graph, node: Node, tensors: Tensors) -> NDArray[Any]:
    """What LiteRT makes of its own tensors; where it is known to be wrong, what it should make."""
    given = tensors[graph.tensors[node.outputs[0]].stream]
    return corrected(graph, node, operands(graph, node, tensors), given)
