"""Sessions: a graph, ready to run.

    source rows (one per image) -> execute the nodes -> sink rows

Running, tracing and re-running from a prefix are one operation with other nodes and other tensors
copied in and out. Images are independent, so a batch is split over threads and no bit depends on
how.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import TypeVar

import numpy as np

from .backend import Backend, Layout, make_backend
from .check import check
from .codes import input_codes
from .constants import find_constant, with_biases, with_constants
from .cost import macs
from .graph import Accumulator, Graph, ModelError, Node, Tensor
from .headroom import WEIGHTED, multiplied
from .kernels.structs import Requantization
from .neural_art.settle import check_trainable, settle
from .parameters import geometry
from .plurals import counted
from .reference.neural_art import raw_sums
from .resize import batch_separable, with_batch

Arrays = np.ndarray | Mapping[str, np.ndarray]
Results = np.ndarray | dict[str, np.ndarray]
T = TypeVar("T")


@dataclass(frozen=True)
class Prefix:
    """Every live tensor behind the first nodes of a graph, one row of bytes per image.

    rows    int8 (images, bytes)
    nodes   how many nodes have run
    """

    rows: np.ndarray
    nodes: int

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: int | slice | np.ndarray) -> "Prefix":
        """The prefix of some of the images, of one for a number."""
        rows = np.ascontiguousarray(self.rows[index]).reshape(-1, self.rows.shape[1])
        return replace(self, rows=rows)


class Session:
    """A checked graph with its memory, its constants and its threads.

    graph         a Graph
    trainable     names of constants (or of nodes, meaning their weights; `node/bias` its bias;
                  "head" and "head/bias" the classifier's, where nothing else is called so)
                  whose arrays in `weights` may be changed in place between runs
    threads       images are spread over so many threads; the processors it may use if None
    accumulator   overrides the graph's

    graph, trainable, threads   as above, with canonical names and of one image where that can be
    frozen_nodes                how many nodes stand before the first trainable one
    weights                     the array of each trainable constant, changed in place
    biases, requantization      bias, multiplier and shift of each weighted node, likewise

    raises        ModelError for an illegal graph; KeyError, TypeError, ValueError for a wrong call
    """

    def __init__(
        self,
        graph: Graph,
        *,
        trainable: Sequence[str] = (),
        threads: int | None = None,
        accumulator: Accumulator | None = None,
    ) -> None:
        graph = _with_accumulator(graph, accumulator)
        check(graph)
        self.source_graph = graph = settle(with_biases(graph))
        self.graph = with_batch(graph, 1) if batch_separable(graph) else graph
        self.threads = _thread_count(threads)
        indices = _find_constants(graph, trainable)
        check_trainable(graph, indices)
        self.trainable = tuple(dict.fromkeys(graph.tensors[i].name for i in indices))
        self.frozen_nodes = _first_user(graph, indices)
        self._backend: Backend = make_backend(self.graph, frozenset(indices), self.threads)
        self.weights: Mapping[str, np.ndarray] = _Named(
            {graph.tensors[i].name: self._backend.constant(i) for i in indices},
            {name: graph.tensors[i].name for name, i in zip(trainable, indices, strict=True)},
        )
        weighted = multiplied(self.graph)
        self.biases: Mapping[str, np.ndarray] = _OfLayers("biases", graph.profile, {
            n.name: self._backend.constant(n.inputs[2]).reshape(-1) for n in weighted.values()
        })  # fmt: skip
        self.requantization: Mapping[str, Requantization] = _OfLayers(
            "requantization", graph.profile,
            {n.name: self._backend.requantization(k) for k, n in weighted.items()},
        )  # fmt: skip
        self._inputs = self._layout(self.graph.inputs)
        self._outputs = self._layout(self.graph.outputs)
        self._lives: dict[int, Layout] = {}

    @property
    def macs(self) -> int:
        """Multiply-accumulates of the whole graph per image."""
        return self._macs(self.graph.nodes)

    @property
    def macs_from_prefix(self) -> int:
        """Multiply-accumulates of what `run_from` executes, per image."""
        return self._macs(self.graph.nodes[self.frozen_nodes :])

    def run(self, x: Arrays) -> Results:
        """The graph's outputs for a batch.

        x         array (batch, ..) for a graph with one input, else a mapping from input names;
                  codes in the input's type, or real numbers, quantised by the profile's rule
        returns   array (batch, ..) for one output, else a dict by name
        """
        rows = self._execute(self._inputs, self._encode(x), slice(None), self._outputs)
        return self._results(rows)

    def trace(self, x: Arrays) -> Iterator[tuple[str, np.ndarray]]:
        """Every input and activation with its values, in the order of execution."""
        produced = [i for node in self.graph.nodes for i in node.outputs]
        layout = self._layout((*self.graph.inputs, *produced))
        rows = self._execute(self._inputs, self._encode(x), slice(None), layout, keep_all=True)
        yield from self._named(layout, rows).items()

    def raw_sums(self, x: Arrays) -> Iterator[tuple[str, np.ndarray]]:
        """The sums of products of every weighted node, by node name, in the order of execution.

        What Neural-ART's convolution unit shows of a layer: exact, without bias, int32 in the shape
        of the node's output; a sum that leaves 24 bits is clamped. Inputs are those of `trace`, so
        they follow the profile; the sums themselves do not.
        """
        values = dict(self.trace(x))
        for node in self.graph.nodes:
            if node.op in WEIGHTED:
                source = values[self.graph.tensors[node.inputs[0]].name]
                weights = self._backend.constant(node.inputs[1])
                sums = raw_sums(node.op, source, weights, geometry(self.graph, node))
                shape = self.graph.tensors[node.outputs[0]].shape
                yield node.name, sums.reshape(-1, *shape[1:])

    def input_codes(self, x: Arrays) -> dict[str, np.ndarray]:
        """A batch as the graph's inputs hold it, by their names in the graph's order.

        x         as `run` takes it
        returns   arrays (batch, ..) of the inputs' types: codes as they are, real numbers quantised
        raises    TypeError and ValueError for what does not fit the inputs
        """
        arrays, tensors = self._named_inputs(x), [self.graph.tensors[i] for i in self.graph.inputs]
        codes = {t.name: as_codes(arrays[t.name], t, self.graph.profile) for t in tensors}
        counts = {t.name: _images(codes[t.name], t) for t in tensors}
        if len(set(counts.values())) != 1:
            raise ValueError(f"inputs must hold equally many images, got {counts}")
        return codes

    def prefix(self, x: Arrays | Prefix, until: str | None = None) -> Prefix:
        """Run the first nodes and keep what the rest needs.

        x         a batch, as `run` takes it, or a prefix, which is continued: what has run keeps
                  its values, the nodes from there on take the present weights, biases and scales
        until     name of the last node to run; the one before the first trainable if None
        raises    KeyError for an unknown node, ValueError for a prefix that is further already
        """
        if until is None:
            nodes = self.frozen_nodes
        else:
            nodes = self.graph.nodes.index(self.graph.node(until)) + 1
        entry, rows, done = self._start(x, nodes)
        return Prefix(self._execute(entry, rows, slice(done, nodes), self._live(nodes)), nodes)

    def run_from(self, prefix: Prefix) -> Results:
        """The graph's outputs, continued from a prefix with the present weights.

        raises   ValueError for a prefix behind a trainable node, or of another graph
        """
        entry, rows, done = self._start(prefix, self.frozen_nodes)
        return self._results(self._execute(entry, rows, slice(done, None), self._outputs))

    def snapshot(self) -> Graph:
        """The graph with the present weights, biases and requantisation."""
        weighted = [i for n in self.graph.nodes if n.op in WEIGHTED for i in n.inputs[1:]]
        values = {i: self._backend.constant(i) for i in weighted}
        return with_constants(self.source_graph, values, self.requantization)

    def prefix_tensor(self, prefix: Prefix, name: str) -> np.ndarray:
        """Values (batch, ..) of one tensor that a prefix holds; KeyError if it does not."""
        return self._named(self._live(prefix.nodes), prefix.rows)[name]

    def _live(self, nodes: int) -> Layout:
        """What must be kept when so many nodes have run."""
        if nodes not in self._lives:
            self._lives[nodes] = self._layout(live_tensors(self.graph, nodes))
        return self._lives[nodes]

    def _layout(self, tensors: Iterable[int]) -> Layout:
        return Layout.of(self.graph, tensors)

    def _start(self, x: Arrays | Prefix, last: int) -> tuple[Layout, np.ndarray, int]:
        """Where to begin: layout and rows of what is there, and how many nodes have run."""
        if not isinstance(x, Prefix):
            return self._inputs, self._encode(x), 0
        if x.nodes > last:
            raise ValueError(
                f"prefix: must stand behind {counted(last, 'node')} of {self.graph.name} at most, "
                f"got one behind {x.nodes}"
            )
        live = self._live(x.nodes)
        if x.rows.shape[1] != live.width:
            raise ValueError(
                f"prefix: must be one that this session made, {live.width} bytes an image, "
                f"got {x.rows.shape[1]}"
            )
        return live, x.rows, x.nodes

    def _execute(
        self, entry: Layout, source: np.ndarray, nodes: slice, leave: Layout, keep_all: bool = False
    ) -> np.ndarray:
        try:
            return self._backend.execute(entry, source, nodes, leave, keep_all)
        except ArithmeticError as error:
            raise ModelError(str(error)) from None

    def _encode(self, x: Arrays) -> np.ndarray:
        """Rows of bytes for the graph's inputs."""
        codes = list(self.input_codes(x).values())
        first = self.graph.tensors[self.graph.inputs[0]]
        return self._inputs.write(dict(zip(self.graph.inputs, codes, strict=True)),
                                  _images(codes[0], first))  # fmt: skip

    def _named_inputs(self, x: Arrays) -> Mapping[str, np.ndarray]:
        names = [self.graph.tensors[i].name for i in self.graph.inputs]
        if not isinstance(x, Mapping):
            if len(names) != 1:
                raise TypeError(f"inputs must be a mapping with the keys {names}, got one array")
            return {names[0]: np.asarray(x)}
        if set(x) != set(names):
            raise ValueError(f"inputs must have the keys {names}, got {sorted(x)}")
        return x

    def _named(self, layout: Layout, rows: np.ndarray) -> dict[str, np.ndarray]:
        values = layout.read(self.graph, rows)
        return {self.graph.tensors[i].name: array for i, array in values.items()}

    def _results(self, rows: np.ndarray) -> Results:
        named = self._named(self._outputs, rows)
        return next(iter(named.values())) if len(named) == 1 else named

    def _macs(self, nodes: Iterable[Node]) -> int:
        batch = self.graph.tensors[self.graph.inputs[0]].shape[:1]
        return sum(macs(self.graph, node) for node in nodes) // max(prod(batch), 1)


class _Named(Mapping[str, np.ndarray]):
    """Arrays by canonical name, which the names a caller used also find."""

    def __init__(self, arrays: dict[str, np.ndarray], aliases: dict[str, str]) -> None:
        self._arrays = arrays
        self._aliases = aliases

    def __getitem__(self, name: str) -> np.ndarray:
        found = self._arrays.get(self._aliases.get(name, name))
        if found is None:
            raise KeyError(
                f"weights: {name!r} must be trainable, got {', '.join(self._arrays) or 'none'}; "
                "name it in Session(graph, trainable=[...])"
            )
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __len__(self) -> int:
        return len(self._arrays)


class _OfLayers(Mapping[str, T]):
    """Something by the names of layers that have multiplier and shift under a profile."""

    def __init__(self, what: str, profile: str, values: Mapping[str, T]) -> None:
        self._what, self._profile, self._values = what, profile, values

    def __getitem__(self, name: str) -> T:
        if name not in self._values:
            raise KeyError(
                f"{self._what}: {name!r} must be a layer with multiplier and shift under profile "
                f"{self._profile}, got {', '.join(self._values) or 'none'}"
            )
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)


