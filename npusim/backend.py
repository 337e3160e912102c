"""Two ways to execute a graph, with equal bits: the NumPy reference and the compiled kernels.

Both take rows of bytes (one per image) that hold some tensors, run a range of nodes, and return
rows that hold others. NPUSIM_ISA in the environment chooses: `numpy`, or `portable` (the default).
"""

import os
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Protocol

import numpy as np

from . import parameters, reference
from .arena import Buffer, tensor_bytes
from .graph import Graph
from .headroom import (
    AccumulatorError,
    accumulator_of,
    multiplied,
    order_matters,
    overflow_message,
    product_bound,
    wraps_as_int32,
)
from .kernels import table
from .kernels.structs import Requantization
from .plan import Plan, build_plan
from .requantization import follow, reads_scale, weighted

ISAS = ("portable", "numpy")


@dataclass(frozen=True)
class Layout:
    """Which tensors a row of bytes holds, one after the other.

    tensors   indices
    columns   first byte of each
    sizes     bytes of each
    """

    tensors: tuple[int, ...]
    columns: tuple[int, ...]
    sizes: tuple[int, ...]

    @classmethod
    def of(cls, graph: Graph, tensors: Iterable[int]) -> "Layout":
        """The layout of these tensors in this order."""
        chosen = tuple(tensors)
        sizes = tuple(tensor_bytes(graph, i) for i in chosen)
        columns = tuple(sum(sizes[:k]) for k in range(len(sizes)))
        return cls(chosen, columns, sizes)

    @property
    def width(self) -> int:
        """Bytes of a row."""
        return sum(self.sizes)

    def read(self, graph: Graph, rows: np.ndarray) -> dict[int, np.ndarray]:
        """tensor -> values (rows * shape[0], ..)"""
        out = {}
        for i, column, size in zip(self.tensors, self.columns, self.sizes, strict=True):
            tensor = graph.tensors[i]
            values = np.ascontiguousarray(rows[:, column : column + size]).view(tensor.dtype)
            shape = tensor.shape or (1,)
            aligned = np.require(values, requirements="A")
            out[i] = aligned.reshape(len(rows) * shape[0], *shape[1:])
        return out

    def write(self, values: dict[int, np.ndarray], count: int) -> np.ndarray:
        """int8 (count, width) from tensor -> values (count * shape[0], ..)"""
        rows = np.empty((count, self.width), np.int8)
        for i, column, size in zip(self.tensors, self.columns, self.sizes, strict=True):
            flat = np.ascontiguousarray(values[i]).reshape(-1).view(np.int8)
            rows[:, column : column + size] = flat.reshape(count, size)
        return rows


class Backend(Protocol):
    """What a session needs of an executor; arrays returned are live and read at every run."""

    def constant(self, tensor: int) -> np.ndarray:
        """The array of a constant, in its shape."""

    def requantization(self, node: int) -> Requantization:
        """Multiplier, shift and scale of a weighted node."""

    def execute(
        self, entry: Layout, source: np.ndarray, nodes: slice, leave: Layout, keep_all: bool
    ) -> np.ndarray:
        """Run `nodes` for every row of `source`; rows laid out as `leave`.

        raises   ArithmeticError where an accumulator that must not overflow does
        """


def make_backend(graph: Graph, trainable: frozenset[int], threads: int) -> Backend:
    """The backend that NPUSIM_ISA names; ValueError lists those there are."""
    if chosen_isa() == "numpy":
        return NumpyBackend(graph)
    return CompiledBackend(graph, trainable, threads)


def chosen_isa() -> str:
    """What NPUSIM_ISA names; ValueError lists those there are."""
    isa = os.environ.get("NPUSIM_ISA", ISAS[0])
    if isa not in ISAS:
        raise ValueError(f"NPUSIM_ISA must be one of {', '.join(ISAS)}, got {isa!r}")
    return isa


class Following:
    """Real multipliers that follow the multipliers and shifts a caller changes between runs."""

    def __init__(self, graph: Graph, live: Callable[[int], Requantization]) -> None:
        bound = {k: weighted(graph, node) for k, node in multiplied(graph).items()}
        self._pairs = [(live(k), r) for k, r in bound.items() if reads_scale(r)]

    def follow(self) -> None:
        """Bring them up to date, in place."""
        for live, bound in self._pairs:
            follow(live, bound)


