"""Binding: one node to one row of the operation table, its kernel and its operands."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from . import affine, parameters
from .arena import Buffer, aligned, tensor_bytes
from .graph import Graph, Node, Tensor
from .headroom import WEIGHTED, accumulator_bound, accumulator_of, order_matters
from .kernels import table
from .kernels.structs import (
    OVERFLOW,
    PIECE,
    AddXnnpack,
    Dequantize,
    MeanXnnpack,
    NeuralArt,
    Quantize,
    Requantization,
    RescaleXnnpack,
    SoftmaxX86,
)
from .neural_art.stored import on_hardware
from .parameters import Structs
from .requantization import output_channels
from .strides import Walk, broadcast, placement, reduction, transposition


@dataclass
class Constants:
    """The block of constants under construction: pieces on 64-byte boundaries."""

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


_SCALES = (table.MULTIPLIER, table.SHIFT, table.SCALE)


@dataclass
class Binding:
    """What binding a node may read, and the row it writes.

    buffers    place of every tensor
    constants  takes what the kernel needs besides tensors
    trainable  indices of constants whose values may change
    scratch    the node's scratch memory, `scratch_bytes` long
    row        int64 (table.WIDTH,)
    scales     places of multipliers, shifts and scales, set where the node requantises
    """

    graph: Graph
    buffers: Mapping[int, Buffer]
    constants: Constants
    trainable: frozenset[int]
    scratch: Buffer
    row: np.ndarray
    scales: tuple[Buffer, Buffer, Buffer] | None = None

    def operation(self, name: str, node: Node) -> None:
        """The kernel, with the node's first input and its output."""
        self.row[table.OPERATION] = table.OPERATIONS.index(name)
        self.operand(table.X, self.buffers[node.inputs[0]])
        self.operand(table.Y, self.buffers[node.outputs[0]])

    def operand(self, slot: int, buffer: Buffer) -> None:
        column = table.OPERANDS + slot * table.OPERAND_COLUMNS
        self.row[column : column + 3] = (buffer.space, buffer.offset, buffer.nbytes)

    def walk(self, walk: Walk) -> None:
        """A walk's shape in slot V0 and its strides in V1, V2."""
        for slot, values in enumerate((walk.shape, *walk.strides), table.V0):
            self.operand(slot, self.constants.add(values))

    def numbers(self, *values: int) -> None:
        """The numbers of the kernel's structs."""
        self.row[table.PARAMETERS : table.PARAMETERS + len(values)] = values

    def structs(self, structs: Structs, *more: int) -> None:
        """The numbers of a kernel's structs in field order, then more.

        Requantisations, which stand behind all other fields, have their multipliers, shifts and
        scales in three operands, one behind the other.
        """
        fields = [f for s in structs for f in ((s,) if isinstance(s, Requantization) else s)]
        tails = [f for f in fields if isinstance(f, Requantization)]
        if tails:
            arrays = (np.concatenate(a) for a in zip(*(r[:3] for r in tails), strict=True))
            multiplier, shift, scale = (self.constants.add(a) for a in arrays)
            self.scales = multiplier, shift, scale
            for slot, place in zip(_SCALES, self.scales, strict=True):
                self.operand(slot, place)
        own = (f for f in fields if not isinstance(f, Requantization))
        ends = (v for r in tails for v in (r.zero_point, r.act_min, r.act_max, *r.rounding))
        self.numbers(*own, *ends, *more)

    def tensor(self, index: int) -> Tensor:
        return self.graph.tensors[index]


def bind(binding: Binding, node: Node) -> None:
    """Write the node's row."""
    prefix = "neural_art_" if on_hardware(binding.graph, node) else ""
    _BIND[prefix + node.op](binding, node)


