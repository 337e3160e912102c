"""Random networks under LiteRT's three arithmetics: every layer equals LiteRT's in that mode.

Each node runs on LiteRT's own tensors, so a difference shows where it arises, and LiteRT's faults
(see `litert_faults`) do not spread; then the network runs whole where LiteRT made none. Under
xnnpack most networks mix nodes that XNNPACK takes with nodes that stay with LiteRT's kernels.
"""

from __future__ import annotations

import pytest
from oracles import litert, networks

from fuzz.agreement import parsed
from fuzz.litert_layers import differing_layers, differing_run, right_throughout
from npusim import delegation

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
        faults = differing_layers(graph, tensors)
        if not faults and right_throughout(graph, tensors):
            faults = differing_run(graph, tensors)
        found += [f"{fault}; {network.description}" for fault in faults]
    record_property("refused", refused)
    assert not found, "\n".join(found)
    assert refused <= len(seeds) // 20
    assert mixed > len(seeds) // 2
