"""One run of a graph, recorded: every tensor, and the parameters each node computed with.

Constants are recorded by their hash: a golden file shows what a model computes, not the model.
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from .. import __version__
from ..describe import describe
from ..digest import content_hash
from ..engine import Session
from ..graph import Accumulator, Graph, Node, Quantization, Tensor
from ..headroom import WEIGHTED, accumulator
from ..neural_art.given import Parameters
from ..neural_art.settle import settle
from ..neural_art.stored import NAMES, in_words, on_hardware, read
from ..neural_art.stored import rules as rules_of_parameters
from ..parameters import bind, geometry
from ..requantization import clamp_of
from ..resize import batch_separable, with_batch
from ..rules import with_rules

DERIVED, GIVEN = "derived", "given"
ORIGINS = (DERIVED, GIVEN)
_RULE_NUMBERS = {"rule", "rounding"}
"""Numbers of the kernels' rules, which a node's `rounding` names."""


@dataclass(frozen=True, eq=False)
class RecordedTensor:
    """One tensor of a run.

    name, kind     as in the graph: "constant", "input" or "activation"
    shape, dtype   of the values, the batch included
    quantization   None for real numbers
    sha256         of the values' bytes, little-endian, in C order
    values         None for a constant
    """

    name: str
    kind: str
    shape: tuple[int, ...]
    dtype: str
    quantization: Quantization | None
    sha256: str
    values: np.ndarray | None = None


class Parameter(NamedTuple):
    """One number or array that a node computes with.

    values   integers or real numbers
    origin   "derived" from shapes and scales, or "given" by the model or the user
    """

    values: np.ndarray
    origin: str


@dataclass(frozen=True, eq=False)
class RecordedNode:
    """One operation of a run.

    inputs, outputs   indices of tensors; -1 for a bias that is absent
    rounding          the rule that makes codes of its results; None where nothing is rounded
    parameters        by name, such as "multiplier", "shift", "pad_top"
    rule              the rule or profile of its own that the node names; None where it names none
    """

    name: str
    op: str
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    rounding: str | None
    parameters: Mapping[str, Parameter]
    rule: str | None = None


@dataclass(frozen=True, eq=False)
class Golden:
    """A recorded run.

    model           name of the graph
    profile         of its arithmetic, with the accumulator it ran with
    layout          order of an image's dimensions at the inputs; tensors are NHWC
    graph_sha256    content hash of the graph, profile and accumulator included
    versions        of the programs that took part
    provenance      where the graph came from
    tensors         of the graph, in its order
    nodes           in the order of execution
    inputs, outputs indices of tensors
    """

    model: str
    profile: str
    accumulator: Accumulator
    layout: str
    graph_sha256: str
    versions: Mapping[str, str]
    provenance: Mapping[str, str]
    tensors: tuple[RecordedTensor, ...]
    nodes: tuple[RecordedNode, ...]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    def sequence(self) -> Iterator[RecordedTensor]:
        """Every tensor but the constants: inputs, then what the nodes made, in that order."""
        made = (i for node in self.nodes for i in node.outputs)
        for i in dict.fromkeys((*self.inputs, *made)):
            yield self.tensors[i]


def record(graph: Graph, inputs: Mapping[str, np.ndarray], threads: int | None = None) -> Golden:
    """Run a graph and record it.

    inputs    by name, as `Session.run` takes them; any batch
    raises    ModelError, ValueError and TypeError as a session raises them
    """
    graph = settle(graph)
    session = Session(graph, threads=threads)
    values = dict(session.trace(inputs))
    return Golden(
        model=graph.name,
        profile=graph.profile,
        accumulator=accumulator(graph),
        layout=graph.layout,
        graph_sha256=graph_hash(graph),
        versions={"npusim": __version__},
        provenance=dict(graph.provenance),
        tensors=tuple(_tensor(t, values.get(t.name)) for t in graph.tensors),
        nodes=tuple(_nodes(graph, values)),
        inputs=graph.inputs,
        outputs=graph.outputs,
    )


def graph_hash(graph: Graph) -> str:
    """SHA-256 of everything that decides a graph's bits; names do not count."""
    return content_hash("golden", replace(settle(graph), accumulator=accumulator(graph)))


