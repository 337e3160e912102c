"""Random networks under the profile neural-art: both backends equal, every layer as the naive twin.

Each layer is judged from the inputs it had. A third of the nodes has all parameters drawn, a third
some of them, the rest goes by the rules.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from naive import neural_art as naive
from oracles import networks

from fuzz import neural_art_draws as draws
from fuzz.agreement import EXECUTORS, difference, named_inputs, open_session
from npusim.affine import zero_point
from npusim.formats import tflite
from npusim.graph import Graph, ModelError, Node
from npusim.neural_art.settle import settle
from npusim.neural_art.stored import family

FEW = range(60)
MANY = range(60, 1200)
COUNTS = [FEW, pytest.param(MANY, marks=pytest.mark.full)]


def drawn_graph(seed: int) -> tuple[Graph, np.ndarray] | None:
    """A random network with random parameters, and its input; None if Neural-ART cannot hold it."""
    network = networks.network(seed)
    graph = replace(tflite.parse(network.model, "network"), profile="neural-art")
    try:
        return settle(graph, draws.parameters(graph, np.random.default_rng(seed))), network.x
    except ModelError as error:
        assert "scales must give a coefficient below 2^15" in str(error)  # noqa: PT017
        return None


@pytest.mark.parametrize("seeds", COUNTS, ids=["few", "many"])
def test_every_layer_matches_naive(seeds: range) -> None:
    found: list[str] = []
    refused = 0
    for seed in seeds:
        drawn = drawn_graph(seed)
        if drawn is None:
            refused += 1
            continue
        graph, x = drawn
        traces = {}
        for executor in EXECUTORS:
            session = open_session(graph, executor, threads=1 + seed % 2)
            traces[executor] = dict(session.trace(named_inputs(graph, [x])))
        for name, expected in traces["numpy"].items():
            fault = difference(traces["portable"][name], expected)
            if fault:
                found.append(f"network({seed}) {name}: portable: {fault}")
        found += (f"network({seed}) {line}" for line in naive_faults(graph, traces["numpy"]))
    assert not found, "\n".join(found)
    assert refused * 10 < len(seeds)


def naive_faults(graph: Graph, trace: dict[str, np.ndarray]) -> Iterator[str]:
    """Nodes whose output is not what the naive twin makes of their inputs."""
    for node in graph.nodes:
        if family(graph, node) is None:
            continue
        output = trace[graph.tensors[node.outputs[0]].name]
        expected = naive_output(graph, node, trace).reshape(output.shape)
        if not np.array_equal(output, expected):
            differing = int(np.sum(output != expected))
            yield f"{node.name}: {differing} of {output.size} differ from the naive twin"


def naive_output(graph: Graph, node: Node, trace: dict[str, np.ndarray]) -> np.ndarray:
    """A node on Neural-ART in Python integers."""
    tensors = [graph.tensors[i] for i in node.inputs]
    operands = [trace[t.name] if t.data is None else t.data for t in tensors]
    if node.op == "add":
        return naive.add(*operands, draws.unit_sum(graph, node))
    if node.op == "mean":
        return naive.mean(operands[0], draws.average(node))
    tail, zero = draws.tail(graph, node), zero_point(tensors[0])
    if node.op == "fully_connected":
        return naive.fully_connected(operands[0], operands[1], zero, tail)
    a = node.attributes
    window = (a["stride"], a["dilation"], a["padding"].upper())
    return getattr(naive, node.op)(operands[0], operands[1], zero, window, tail)
