"""Random networks under LiteRT's three arithmetics: every layer equals LiteRT's in that mode.

Each node runs on LiteRT's own tensors, so a difference shows where it arises, and LiteRT's faults
(see `litert_faults`) do not spread; then the network runs whole where LiteRT made none. Under
xnnpack most networks mix nodes that XNNPACK takes with nodes that stay with LiteRT's kernels.
"""

from __future__ import annotations

from typing import Any

import pytest
from numpy.typing import NDArray
from oracles import litert, networks

from fuzz.agreement import (
    EXECUTORS,
    difference,
    named_inputs,
    open_session,
    operands,
    parsed,
    run_node,
)
from fuzz.litert_faults import corrected
from npusim import Graph, delegation

TENTH = range(50)
REST = range(50, 500)
MODES = {"litert-ref": "ref", "litert-x86": "x86", "xnnpack": "xnnpack"}
REFUSAL = "failed to create XNNPACK runtime"  # of a multiplier of 2^8 or more


@pytest.mark.parametrize("profile", MODES)
@pytest.mark.parametrize(
    "seeds", [TENTH, pytest.param(REST, marks=pytest.mark.full)], ids=["tenth", "rest"]
)
def test_network_matches_litert(
    profile: str, seeds: range, record_property: pytest.RecordProperty
) -> None:
    found: list[str] = []
    refused = mixed = 0
    for network in (networks.network(seed, biased=True) for seed in seeds):
        try:
            tensors = litert.trace(network.model, [network.x], MODES[profile])
        except RuntimeError as refusal:
            if not str(refusal).startswith(REFUSAL):
                raise
            refused += 1
            continue
        graph = parsed(network.model, "network", profile)
        mixed += len({delegation.takes(graph, node) for node in graph.nodes}) == 2
        faults = [*differing(graph, tensors)]
        found += [f"{fault}; {network.description}" for fault in faults]
    record_property("refused", refused)
    assert not found, "\n".join(found)
    assert refused <= len(seeds) // 20
    assert mixed > len(seeds) // 2


def differing(graph: Graph, tensors: dict[int, NDArray[Any]]) -> list[str]:
    """One line for each node, or tensor of a whole run, that is not LiteRT's, or not right."""
    found, right = [], True
    for k, node in enumerate(graph.nodes):
        given = tensors[graph.tensors[node.outputs[0]].stream]
        expected = corrected(graph, node, operands(graph, node, tensors), given)
        right = right and difference(given, expected) is None
        for executor in EXECUTORS:
            fault = difference(run_node(graph, k, tensors, executor), expected)
            found += [f"{executor}: {node.name}: {fault}"] * (fault is not None)
    return found + (whole_run(graph, tensors) if right else [])


def whole_run(graph: Graph, tensors: dict[int, NDArray[Any]]) -> list[str]:
    """One line for each tensor of a run that is not as given."""
    session = open_session(graph, EXECUTORS[-1], threads=2)
    x = [tensors[graph.tensors[i].stream] for i in graph.inputs]
    streams = {tensor.name: tensor.stream for tensor in graph.tensors}
    traced = session.trace(named_inputs(graph, x))
    faults = ((name, difference(y, tensors[streams[name]])) for name, y in traced)
    return [f"whole run: {name}: {fault}" for name, fault in faults if fault]