def as_recorded(graph: Graph, golden: Golden) -> Graph:
    """The graph with the arithmetic of a recorded run: its profile, accumulator, rules and profiles
    of single nodes, and given Neural-ART parameters.

    raises   ValueError for rules or parameters that the graph's nodes do not have
    """
    arithmetic = replace(graph, profile=golden.profile, accumulator=golden.accumulator)
    rules = {node.name: node.rule for node in golden.nodes if node.rule is not None}
    return settle(with_rules(arithmetic, rules), given_parameters(golden))


def given_parameters(golden: Golden) -> Parameters:
    """The Neural-ART parameters a run was given, by node, as `npusim.load` takes them."""
    found = {
        node.name: {
            name: list(in_words(name, p.values))
            for name, p in node.parameters.items()
            if p.origin == GIVEN and name in NAMES
        }
        for node in golden.nodes
    }
    return {name: parameters for name, parameters in found.items() if parameters}


def data_hash(values: np.ndarray) -> str:
    """SHA-256 of the values' bytes, little-endian, in C order."""
    little = values.astype(values.dtype.newbyteorder("<"), order="C", copy=False)
    return hashlib.sha256(np.ascontiguousarray(little).tobytes()).hexdigest()


def _tensor(tensor: Tensor, values: np.ndarray | None) -> RecordedTensor:
    content = tensor.data if values is None else values
    if content is None:
        raise ValueError(f"tensor {tensor.name}: must be made by a node, got {tensor.kind}")
    return RecordedTensor(
        name=tensor.name,
        kind=tensor.kind,
        shape=content.shape,
        dtype=tensor.dtype,
        quantization=tensor.quantization,
        sha256=data_hash(content),
        values=values,
    )


def _nodes(graph: Graph, values: Mapping[str, np.ndarray]) -> Iterator[RecordedNode]:
    """The nodes, with parameters for the batch that ran."""
    layers = describe(graph).layers
    first = graph.tensors[graph.inputs[0]].name
    if batch_separable(graph) and len(values[first]):
        graph = with_batch(graph, len(values[first]))
    for node, layer in zip(graph.nodes, layers, strict=True):
        parameters = dict(_parameters(graph, node))
        yield RecordedNode(
            node.name, node.op, node.inputs, node.outputs, layer.rounding, parameters, node.rule
        )


def _parameters(graph: Graph, node: Node) -> Iterator[tuple[str, Parameter]]:
    """What a node computes with; on Neural-ART under the names that its parameters are given by."""
    if on_hardware(graph, node):
        yield from _on_neural_art(graph, node)
        return
    for struct in bind(graph, node):
        for name, value in _fields(struct):
            origin = GIVEN if name in node.given else DERIVED
            yield name, Parameter(np.asarray(value), origin)


def _on_neural_art(graph: Graph, node: Node) -> Iterator[tuple[str, Parameter]]:
    if node.op in WEIGHTED:
        for name, value in _fields(geometry(graph, node)):
            yield name, Parameter(np.asarray(value), DERIVED)
    stored = read(node)
    for name in rules_of_parameters(graph, node):
        origin = GIVEN if name in stored.given else DERIVED
        yield name, Parameter(stored.values[name], origin)
    for name, bound in zip(("act_min", "act_max"), clamp_of(graph, node), strict=True):
        yield name, Parameter(np.asarray(bound), DERIVED)


def _fields(struct: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    """Names and values of a struct; those of structs inside it behind their name and a dot."""
    for name, value in zip(struct._fields, struct, strict=True):
        if name in _RULE_NUMBERS:
            continue
        if isinstance(value, tuple):
            yield from _fields(value, f"{prefix}{name}.")
        else:
            yield prefix + name, value
