"""A plan: the graph as an operation table, with every tensor's place in memory decided.

The plan owns the physical layout. Constants, biases, multipliers and shifts lie in one block that
the kernels read at every run, so that changing a weight in place takes effect at once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from .arena import Buffer, Lifetime, lifetimes, place
from .binding import Binding, Constants, bind, scratch_bytes
from .graph import Graph
from .kernels import table


@dataclass(frozen=True)
class Plan:
    """What the compiled executor walks.

    table        int64 (nodes, table.WIDTH)
    constants    int8, one block
    arena_bytes  memory each thread needs
    buffers      place of every tensor
    scales       weighted node's index -> places of its multiplier, shift and scale
    """

    table: np.ndarray
    constants: np.ndarray
    arena_bytes: int
    buffers: Mapping[int, Buffer]
    scales: Mapping[int, tuple[Buffer, Buffer, Buffer]]

    def kernel(self, node: int) -> str:
        """Name of the kernel that executes a node."""
        return table.OPERATIONS[int(self.table[node, table.OPERATION])]


def build_plan(graph: Graph, trainable: Iterable[int] = (), keep_all: bool = False) -> Plan:
    """Decide kernels and places for a checked graph whose weighted nodes all have a bias.

    trainable   indices of constants whose values may change
    keep_all    no tensor's memory is used again (for traces)
    """
    constants = Constants()
    buffers = {
        i: constants.add(tensor.data)
        for i, tensor in enumerate(graph.tensors)
        if tensor.data is not None
    }
    activations, scratch, arena_bytes = _place_activations(graph, buffers, keep_all)
    buffers |= activations
    rows = np.zeros((len(graph.nodes), table.WIDTH), np.int64)
    scales = {}
    for index, node in enumerate(graph.nodes):
        rows[index, table.NODE] = index
        binding = Binding(graph, buffers, constants, frozenset(trainable), scratch[index],
                          rows[index])  # fmt: skip
        bind(binding, node)
        if binding.scales is not None:
            scales[index] = binding.scales
    return Plan(rows, constants.block(), arena_bytes, buffers, scales)


def _place_activations(
    graph: Graph, constants: Mapping[int, Buffer], keep_all: bool
) -> tuple[dict[int, Buffer], list[Buffer], int]:
    """Places of activations and of every node's scratch, and the arena's size."""
    owner = _aliases(graph)
    tensors = lifetimes(graph, owner, keep_all)
    scratch = [Lifetime(scratch_bytes(graph, node), k, k) for k, node in enumerate(graph.nodes)]
    requests = [*tensors.values(), *scratch]
    offsets, size = place(requests)
    places = [
        Buffer(table.ARENA, offset, request.nbytes)
        for offset, request in zip(offsets, requests, strict=True)
    ]
    buffers = dict(zip(tensors, places, strict=False))
    buffers |= {alias: buffers[origin] for alias, origin in owner.items()}
    return buffers, places[len(tensors) :], size


def _aliases(graph: Graph) -> dict[int, int]:
    """Outputs of reshape share their input's memory."""
    owner: dict[int, int] = {}
    for node in graph.nodes:
        source = node.inputs[0]
        if node.op == "reshape" and graph.tensors[source].kind != "constant":
            owner[node.outputs[0]] = owner.get(source, source)
    return owner
