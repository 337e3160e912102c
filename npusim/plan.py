"""A plan: the graph as an operation table, with every tensor's place in memory decided.

The plan owns the physical layout. Constants, biases, multipliers and shifts lie in one block that
the kernels read at every run, so that changing a weight in place takes effect at once.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from math import prod

import numpy as np

from . import parameters
from .arena import Buffer, Lifetime, aligned, lifetimes, place
from .graph import Graph, Node
from .headroom import WEIGHTED, accumulator, accumulator_bound, order_matters
from .kernels import table
from .kernels.structs import ERROR, SATURATE, WRAP

OVERFLOW = {"wrap": WRAP, "saturate": SATURATE, "error": ERROR}


@dataclass
class Constants:
    """The block of constants under construction: 64-byte aligned pieces."""

    pieces: list[tuple[int, np.ndarray]] = field(default_factory=list)
    size: int = 0

    def add(self, values: np.ndarray) -> Buffer:
        """Append a copy of `values`; returns its place."""
        data = np.ascontiguousarray(values).reshape(-1).view(np.int8)
        buffer = Buffer(table.CONSTANTS, self.size, data.nbytes)
        self.pieces.append((self.size, data))
        self.size = aligned(self.size + data.nbytes)
        return buffer

    def block(self) -> np.ndarray:
        """int8 (size,): all pieces."""
        out = np.zeros(self.size, np.int8)
        for offset, data in self.pieces:
            out[offset : offset + data.nbytes] = data
        return out


@dataclass(frozen=True)
class Plan:
    """What the compiled executor walks.

    table        int64 (nodes, table.WIDTH)
    constants    int8, one block
    arena_bytes  memory each thread needs
    buffers      place of every tensor
    scales       node index -> places of its int32 multiplier and shift
    """

    table: np.ndarray
    constants: np.ndarray
    arena_bytes: int
    buffers: Mapping[int, Buffer]
    scales: Mapping[int, tuple[Buffer, Buffer]]

    def kernel(self, node: int) -> str:
        """Name of the kernel that executes a node."""
        return table.OPERATIONS[int(self.table[node, table.OPERATION])]


def build_plan(graph: Graph, trainable: Iterable[int] = (), keep_all: bool = False) -> Plan:
    """Decide kernels and places for a checked graph whose weighted nodes all have a bias.

    trainable   indices of constants whose values may change
    keep_all    no tensor's memory is used again (for traces)
    """
    return _Builder(graph, frozenset(trainable), keep_all).build()


class _Builder:
    """One pass over the nodes; holds what has been decided so far."""

    def __init__(self, graph: Graph, trainable: frozenset[int], keep_all: bool) -> None:
        self.graph = graph
        self.trainable = trainable
        self.constants = Constants()
        self.scales: dict[int, tuple[Buffer, Buffer]] = {}
        self.rows = np.zeros((len(graph.nodes), table.WIDTH), np.int64)
        self.scratch: list[tuple[int, int]] = []
        self.buffers = self._place_tensors(keep_all)

    def _place_tensors(self, keep_all: bool) -> dict[int, Buffer]:
        """Places of constants, and of activations with the scratch of every node among them."""
        graph = self.graph
        buffers: dict[int, Buffer] = {}
        for i, tensor in enumerate(graph.tensors):
            if tensor.data is not None:
                buffers[i] = self.constants.add(tensor.data)
        owner = _aliases(graph)
        tensors = lifetimes(graph, owner, keep_all)
        scratch = [Lifetime(scratch_bytes(graph, node), k, k) for k, node in enumerate(graph.nodes)]
        offsets, self.arena_bytes = place([*tensors.values(), *scratch])
        for i, offset in zip(tensors, offsets, strict=False):
            buffers[i] = Buffer(table.ARENA, offset, tensors[i].nbytes)
        for alias, origin in owner.items():
            buffers[alias] = buffers[origin]
        self.scratch_offsets = offsets[len(tensors) :]
        return buffers

    def build(self) -> Plan:
        for index, node in enumerate(self.graph.nodes):
            row = self.rows[index]
            row[table.NODE] = index
            _BIND[node.op](self, index, node, row)
        return Plan(self.rows, self.constants.block(), self.arena_bytes, self.buffers,
                    self.scales)  # fmt: skip

    def operand(self, row: np.ndarray, slot: int, buffer: Buffer) -> None:
        column = table.OPERANDS + slot * table.OPERAND_COLUMNS
        row[column : column + 3] = (buffer.space, buffer.offset, buffer.nbytes)

    def vector(self, row: np.ndarray, slot: int, values: Iterable[int]) -> None:
        self.operand(row, slot, self.constants.add(np.array(tuple(values), np.int64)))

    def data(self, node: Node, row: np.ndarray, operation: int) -> None:
        """Operation, first input and output of any node."""
        row[table.OPERATION] = operation
        self.operand(row, table.X, self.buffers[node.inputs[0]])
        self.operand(row, table.Y, self.buffers[node.outputs[0]])

    def numbers(self, row: np.ndarray, *values: int) -> None:
        row[table.PARAMETERS : table.PARAMETERS + len(values)] = values

    def dtype(self, tensor: int) -> np.dtype:
        return np.dtype(self.graph.tensors[tensor].dtype)


def scratch_bytes(graph: Graph, node: Node) -> int:
    """int16 patch, then (64-byte aligned) one accumulator of 8 bytes per output channel."""
    if node.op not in WEIGHTED:
        return 0
    weights = graph.tensors[node.inputs[1]]
    patch = 0 if node.op == "depthwise_conv2d" else 2 * prod(weights.shape[1:])
    return aligned(patch) + 8 * parameters.output_channels(node, weights)


def _aliases(graph: Graph) -> dict[int, int]:
    """Outputs of reshape share their input's memory."""
    owner: dict[int, int] = {}
    for node in graph.nodes:
        source = node.inputs[0]
        if node.op == "reshape" and graph.tensors[source].kind != "constant":
            owner[node.outputs[0]] = owner.get(source, source)
    return owner