def scratch_bytes(graph: Graph, node: Node) -> int:
    """Bytes a kernel needs besides its operands."""
    if node.op in WEIGHTED:
        return _patch_bytes(graph, node) + _sum_bytes(graph, node)
    if node.op in _PIECES:
        return 4 * PIECE * _PIECES[node.op]
    if node.op == "average_pool2d":
        return 4 * graph.tensors[node.inputs[0]].shape[3]
    if node.op == "mean":
        return 4 * tensor_bytes(graph, node.outputs[0])
    if node.op == "softmax":
        return 4 * graph.tensors[node.inputs[0]].shape[-1]
    return 0


_PIECES = {"add": 3, "mul": 2, "relu": 1, "relu6": 1, "quantize": 1}
"""Pieces of int32 that elementwise kernels need as scratch."""


def _patch_bytes(graph: Graph, node: Node) -> int:
    """int16 inputs under one kernel, or in C int8 inputs at three positions of it."""
    if node.op == "depthwise_conv2d":
        return 0
    weights = graph.tensors[node.inputs[1]]
    return aligned(3 * tensor_bytes(graph, node.inputs[1]) // weights.shape[0])


def _sum_bytes(graph: Graph, node: Node) -> int:
    """Two int64 per output channel: the accumulator, and its first sum out of range.

    Or int32 accumulators of one row of the output's map; in C of three positions, with their start.
    """
    channels = output_channels(node, graph.tensors[node.inputs[1]])
    width = graph.tensors[node.outputs[0]].shape[2] if node.op != "fully_connected" else 1
    return aligned(channels * max(16, 4 * width))


def _weighted(b: Binding, node: Node) -> None:
    a = accumulator_of(b.graph, node)
    ordered = order_matters(accumulator_bound(b.graph, node, b.trainable), a)
    b.operation(f"{node.op}_ordered" if ordered else node.op, node)
    b.operand(table.WEIGHTS, b.buffers[node.inputs[1]])
    b.operand(table.BIAS, b.buffers[node.inputs[2]])
    patch, sums = _patch_bytes(b.graph, node), _sum_bytes(b.graph, node)
    b.operand(table.SCRATCH, Buffer(table.ARENA, b.scratch.offset, patch))
    b.operand(table.SUMS, Buffer(table.ARENA, b.scratch.offset + patch, sums))
    b.structs(parameters.bind(b.graph, node), a.bits, OVERFLOW[a.overflow])


def _neural_art_weighted(b: Binding, node: Node) -> None:
    geometry, r = parameters.bind(b.graph, node)
    assert isinstance(r, NeuralArt)
    b.operation(f"neural_art_{node.op}", node)
    b.operand(table.WEIGHTS, b.buffers[node.inputs[1]])
    b.operand(table.MULTIPLIER, b.constants.add(r.a_c))
    b.operand(table.BIAS, b.constants.add(r.bc_c))
    b.operand(table.V0, b.constants.add(r.runs))
    patch, sums = _patch_bytes(b.graph, node), _sum_bytes(b.graph, node)
    b.operand(table.SCRATCH, Buffer(table.ARENA, b.scratch.offset, patch))
    b.operand(table.SUMS, Buffer(table.ARENA, b.scratch.offset + patch, sums))
    b.numbers(*geometry, *r[3:])


def _neural_art_add(b: Binding, node: Node) -> None:
    _elementwise(b, node)
    b.row[table.OPERATION] = table.NEURAL_ART_ADD


def _neural_art_mean(b: Binding, node: Node) -> None:
    b.operation("neural_art_mean", node)
    b.operand(table.SCRATCH, b.scratch)
    b.numbers(*parameters.bind(b.graph, node)[0])


def _elementwise(b: Binding, node: Node) -> None:
    structs = parameters.bind(b.graph, node)
    b.operation("add_xnnpack" if isinstance(structs[0], AddXnnpack) else node.op, node)
    b.operand(table.WEIGHTS, b.buffers[node.inputs[1]])
    b.operand(table.SCRATCH, b.scratch)
    left, right = (b.tensor(i).shape for i in node.inputs)
    b.walk(broadcast(left, right, b.tensor(node.outputs[0]).shape))
    b.structs(structs)


def _pool(b: Binding, node: Node) -> None:
    b.operation(node.op, node)
    b.operand(table.SCRATCH, b.scratch)
    b.structs(parameters.bind(b.graph, node))


def _mean(b: Binding, node: Node) -> None:
    structs = parameters.bind(b.graph, node)
    p = structs[0]
    b.operation("mean_xnnpack" if isinstance(p, MeanXnnpack) else "mean", node)
    b.operand(table.SCRATCH, b.scratch)
    b.walk(reduction(b.tensor(node.inputs[0]).shape, node.attributes["axes"]))
    if isinstance(p, MeanXnnpack):
        b.operand(table.V2, b.constants.add(np.array([p.scale, p.offset], np.float32)))
        b.numbers(p.act_min, p.act_max)
    else:
        b.structs(structs)


def _pad(b: Binding, node: Node) -> None:
    b.operation("pad", node)
    x = b.tensor(node.inputs[0])
    walk, start = placement(x.shape, node.attributes["padding"])
    b.walk(walk)
    value = affine.zero_point(x) if x.quantization else 0
    b.numbers(start, value, np.dtype(x.dtype).itemsize)


def _transpose(b: Binding, node: Node) -> None:
    b.operation("transpose", node)
    x = b.tensor(node.inputs[0])
    b.walk(transposition(x.shape, node.attributes["permutation"]))
    b.numbers(np.dtype(x.dtype).itemsize)


def _move(b: Binding, node: Node) -> None:
    b.operation("move", node)


def _softmax(b: Binding, node: Node) -> None:
    structs = parameters.bind(b.graph, node)
    p = structs[0]
    if isinstance(p, SoftmaxX86):
        b.operation("softmax_x86", node)
        b.operand(table.V0, b.constants.add(p.table))
        b.numbers(p.rows, p.depth)
    else:
        b.operation("softmax", node)
        b.operand(table.SCRATCH, b.scratch)
        b.structs(structs)


def _quantize(b: Binding, node: Node) -> None:
    x, y = b.tensor(node.inputs[0]), b.tensor(node.outputs[0])
    if x.dtype != "float32":
        return _rescale(b, node)
    b.operation(f"quantize_{y.dtype}", node)
    return _real(b, node)


def _dequantize(b: Binding, node: Node) -> None:
    b.operation(f"dequantize_{b.tensor(node.inputs[0]).dtype}", node)
    _real(b, node)


def _real(b: Binding, node: Node) -> None:
    """Scale, zero point and rule between real numbers and codes."""
    (p,) = parameters.bind(b.graph, node)
    assert isinstance(p, Quantize | Dequantize)
    b.operand(table.V0, b.constants.add(np.array([p.scale], np.float32)))
    b.numbers(p.zero_point, *p.rounding)


def _rescale(b: Binding, node: Node) -> None:
    x, y = b.tensor(node.inputs[0]), b.tensor(node.outputs[0])
    structs = parameters.bind(b.graph, node)
    own = isinstance(structs[0], RescaleXnnpack)
    b.operation("rescale_xnnpack" if own else f"rescale_{x.dtype}_{y.dtype}", node)
    b.operand(table.SCRATCH, b.scratch)
    b.structs(structs)


_BIND: Mapping[str, Callable[[Binding, Node], None]] = {
    "conv2d": _weighted,
    "depthwise_conv2d": _weighted,
    "fully_connected": _weighted,
    "add": _elementwise,
    "mul": _elementwise,
    "average_pool2d": _pool,
    "max_pool2d": _pool,
    "mean": _mean,
    "pad": _pad,
    "reshape": _move,
    "transpose": _transpose,
    "softmax": _softmax,
    "quantize": _quantize,
    "dequantize": _dequantize,
    "relu": _rescale,
    "relu6": _rescale,
    "neural_art_conv2d": _neural_art_weighted,
    "neural_art_depthwise_conv2d": _neural_art_weighted,
    "neural_art_fully_connected": _neural_art_weighted,
    "neural_art_add": _neural_art_add,
    "neural_art_mean": _neural_art_mean,
}