class NumpyBackend:
    """The reference: whole batches in NumPy int64."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._constants = {
            i: np.array(t.data) for i, t in enumerate(graph.tensors) if t.data is not None
        }
        self._bound = [_writeable(parameters.bind(graph, node)) for node in graph.nodes]
        self._following = Following(graph, self.requantization)

    def constant(self, tensor: int) -> np.ndarray:
        return self._constants[tensor]

    def requantization(self, node: int) -> Requantization:
        (found,) = (s for s in self._bound[node] if isinstance(s, Requantization))
        return found

    def execute(
        self, entry: Layout, source: np.ndarray, nodes: slice, leave: Layout, keep_all: bool
    ) -> np.ndarray:
        if not len(source):
            return np.empty((0, leave.width), np.int8)
        self._following.follow()
        try:
            return self._execute(entry, source, nodes, leave)
        except ArithmeticError:
            pass  # of the node it met first; report the image that comes first, as kernels do

        def fails(last: int) -> bool:
            try:
                self._execute(entry, source[: last + 1], nodes, leave)
            except ArithmeticError:
                return True
            return False

        first = bisect_left(range(len(source) - 1), True, key=fails)
        return self._execute(entry, source[: first + 1], nodes, leave)

    def _execute(
        self, entry: Layout, source: np.ndarray, nodes: slice, leave: Layout
    ) -> np.ndarray:
        values = self._constants | entry.read(self._graph, source)
        chosen = range(len(self._graph.nodes))[nodes]
        reference.execute(self._graph, chosen, self._bound, values)
        return leave.write(values, len(source))


class CompiledBackend:
    """The kernels: one compiled executor walks the plan's table, one arena per thread."""

    def __init__(self, graph: Graph, trainable: frozenset[int], threads: int) -> None:
        from .kernels.executor import execute  # numba is needed, and loaded, only here

        self._executor = execute
        self._graph = graph
        self._trainable = trainable
        self._plan = build_plan(graph, trainable)
        self._constants = self._plan.constants
        self._threads = threads
        self._arenas: list[np.ndarray] = []
        self._following = Following(graph, self.requantization)
        self._products = {
            k: product_bound(graph, node, trainable)
            for k, node in multiplied(graph).items()
            if node.inputs[2] not in trainable and not wraps_as_int32(accumulator_of(graph, node))
        }

    def constant(self, tensor: int) -> np.ndarray:
        t = self._graph.tensors[tensor]
        return self._view(self._plan.buffers[tensor], t.dtype).reshape(t.shape)

    def requantization(self, node: int) -> Requantization:
        derived = weighted(self._graph, self._graph.nodes[node])
        multiplier, shift, scale = self._plan.scales[node]
        return derived._replace(
            multiplier=self._view(multiplier, "int32"),
            shift=self._view(shift, "int32"),
            scale=self._view(scale, "float64"),
        )

    def execute(
        self, entry: Layout, source: np.ndarray, nodes: slice, leave: Layout, keep_all: bool
    ) -> np.ndarray:
        self._following.follow()
        plan = self._tracing_plan if keep_all else self._plan
        sink = np.empty((len(source), leave.width), np.int8)
        rows, loads, stores = self._rows(plan)[nodes], _moves(plan, entry), _moves(plan, leave)

        def run(images: slice) -> np.ndarray:
            fault = np.full(4, -1, np.int64)
            with self._arena(plan.arena_bytes) as arena:
                self._executor(rows, arena, self._constants, loads, source[images],
                               stores, sink[images], fault)  # fmt: skip
            fault[0] += images.start if fault[0] >= 0 else 0
            return fault

        slices = _slices(len(source), self._threads)
        self._raise_first(
            [run(slices[0])] if len(slices) == 1 else list(self._pool.map(run, slices))
        )
        return sink

    def _rows(self, plan: Plan) -> np.ndarray:
        """The plan's table with the kernels that the present biases need.

        The plan counts on the biases it was made with, and all of them may change at any time.
        """
        if not self._products:
            return plan.table
        rows = plan.table.copy()
        for k, products in self._products.items():
            node = self._graph.nodes[k]
            start = np.abs(self.constant(node.inputs[2]).astype(np.int64))
            a = accumulator_of(self._graph, node)
            ordered = order_matters(int((start + products).max()), a)
            name = f"{node.op}_ordered" if ordered else node.op
            rows[k, table.OPERATION] = table.OPERATIONS.index(name)
        return rows

    @contextmanager
    def _arena(self, nbytes: int) -> Iterator[np.ndarray]:
        """Memory for one thread, kept for the next run."""
        try:
            arena = self._arenas.pop()
        except IndexError:  # all are in use; asking first would not do, threads come at once
            arena = np.empty(nbytes, np.int8)
        if len(arena) < nbytes:
            arena = np.empty(nbytes, np.int8)
        yield arena
        self._arenas.append(arena)

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._threads, thread_name_prefix="npusim")

    @cached_property
    def _tracing_plan(self) -> Plan:
        """A plan that keeps every tensor; constants lie where the first plan has them."""
        return build_plan(self._graph, self._trainable, keep_all=True)

    def _view(self, buffer: Buffer, dtype: str) -> np.ndarray:
        return self._constants[buffer.offset : buffer.offset + buffer.nbytes].view(dtype)

    def _raise_first(self, faults: list[np.ndarray]) -> None:
        found = [fault for fault in faults if fault[0] >= 0]
        if not found:
            return
        image, node_index, index, value = min(found, key=lambda fault: int(fault[0])).tolist()
        node = self._graph.nodes[node_index]
        outputs = prod(self._graph.tensors[node.outputs[0]].shape)
        overflow = AccumulatorError(image * outputs + index, value)
        raise ArithmeticError(overflow_message(self._graph, node, overflow))


def _slices(images: int, threads: int) -> list[slice]:
    """Contiguous, nearly equal parts of a batch; at least one, none of them empty."""
    parts = max(1, min(threads, images))
    edges = [images * k // parts for k in range(parts + 1)]
    return [slice(a, b) for a, b in pairwise(edges)]


def _moves(plan: Plan, layout: Layout) -> np.ndarray:
    """int64 (n, 3): column of the row, arena offset, bytes."""
    places = [plan.buffers[i] for i in layout.tensors]
    assert all(b.space == table.ARENA for b in places)
    moves = [(c, b.offset, s) for c, b, s in zip(layout.columns, places, layout.sizes, strict=True)]
    return np.array(moves, np.int64).reshape(-1, 3)


def _writeable(structs: tuple) -> tuple:
    """Structs whose multipliers, shifts and scales may be changed in place."""
    return tuple(
        s._replace(multiplier=s.multiplier.copy(), shift=s.shift.copy(), scale=s.scale.copy())
        if isinstance(s, Requantization)
        else s
        for s in structs
    )