def _weighted(build: _Builder, index: int, node: Node, row: np.ndarray) -> None:
    graph = build.graph
    geometry, r = parameters.bind(graph, node)
    assert isinstance(r, parameters.Requantization)
    a = accumulator(graph)
    ordered = order_matters(accumulator_bound(graph, node, build.trainable), a)
    name = f"{node.op}_ordered" if ordered else node.op
    build.data(node, row, table.OPERATIONS.index(name))
    build.operand(row, table.WEIGHTS, build.buffers[node.inputs[1]])
    build.operand(row, table.BIAS, build.buffers[node.inputs[2]])
    build.scales[index] = build.constants.add(r.multiplier), build.constants.add(r.shift)
    build.operand(row, table.MULTIPLIER, build.scales[index][0])
    build.operand(row, table.SHIFT, build.scales[index][1])
    start, size = build.scratch_offsets[index], scratch_bytes(graph, node)
    sums = 8 * len(r.multiplier)
    build.operand(row, table.SCRATCH, Buffer(table.ARENA, start, size - sums))
    build.operand(row, table.SUMS, Buffer(table.ARENA, start + size - sums, sums))
    tail = (r.zero_point, r.act_min, r.act_max, r.rule)
    build.numbers(row, *geometry, *tail, a.bits, OVERFLOW[a.overflow])


def _reshape(build: _Builder, index: int, node: Node, row: np.ndarray) -> None:
    build.data(node, row, table.MOVE)


_BIND: Mapping[str, Callable[[_Builder, int, Node, np.ndarray], None]] = {
    "conv2d": _weighted,
    "depthwise_conv2d": _weighted,
    "fully_connected": _weighted,
    "reshape": _reshape,
}
