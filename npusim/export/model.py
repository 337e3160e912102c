"""A graph as the parts of a C program: calls, structs, arrays of constants, places in memory."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace

from ..arena import tensor_bytes
from ..graph import ABSENT, Graph, Node, Tensor
from ..headroom import accumulator
from ..plan import Plan, build_plan
from .calls import Call, call_of
from .names import Names, names_of
from .row import BIASES, WEIGHTS, Array, Place, Row
from .twins import require_twins

_WEIGHTS = {
    "conv2d": "(O, KH, KW, I) = ",
    "depthwise_conv2d": "(1, KH, KW, O) = ",
    "fully_connected": "(O, I) = ",
}


@dataclass(frozen=True)
class Step:
    """One node: its call (None where it has nothing to do), and the structs it takes."""

    node: Node
    call: Call | None
    structs: tuple[str, ...]


@dataclass(frozen=True)
class Model:
    """A graph as C.

    frozen   how many nodes stand before the first that reads a writable constant
    steps    one for each node
    arrays   every constant, in the order of the nodes
    places   of tensors and scratch in the arena
    """

    graph: Graph
    plan: Plan
    names: Names
    frozen: int
    steps: tuple[Step, ...]
    arrays: tuple[Array, ...]
    places: tuple[Place, ...]

    @property
    def prefix(self) -> str:
        """In front of every name that other files see."""
        return self.names.prefix

    @property
    def input_bytes(self) -> int:
        """Of one image's inputs together."""
        return sum(tensor_bytes(self.graph, i) for i in self.graph.inputs)

    @property
    def output_bytes(self) -> int:
        """Of one image's outputs together."""
        return sum(tensor_bytes(self.graph, i) for i in self.graph.outputs)

    @property
    def scratch_bytes(self) -> int:
        """The most that one node uses of the arena besides tensors."""
        used: dict[int, int] = {}
        for place in self.places:
            if place.user is not None:
                used[place.user] = used.get(place.user, 0) + place.nbytes
        return max(used.values(), default=0)

    @property
    def faults(self) -> bool:
        """Whether a run may end early: a sum could leave an accumulator that must hold it."""
        strict = accumulator(self.graph).overflow == "error"
        return strict and any(step.call is not None and step.call.faults for step in self.steps)

    def parameter(self, node: str, what: str) -> str:
        """Name of an array that a node needs besides tensors, such as its shift."""
        index = next(k for k, n in enumerate(self.graph.nodes) if n.name == node)
        return f"{self.prefix}_{self.names.nodes[index]}_{what}"

    @property
    def flash_bytes(self) -> int:
        """Of all arrays: what is writable is copied from flash."""
        return sum(array.values.nbytes for array in self.arrays)

    @property
    def writable_bytes(self) -> int:
        """Of the arrays that the program may change."""
        return sum(array.values.nbytes for array in self.arrays if array.writable)

    @property
    def is_split(self) -> bool:
        """Whether nodes that the program changes stand behind others that it does not."""
        return 0 < self.frozen < len(self.steps)


def model_of(
    graph: Graph, prefix: str, trainable: Iterable[int] = (), rescaled: Collection[str] = ()
) -> Model:
    """The C of a graph.

    graph       as a session has it: checked, settled, with a bias for every weighted node
    prefix      a C identifier
    trainable   indices of constants that the program changes; biases and shifts of nodes that read
                them are writable too
    rescaled    names of other nodes whose shifts the program changes
    raises      ModelError for a node whose arithmetic has no twin in C
    """
    changed = frozenset(trainable)
    plan, names = build_plan(graph, changed), names_of(graph, prefix)
    require_twins(graph, plan)
    users = {k for k, node in enumerate(graph.nodes) if changed.intersection(node.inputs)}
    rows = [
        Row(graph, plan, names, k, k in users or node.name in rescaled)
        for k, node in enumerate(graph.nodes)
    ]
    steps = tuple(Step(row.node, call_of(row), tuple(row.structs)) for row in rows)
    biases = {graph.nodes[k].inputs[2] for k in users}
    arrays = _each_once(a for row in rows for a in _arrays(row, changed | biases))
    places = (*_tensor_places(graph, plan, names), *(p for row in rows for p in row.scratch))
    frozen = min(users, default=len(rows))
    return Model(graph, plan, names, frozen, steps, arrays, places)


def _arrays(row: Row, writable: Collection[int]) -> Iterator[Array]:
    """The constants of a node that its call reads: tensors, then others."""
    for k, i in enumerate(row.node.inputs):
        # biases on Neural-ART are in its coefficients
        unread = row.operation.startswith("neural_art") and k == 2
        tensor = None if i == ABSENT or unread else row.graph.tensors[i]
        if tensor is not None and tensor.data is not None:
            layout = _WEIGHTS.get(row.node.op, "") if k == 1 else ""
            what = f"{tensor.name}: {tensor.dtype} {layout}{tensor.shape}"
            kind = BIASES if k == 2 else WEIGHTS
            yield Array(row.names.constants[i], tensor.data, what, kind, i in writable)
    yield from row.arrays


def _each_once(arrays: Iterable[Array]) -> tuple[Array, ...]:
    """Arrays that several nodes share, once; writable if one of them needs it so."""
    found: dict[str, Array] = {}
    for array in arrays:
        known = found.get(array.name, array)
        found[array.name] = replace(known, writable=known.writable or array.writable)
    return tuple(found.values())


def _tensor_places(graph: Graph, plan: Plan, names: Names) -> Iterator[Place]:
    """Of inputs and of every node's output."""
    for i, name in names.places.items():
        buffer = plan.buffers[i]
        yield Place(name, buffer.offset, buffer.nbytes, described(graph.tensors[i]))


def described(tensor: Tensor) -> str:
    """A tensor's type, shape and name."""
    return f"{tensor.dtype} {tensor.shape}: {tensor.name}"
