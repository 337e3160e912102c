"""Trained tensors back into the .tflite file that the training began from.

The file keeps its size and every byte that is not a trained tensor's: its values, and its scales
and zero points where the training chose others. Node by node, the trained graph must be the
beginning of the file's; its classifier may be a new one of the same shape.
Letters: O outputs.
"""

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from npusim import Graph, ModelError, Tensor
from npusim.affine import quantization
from npusim.constants import has_bias
from npusim.formats import parse, patch_tflite
from npusim.graph import Node
from npusim.headroom import WEIGHTED
from npusim.plurals import counted

from .file_scales import same_layer, with_scales


class Written(NamedTuple):
    """What went back of one tensor.

    name       in the file
    codes      how many values differ from the file's; 0 of an activation
    size       how many there are; 0 of an activation
    rescaled   whether scales or zero points differ from the file's
    """

    name: str
    codes: int
    size: int
    rescaled: bool


class WriteBack(NamedTuple):
    """A .tflite file with trained tensors.

    data           the file, as long as the old one
    tensors        those that changed, in the order of nodes
    requantized    names of nodes whose weights or multipliers were rounded again to fit
    bytes_changed  how many bytes differ from the old file's
    """

    data: bytes
    tensors: tuple[Written, ...]
    requantized: tuple[str, ...]
    bytes_changed: int


def write_back(trained: Graph, data: bytes, name: str, requantize: bool = False) -> WriteBack:
    """Put what was trained into the file it was loaded from.

    trained      the graph of a `zo.Result`, or of a session that `zo.adapt` changed
    data         of the .tflite file that the training began from
    name         of the file, for messages
    requantize   where the file cannot say the trained scales, having one for a whole tensor, or
                 where a multiplier is that of no float32 scale: round to what it can say. The
                 network then computes something else, and its accuracy must be measured
    raises       ModelError when the file is another one, or has no room for what was trained
    """
    _check_origin(trained, data, name)
    file = parse(data, name)
    changes: dict[str, Tensor] = {}
    requantized = []
    for new, old in _pairs(trained, file, name):
        graph = _fitted(trained, new, len(quantization(file.tensors[old.inputs[1]]).scale))
        if not same_layer(trained, graph, new.name):
            if not requantize:
                raise ModelError(_misfit(file, old, name))
            requantized.append(old.name)
        changes.update(_changes((graph, graph.node(new.name)), (file, old), name))
    result = patch_tflite(data, name, changes)
    parse(result, name)  # it is a legal model still
    written = tuple(_written(file.tensor(key), tensor) for key, tensor in changes.items())
    changed = np.frombuffer(result, np.uint8) != np.frombuffer(data, np.uint8)
    return WriteBack(result, written, tuple(requantized), int(np.count_nonzero(changed)))


def _check_origin(trained: Graph, data: bytes, name: str) -> None:
    origin, found = trained.provenance.get("sha256"), hashlib.sha256(data).hexdigest()
    if origin is None:
        raise ModelError(
            f"{name}: must be the .tflite file that the training began from, got a run that began "
            "from none; only what came from a .tflite can go back into it"
        )
    if origin != found:
        raise ModelError(
            f"{name}: must be the file that the training began from, "
            f"{trained.provenance.get('file')} of sha256 {origin}, got {found}"
        )


def _pairs(trained: Graph, file: Graph, name: str) -> Iterator[tuple[Node, Node]]:
    """Each trained node that has weights, with that of the file."""
    for i, new in enumerate(trained.nodes):
        old = file.nodes[i] if i < len(file.nodes) else None
        if old is None or _kind(new) != _kind(old):
            raise ModelError(
                f"{name}: node {i} must be {_kind(new)}, as in the trained graph, got "
                f"{'none' if old is None else _kind(old)}"
            )
        if new.op in WEIGHTED:
            _check_shape(trained.tensors[new.inputs[1]], file.tensors[old.inputs[1]], name)
            yield new, old


def _kind(node: Node) -> str:
    activation = node.attributes.get("activation", "none")
    return node.op if activation == "none" else f"{node.op} with {activation}"


def _check_shape(new: Tensor, old: Tensor, name: str) -> None:
    if (new.dtype, new.shape) != (old.dtype, old.shape):
        raise ModelError(
            f"{name}: tensor {old.name}: must have room for {new.dtype} {new.shape}, as trained, "
            f"got {old.dtype} {old.shape}; a file takes a new head of as many classes only"
        )


def _fitted(graph: Graph, node: Node, room: int) -> Graph:
    """The graph with as many scales of the node's weights as there is room for."""
    count = len(quantization(graph.tensors[node.inputs[1]]).scale)
    if count == room and "multiplier" not in node.given:
        return graph
    return with_scales(graph, node, room)


def _misfit(file: Graph, node: Node, name: str) -> str:
    weights = file.tensors[node.inputs[1]]
    room = len(quantization(weights).scale)
    return (
        f"{name}: tensor {weights.name}: must say the scales of {node.name} as trained, got room "
        f"for {counted(room, 'float32 scale')}, which cannot; train without recalibration, "
        "or round to them with requantize (--requantize) and measure the accuracy"
    )


def _changes(
    trained: tuple[Graph, Node], file: tuple[Graph, Node], name: str
) -> Iterator[tuple[str, Tensor]]:
    """Name in the file -> what it is to hold, for each of a node's tensors that differs."""
    (graph, new), (found, old) = trained, file
    if has_bias(new) and not has_bias(old) and np.any(graph.tensors[new.inputs[2]].data):
        raise ModelError(
            f"{name}: {old.name}: must have a bias to take the trained one, got none; train the "
            "weights alone"
        )
    ours, theirs = (n.inputs[1 : 2 + has_bias(old)] for n in (new, old))
    for a, b in zip(ours, theirs, strict=True):
        wanted, held = graph.tensors[a], found.tensors[b]
        if held.quantization is None:
            wanted = replace(wanted, quantization=None)
        if not (_same_values(wanted, held) and _same_scales(wanted, held)):
            yield held.name, wanted
    y = graph.tensors[new.outputs[0]]
    for held in _same_codes(found, old.outputs[0]):
        if not _same_scales(y, held):
            yield held.name, replace(held, quantization=y.quantization)


def _same_values(a: Tensor, b: Tensor) -> bool:
    return np.array_equal(np.asarray(a.data), np.asarray(b.data))


def _same_scales(a: Tensor, b: Tensor) -> bool:
    if a.quantization is None or b.quantization is None:
        return a.quantization is b.quantization
    pairs = ((q.scale, q.zero_point) for q in (a.quantization, b.quantization))
    return all(np.array_equal(x, y) for x, y in zip(*pairs, strict=True))


def _same_codes(graph: Graph, tensor: int) -> Iterator[Tensor]:
    """A tensor, and those that hold its codes in other shapes, which share its quantisation."""
    same = {tensor}
    yield graph.tensors[tensor]
    for node in graph.nodes:
        if node.op == "reshape" and node.inputs[0] in same:
            same.add(node.outputs[0])
            yield graph.tensors[node.outputs[0]]


def _written(old: Tensor, new: Tensor) -> Written:
    codes = 0 if new.data is None else int(np.count_nonzero(new.data != old.data))
    size = 0 if new.data is None else new.data.size
    return Written(old.name, codes, size, not _same_scales(old, new))
