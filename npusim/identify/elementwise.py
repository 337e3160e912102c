"""Hypotheses about operators whose results follow from one or two codes: all can be listed."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from ..affine import LIMITS, zero_point
from ..fivefold import innermost_row
from ..graph import Graph, Node, Quantization
from ..kernels.structs import Add, AddXnnpack, Mul, Requantization, Rescale, RescaleXnnpack
from ..reference.arithmetic import wrap
from ..reference.elementwise import add as add_twice
from ..reference.xnnpack import add_xnnpack, rescale_xnnpack
from .arithmetics import Bound, behind_blocks, bound, distance_to_end, requantized
from .hypothesis import Codes, Hypothesis, States
from .ranges import Ranges, range_of
from .three_stages import added

BINARY = ("add", "mul")
UNARY = ("quantize", "relu", "relu6")
_OPERANDS = {1: ("input's",), 2: ("first operand's", "second operand's")}


def states(graph: Graph, node: Node, operands: list[np.ndarray]) -> States:
    """The codes an element is made of, and its distance to the end of its row."""
    y = graph.tensors[node.outputs[0]]
    declared = int(np.prod(y.shape))
    length = row_length(graph, node)
    images = _images(graph, node, operands)
    shape = (images, *y.shape)
    columns = [_spread(graph, i, x, images, shape) for i, x in zip(node.inputs, operands,
                                                                  strict=True)]  # fmt: skip
    return (*columns, distance_to_end(length, images * declared // length))


def _images(graph: Graph, node: Node, operands: list[np.ndarray]) -> int:
    """How many times the declared batch is there."""
    for i, x in zip(node.inputs, operands, strict=True):
        t = graph.tensors[i]
        if t.data is None and t.shape:
            return len(x) // t.shape[0]
    return 1


def _spread(graph: Graph, i: int, x: np.ndarray, images: int, shape: tuple[int, ...]) -> np.ndarray:
    """An operand's code for every element of the output, flat."""
    t = graph.tensors[i]
    values = x.reshape(images, *t.shape) if t.data is None else x.reshape(1, *t.shape)
    missing = len(shape) - values.ndim
    values = values.reshape(values.shape[0], *(1,) * missing, *values.shape[1:])
    return np.broadcast_to(values, shape).reshape(-1).astype(np.int64)


def row_length(graph: Graph, node: Node) -> int:
    """Elements that blocks are counted in: LiteRT's innermost loop of ADD, else a whole tensor."""
    if node.op == "add":
        return innermost_row(*(graph.tensors[i].shape for i in node.inputs)).length
    return int(np.prod(graph.tensors[node.outputs[0]].shape))


def domain(graph: Graph, node: Node, ranges: Ranges) -> States | None:
    """Every state there can be; None where operands are wider than 8 bits.

    A tensor that is read twice has one code in both places; constants have no codes but their own.
    """
    read = list(dict.fromkeys(node.inputs))
    columns = []
    for tensor in (graph.tensors[i] for i in read):
        low, high = LIMITS[tensor.dtype]
        if high - low > 255:
            return None
        low, high = range_of(tensor, ranges).hull
        columns.append(np.arange(low, high + 1) if tensor.data is None else np.unique(tensor.data))
    left = np.unique(distance_to_end(row_length(graph, node), 1))
    *grid, places = np.meshgrid(*columns, left, indexing="ij")
    codes = {i: axis.reshape(-1).astype(np.int64) for i, axis in zip(read, grid, strict=True)}
    return (*(codes[i] for i in node.inputs), places.reshape(-1))


def hypotheses(graph: Graph, node: Node) -> list[Hypothesis]:
    """Every rule, Neural-ART's among them; zero points with the wrong sign or left out."""
    found = [Hypothesis(b.names, _codes(graph, node, b)) for b in bound(graph, node)]
    if node.op == "add":
        found += added(graph, node)
    for words, other in twists(graph, node):
        for b in bound(other, node):
            codes = _codes(other, node, b)
            found.append(Hypothesis(b.names, codes, twist=words, common=False))
    return found


def twists(graph: Graph, node: Node) -> Iterator[tuple[str, Graph]]:
    """The graph with another zero point of one tensor, in words."""
    operands = dict.fromkeys((*node.inputs, *node.outputs))
    for i in operands:
        tensor = graph.tensors[i]
        if tensor.quantization is None or not zero_point(tensor):
            continue
        zero = zero_point(tensor)
        who = "output's" if i in node.outputs else _OPERANDS[len(node.inputs)][node.inputs.index(i)]
        for value, what in ((0, "left out"), (-zero, "with the wrong sign")):
            q = Quantization(tensor.quantization.scale, np.array([value]))
            tensors = list(graph.tensors)
            tensors[i] = replace(tensor, quantization=q)
            yield f"{who} zero point {what}", replace(graph, tensors=tuple(tensors))


def _codes(graph: Graph, node: Node, b: Bound) -> Codes:
    first, *tail = b.structs
    length = row_length(graph, node)
    dtype = graph.tensors[node.outputs[0]].dtype
    if isinstance(first, AddXnnpack):
        return lambda s: add_xnnpack(s[0], s[1], first).astype(np.int64)
    if isinstance(first, RescaleXnnpack):
        return lambda s: rescale_xnnpack(s[0], first, dtype).astype(np.int64)
    (r,) = tail
    assert isinstance(r, Requantization)
    if isinstance(first, Add):
        return _added_twice(first, r)
    return _multiplied(first, r, length)


def _added_twice(p: Add, r: Requantization) -> Codes:
    """TFLite's ADD; operands behind the last whole block are scaled by another rule."""

    def one(states: States, last: bool) -> np.ndarray:
        a, b = (_always(q, last) for q in (p.a, p.b))
        alone = p._replace(row=len(states[0]), a=a, b=b)
        return add_twice(states[0], states[1], alone, r).astype(np.int64)

    def codes(states: States) -> np.ndarray:
        if not len(states[0]):
            return states[0]
        block = p.a.rounding.block
        rest = behind_blocks(states[2], p.row, block)
        return one(states, False) if block == 1 else np.where(rest, one(states, True),
                                                              one(states, False))  # fmt: skip

    return codes


def _always(r: Requantization, last: bool) -> Requantization:
    rule = r.rounding.rest if last else r.rounding.rule
    return r._replace(rounding=r.rounding._replace(rule=rule, block=1, rest=rule))


def _multiplied(p: object, r: Requantization, length: int) -> Codes:
    """MUL, or the rescaling of a code."""

    def codes(states: States) -> np.ndarray:
        if isinstance(p, Mul):
            acc = (states[0] - p.a_zero_point) * (states[1] - p.b_zero_point)
        else:
            assert isinstance(p, Rescale)
            acc = wrap(states[0] - p.x_zero_point, 32)
        return requantized(acc, r, behind_blocks(states[-1], length, r.rounding.block))

    return codes
