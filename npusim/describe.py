"""What a graph is and what it costs, node by node, without running it.

npusim inspect model.tflite
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any

import numpy as np

from .constants import with_biases
from .cost import macs
from .graph import Accumulator, Graph, Node, Tensor
from .headroom import WEIGHTED, accumulator, accumulator_bound, accumulator_of, bits_needed
from .neural_art.settle import otherwise, settle
from .neural_art.stored import Label, in_words, labelled, on_hardware
from .plan import build_plan
from .rules import MOVING, arithmetic, is_silent, own_profile


@dataclass(frozen=True)
class Layer:
    """One node.

    node, op   its name and operator
    shape      of its output, type `dtype`
    rounding   rule by which its results become codes; None where they need none
    profile    the node's own; None where the graph's holds for it
    instead_of rule of the graph's profile, where the node has another by its own; else None
    macs       multiply-accumulates over the declared batch
    weights    number of its weights
    bound      largest magnitude any partial sum can reach, None without accumulator
    bits       of the narrowest accumulator that holds the bound
    kernel     that executes it
    accumulator of its sums; None without, and for the exact sums of a node on Neural-ART
    neural_art parameters of a node on Neural-ART, given or derived
    """

    node: str
    op: str
    shape: tuple[int, ...]
    dtype: str
    rounding: str | None
    macs: int
    weights: int
    bound: int | None
    bits: int | None
    kernel: str
    neural_art: tuple[Label, ...] = ()
    instead_of: str | None = None
    profile: str | None = None
    accumulator: Accumulator | None = None


@dataclass(frozen=True)
class Port:
    """An input or output; scale and zero point are None for real numbers."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    scale: float | None
    zero_point: int | None


@dataclass(frozen=True)
class Description:
    """A graph, as `npusim inspect` shows it.

    arena_bytes      memory of the activations while one image runs, per thread
    constant_bytes   weights, biases and other constants
    """

    name: str
    profile: str
    accumulator: Accumulator
    layout: str
    provenance: dict[str, str]
    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    layers: tuple[Layer, ...]
    arena_bytes: int
    constant_bytes: int

    @property
    def macs(self) -> int:
        """Multiply-accumulates of all nodes."""
        return sum(layer.macs for layer in self.layers)

    @property
    def weights(self) -> int:
        """Weights of all nodes."""
        return sum(layer.weights for layer in self.layers)

    @property
    def unproven(self) -> tuple[Layer, ...]:
        """Layers whose sums their accumulator is not proven to hold."""
        held = ((x, x.bits, x.accumulator) for x in self.layers)
        return tuple(x for x, bits, a in held if bits is not None and a and bits > a.bits)

    @property
    def widest(self) -> Layer | None:
        """The layer that needs the most bits; None when no layer has an accumulator."""
        summing = [layer for layer in self.layers if layer.bound is not None]
        return max(summing, key=lambda layer: layer.bound or 0, default=None)

    def as_dict(self) -> dict[str, Any]:
        """JSON's types.

        The fields under their names, in bytes where they say so, with `accumulator` as `bits` and
        `overflow`, each of `inputs`, `outputs`, `layers` as an object of its fields, and
        `neural_art` as `values` and `origin` by parameter, with `by_rule` where what was given is
        not what follows; and `totals`: `macs` and `weights` of all nodes, `bits` that the widest
        sum needs, nodes that are `unproven`
        """
        totals = {"macs": self.macs, "weights": self.weights,
                  "bits": self.widest.bits if self.widest else None,
                  "unproven": [layer.node for layer in self.unproven]}  # fmt: skip
        facts = asdict(self)
        for layer, described in zip(self.layers, facts["layers"], strict=True):
            described["neural_art"] = {
                p.name: {"values": p.values, "origin": p.origin}
                | ({"by_rule": p.by_rule} if p.by_rule else {})
                for p in layer.neural_art
            }
        return {**facts, "totals": totals}


def describe(graph: Graph) -> Description:
    """Describe a checked graph."""
    graph = settle(graph)
    plan = build_plan(with_biases(graph))
    layers = (_layer(graph, node, plan.kernel(k)) for k, node in enumerate(graph.nodes))
    constants = (t.data.nbytes for t in graph.tensors if t.data is not None)
    return Description(
        name=graph.name,
        profile=graph.profile,
        accumulator=accumulator(graph),
        layout=graph.layout,
        provenance=dict(graph.provenance),
        inputs=tuple(_port(graph.tensors[i]) for i in graph.inputs),
        outputs=tuple(_port(graph.tensors[i]) for i in graph.outputs),
        layers=tuple(layers),
        arena_bytes=plan.arena_bytes,
        constant_bytes=sum(constants),
    )


def _layer(graph: Graph, node: Node, kernel: str) -> Layer:
    y = graph.tensors[node.outputs[0]]
    weighted = node.op in WEIGHTED
    bound = accumulator_bound(graph, node) if weighted else None
    summing = weighted and not on_hardware(graph, node)
    return Layer(
        node=node.name,
        op=node.op,
        shape=y.shape,
        dtype=y.dtype,
        rounding=_rounding(graph, node),
        macs=macs(graph, node),
        weights=prod(graph.tensors[node.inputs[1]].shape) if weighted else 0,
        bound=bound,
        bits=None if bound is None else bits_needed(bound),
        kernel=kernel,
        neural_art=tuple(_compared(graph, node)),
        instead_of=_instead_of(graph, node),
        profile=own_profile(node),
        accumulator=accumulator_of(graph, node) if summing else None,
    )


def _instead_of(graph: Graph, node: Node) -> str | None:
    """The rule of the graph's profile where the node has another."""
    own, plain = _rounding(graph, node), replace(node, rule=None)
    if node.rule is None or own is None or is_silent(graph, plain):
        return None
    usual = _rounding(graph, plain)
    return None if usual == own else usual


def _rounding(graph: Graph, node: Node) -> str | None:
    """The rule that makes codes of the node's results."""
    if node.op in (*MOVING, "max_pool2d"):
        return None
    return str(arithmetic(graph, node))


def _port(tensor: Tensor) -> Port:
    q = tensor.quantization
    if q is None or tensor.dtype == np.float32:
        return Port(tensor.name, tensor.shape, tensor.dtype, None, None)
    return Port(tensor.name, tensor.shape, tensor.dtype, float(q.scale[0]), int(q.zero_point[0]))


def _compared(graph: Graph, node: Node) -> Iterator[Label]:
    """A node's parameters; beside those given otherwise than they follow, what does."""
    other = otherwise(graph, node)
    for label in labelled(graph, node):
        values = other.get(label.name)
        yield label if values is None else label._replace(by_rule=in_words(label.name, values))
