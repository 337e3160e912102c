"""A device that runs a graph and has faults: what it dumps, and where the faults lie."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from faults import FAULTS, Fault, Values
from graphs import Draft, codes

from npusim import parameters, reference
from npusim.graph import Graph, Quantization, Tensor

IMAGES = 3
FEWEST, FEWEST_TIES = 12, 2
"""Differing elements that a fault must cause to count as one; results between codes are rare."""


class Dumped(NamedTuple):
    """What a faulty device left behind.

    graph    what it should have computed
    tensors  name -> values, inputs first, in the order of execution
    faults   tensor with a fault -> kind of cause, in that order
    """

    graph: Graph
    tensors: Mapping[str, np.ndarray]
    faults: Mapping[str, str]


def network(seed: int) -> Graph:
    """Two branches of convolutions, their sum, pools and a classifier, of random sizes."""
    rng = np.random.default_rng([0xD1FF, seed])
    draft = Draft(seed)
    side = int(rng.integers(7, 12))
    x = draft.input((1, side, side + 1, int(rng.integers(2, 5))))
    width = int(rng.integers(5, 10))
    y = draft.conv2d(x, width, activation=str(rng.choice(["none", "relu"])))
    z = draft.depthwise_conv2d(y, activation="relu")
    y = draft.conv2d(draft.node("add", (y, z), activation="none"), width + 3, stride=(2, 2))
    y = draft.conv2d(y, width + 2, (1, 1), activation="relu6")
    y = draft.node("average_pool2d", (y,), kernel=(2, 2), stride=(1, 1), padding="same",
                   activation="none")  # fmt: skip
    y = draft.node("mean", (y,), axes=(1, 2), keep_dims=False)
    return draft.graph(draft.fully_connected(y, 6))


def with_ties(graph: Graph) -> Graph:
    """The graph with powers of two as scales of its weights."""

    def simple(tensor: Tensor) -> Tensor:
        q = tensor.quantization
        if tensor.dtype != "int8" or tensor.data is None or q is None:
            return tensor
        powers = np.exp2(np.round(np.log2(q.scale))).astype(np.float32)
        return replace(tensor, quantization=Quantization(powers, q.zero_point, q.axis))

    return replace(graph, tensors=tuple(map(simple, graph.tensors)))


def run(graph: Graph, values: Values, nodes: range) -> None:
    """Execute nodes; values of their outputs are stored."""
    bound = [parameters.bind(graph, node) for node in graph.nodes]
    reference.execute(graph, nodes, bound, values)


def healthy(graph: Graph, seed: int) -> Values:
    """Every tensor of a run on random images."""
    values = {i: t.data for i, t in enumerate(graph.tensors) if t.data is not None}
    for i in graph.inputs:
        values[i] = codes(graph, IMAGES, seed)[graph.tensors[i].name]
    run(graph, values, range(len(graph.nodes)))
    return values


def dump(seed: int, *names: str) -> Dumped:
    """What a device with faults of FAULTS dumps, one behind the other; drawn from the seed."""
    rng = np.random.default_rng([seed, *"".join(names).encode()])
    for attempt in range(100):
        graph = network(100 * seed + attempt)
        graph = with_ties(graph) if any(FAULTS[name].ties for name in names) else graph
        values, dumped = healthy(graph, seed), {}
        faults: dict[str, str] = {}
        first = 0
        for name in names:
            found = _inject(rng, graph, values, FAULTS[name], first)
            if found is not None:
                node, wrong = found
                first = node + 1
                output = graph.nodes[node].outputs[0]
                faults[graph.tensors[output].name] = FAULTS[name].kind
                dumped[output] = wrong
                if not FAULTS[name].dumped:
                    values[output] = wrong
                    run(graph, values, range(first, len(graph.nodes)))
        if len(faults) == len(names):
            return Dumped(graph, named(graph, values | dumped), faults)
    raise AssertionError(f"no network of seed {seed} shows the faults {names}")


def _inject(
    rng: Any, graph: Graph, values: Values, fault: Fault, first: int
) -> tuple[int, np.ndarray] | None:
    """A node from `first` on with the fault, and its wrong output; None if none shows it."""
    fewest = FEWEST_TIES if fault.ties else FEWEST
    for k in first + rng.permutation(len(graph.nodes) - first):
        node = graph.nodes[k]
        wrong = fault.make(rng, graph, node, values) if node.op in fault.ops else None
        if wrong is not None and np.count_nonzero(wrong != values[node.outputs[0]]) >= fewest:
            return int(k), wrong
    return None


def named(graph: Graph, values: Values) -> dict[str, np.ndarray]:
    """Inputs and activations by name, in the order of execution."""
    order = (*graph.inputs, *(i for node in graph.nodes for i in node.outputs))
    return {graph.tensors[i].name: values[i] for i in order}
