"""Nodes with a profile of their own: each equals the program that its profile names, from its own
inputs, whatever the profile of the graph is; the other nodes are not touched."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from oracles import litert, networks, tflm
from oracles.networks import Network

from fuzz.agreement import (
    EXECUTORS,
    difference,
    named_inputs,
    open_session,
    operands,
    parsed,
    run_node,
)
from fuzz.litert_layers import Tensors, differing_layers, expected_of
from npusim import Graph, delegation
from npusim.graph import Node
from npusim.rules import MOVING, with_rules

FEW, REST = range(12), range(12, 120)
SEEDS = [FEW, pytest.param(REST, marks=pytest.mark.full)]
MODES = {"litert-ref": "ref", "litert-x86": "x86", "xnnpack": "xnnpack"}
AROUND = ("tflm", "single-rounding", "neural-art", "onnx", "xnnpack", "litert-x86")
"""Profiles of the graph, in turn."""


def traced(network: Network, profile: str) -> Tensors | None:
    """Every tensor as the profile's program makes it; None for a model that it refuses."""
    try:
        if profile == "tflm":
            return tflm.trace(network.model, [network.x])
        return litert.trace(network.model, [network.x], MODES[profile])
    except RuntimeError:
        return None


def around(network: Network, seed: int, profile: str) -> Graph:
    """The network under another profile."""
    others = [name for name in AROUND if name != profile]
    return parsed(network.model, "network", others[seed % len(others)])


@pytest.mark.parametrize("profile", ["tflm", *MODES])
@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "rest"])
def test_node_matches_the_program_of_its_own_profile(profile: str, seeds: range) -> None:
    found: list[str] = []
    judged = left = 0
    for seed in seeds:
        network = networks.network(seed, biased=True)
        tensors = traced(network, profile)
        if tensors is None:
            continue
        plain = around(network, seed, profile)
        graph = with_rules(plain, {node.name: profile for node in plain.nodes})
        left += sum(not delegation.takes(graph, node) for node in graph.nodes)
        judged += len(graph.nodes)
        found += [f"{line} in {plain.profile}; {network.description}"
                  for line in differing_layers(graph, tensors)]  # fmt: skip
    assert not found, "\n".join(found)
    assert judged > 3 * len(seeds)
    assert left  # so that xnnpack, too, has had nodes which it leaves to others


@pytest.mark.parametrize("profile", MODES)
@pytest.mark.parametrize("seeds", SEEDS, ids=["few", "rest"])
def test_one_node_in_a_whole_run_matches_litert(profile: str, seeds: range) -> None:
    """A node of tflm's run that reads what LiteRT read; the rest stays tflm's."""
    found: list[str] = []
    judged = told_apart = 0
    for seed in seeds:
        network = networks.network(seed, biased=True)
        tensors = traced(network, profile)
        if tensors is None:
            continue
        plain = parsed(network.model, "network", "tflm")
        for executor in EXECUTORS:
            usual = whole_run(plain, network.x, executor)
            for node in same_inputs(plain, usual, tensors):
                run = whole_run(with_rules(plain, {node.name: profile}), network.x, executor)
                found += faults(plain, node.name, run, tensors, profile)
                made = plain.tensors[node.outputs[0]].stream
                told_apart += not np.array_equal(run[made], usual[made])
                judged += 1
    assert not found, "\n".join(found)
    assert judged > 2 * len(seeds)
    assert told_apart


def same_inputs(graph: Graph, run: Tensors, tensors: Tensors) -> list[Node]:
    """Nodes that compute, and read in a run what LiteRT read."""
    return [
        node
        for node in graph.nodes
        if node.op not in MOVING
        and all(map(np.array_equal, operands(graph, node, run), operands(graph, node, tensors)))
    ]


def whole_run(graph: Graph, x: np.ndarray, executor: str) -> Tensors:
    """Every tensor of a run by its index in the file."""
    streams = {tensor.name: tensor.stream for tensor in graph.tensors}
    trace = open_session(graph, executor).trace(named_inputs(graph, [x]))
    return {streams[name]: values for name, values in trace}


def faults(plain: Graph, own: str, run: Tensors, tensors: Tensors, profile: str) -> Iterator[str]:
    """Nodes of a run with one node of another profile that made something else than they must."""
    mixed = with_rules(plain, {own: profile})
    for k, node in enumerate(plain.nodes):
        made = run[plain.tensors[node.outputs[0]].stream]
        if node.name == own:
            expected = expected_of(mixed, node, tensors)
        else:
            expected = run_node(plain, k, run, "numpy")
        if fault := difference(made, expected):
            yield f"{plain.name}/{node.name}, {own} under {profile}: {fault}"
