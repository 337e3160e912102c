"""Nodes of graphs as calls of C, with the values that the reference computes from node to node."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from npusim import parameters, reference
from npusim.affine import zero_point
from npusim.constants import with_biases
from npusim.graph import Graph, Node
from npusim.kernels.structs import (
    REQUANTIZE,
    AddXnnpack,
    MeanXnnpack,
    NeuralArt,
    NeuralArtAdd,
    NeuralArtMean,
    Requantization,
    RescaleXnnpack,
    SoftmaxX86,
)

from ..records import Case
from . import neural_art, neural_art_units, shaped, weighted

WEIGHTED = ("conv2d", "depthwise_conv2d", "fully_connected")
BY_STRUCT = {AddXnnpack: shaped.add_xnnpack, RescaleXnnpack: shaped.rescale_xnnpack}


def calls(graph: Graph, *inputs: np.ndarray) -> Iterator[Case]:
    """The call of every node that C can run, for one batch of the graph's inputs."""
    graph = with_biases(graph)
    bound = [parameters.bind(graph, node) for node in graph.nodes]
    values = {i: t.data for i, t in enumerate(graph.tensors) if t.data is not None}
    values |= dict(zip(graph.inputs, inputs, strict=True))
    reference.execute(graph, range(len(graph.nodes)), bound, values)
    for node, structs in zip(graph.nodes, bound, strict=True):
        if not in_float(structs):
            case = call(graph, node, structs, [values[i] for i in node.inputs])
            yield _expecting(case, values[node.outputs[0]])


def in_float(structs: Sequence[Any]) -> bool:
    """Whether C leaves a node out, because it is computed in float."""
    tails = [s for s in structs if isinstance(s, Requantization)]
    rules = {REQUANTIZE[rule] for r in tails for rule in (r.rounding.rule, r.rounding.rest)}
    return any(isinstance(s, (MeanXnnpack, SoftmaxX86)) for s in structs) or any(
        rule.startswith("float") for rule in rules
    )


def call(graph: Graph, node: Node, structs: Sequence[Any], inputs: Sequence[np.ndarray]) -> Case:
    """The call of C that stands for a node."""
    if node.op in WEIGHTED:
        return _weighted(graph, node, structs, inputs)
    if isinstance(structs[0] if structs else None, (NeuralArtAdd, NeuralArtMean)):
        return getattr(neural_art_units, node.op)(*inputs, *structs)
    if structs and type(structs[0]) in BY_STRUCT:
        return BY_STRUCT[type(structs[0])](*inputs, *structs)
    y, attributes = graph.tensors[node.outputs[0]], node.attributes
    match node.op:
        case "mean":
            return shaped.mean(*inputs, attributes["axes"], *structs)
        case "pad":
            x = graph.tensors[node.inputs[0]]
            value = 0 if x.quantization is None else zero_point(x)
            return shaped.pad(*inputs, attributes["padding"], value)
        case "transpose":
            return shaped.transpose(*inputs, attributes["permutation"])
        case "reshape":
            return shaped.move(*inputs)
        case "quantize" if inputs[0].dtype == np.float32:
            return shaped.quantize(*inputs, *structs, np.dtype(y.dtype).type)
        case "quantize" | "relu" | "relu6":
            return shaped.rescale(*inputs, *structs, np.dtype(y.dtype).type)
    return shaped.FUNCTIONS[node.op](*inputs, *structs)


def _weighted(
    graph: Graph, node: Node, structs: Sequence[Any], inputs: Sequence[np.ndarray]
) -> Case:
    x, weights, bias = inputs
    if isinstance(structs[1], NeuralArt):
        return neural_art.FUNCTIONS[node.op](x, weights, *structs)
    arguments = (x, weights, bias.reshape(-1), *structs)
    a = reference.accumulation(graph, node)
    if a is None:
        return weighted.call(node.op, arguments)
    return weighted.ordered_call(node.op, arguments, a)


def _expecting(case: Case, y: np.ndarray) -> Case:
    """The call, of which the graph's own value must come."""
    codes = shaped.as_bytes(y) if case.expected["y"].dtype == np.int8 else y
    assert case.expected["y"].size == codes.size
    return case._replace(expected={**case.expected, "y": codes})