def as_codes(values: np.ndarray, tensor: Tensor, profile: str) -> np.ndarray:
    """The input as a contiguous array of the tensor's type: codes as they are, reals quantised."""
    array = np.asarray(values)
    _check_shape(array, tensor)
    real, q = array.dtype.kind == "f", tensor.quantization
    if real and np.isnan(array).any():
        raise ValueError(f"{input_label(tensor)}: real numbers must not be NaN")
    if array.dtype == tensor.dtype:
        return np.ascontiguousarray(array)
    if real and tensor.dtype == "float32":
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(array, np.float32)
    if real and q is not None:
        return np.ascontiguousarray(input_codes(array, tensor, profile))
    allowed = f"{tensor.dtype} (codes) or floating (real numbers)" if q else tensor.dtype
    raise TypeError(f"{input_label(tensor)}: type must be {allowed}, got {array.dtype}")


def _images(codes: np.ndarray, tensor: Tensor) -> int:
    """Batches of an input's declared size."""
    return len(codes) // (tensor.shape or (1,))[0]


def input_label(tensor: Tensor) -> str:
    """ "input x"; "input" for a tensor of that name."""
    return tensor.name if tensor.name == "input" else f"input {tensor.name}"


def _check_shape(array: np.ndarray, tensor: Tensor) -> None:
    wanted = tensor.shape
    if array.ndim != len(wanted) or array.shape[1:] != wanted[1:]:
        shape = ", ".join(["batch", *map(str, wanted[1:])][: len(wanted)])
        raise ValueError(f"{input_label(tensor)}: shape must be ({shape}), got {array.shape}")
    if wanted and array.shape[0] % wanted[0]:
        raise ValueError(f"{input_label(tensor)}: this graph mixes images of a batch, so the batch "
                         f"must be a multiple of {wanted[0]}, got {array.shape[0]}")  # fmt: skip


def _with_accumulator(graph: Graph, accumulator: Accumulator | None) -> Graph:
    if not isinstance(graph, Graph):
        raise TypeError(f"graph: must be an npusim.Graph, got {graph!r}; npusim.load reads a file")
    if accumulator is None:
        return graph
    if not isinstance(accumulator, Accumulator):
        raise TypeError(f"accumulator: must be an npusim.Accumulator, got {accumulator!r}")
    return replace(graph, accumulator=accumulator)


def _thread_count(threads: int | None) -> int:
    if threads is None:
        return _processors()
    if threads < 1:
        raise ValueError(f"threads must be at least 1, got {threads}")
    return threads


def _processors() -> int:
    """How many processors this process may use, where the system tells."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _find_constants(graph: Graph, names: Sequence[str]) -> list[int]:
    if isinstance(names, str):
        raise TypeError(f"trainable: must be a sequence of names, got the string {names!r}")
    return [find_constant(graph, name) for name in names]


def _first_user(graph: Graph, constants: Sequence[int]) -> int:
    """Index of the first node that reads one of the constants; the number of nodes if none does."""
    users = (k for k, node in enumerate(graph.nodes) if set(node.inputs) & set(constants))
    return next(users, len(graph.nodes))


def live_tensors(graph: Graph, cut: int) -> tuple[int, ...]:
    """Inputs and activations made before node `cut` that it, a later node or the caller reads."""
    made = dict.fromkeys((*graph.inputs, *(i for n in graph.nodes[:cut] for i in n.outputs)))
    needed = {i for n in graph.nodes[cut:] for i in n.inputs} | set(graph.outputs)
    return tuple(i for i in made if i in needed)
