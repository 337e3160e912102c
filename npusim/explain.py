"""One element of a node, step by step: its sum, its rule, its code.

Every step is computed by the function of the reference that states it, so the last one is the code
that a session gives; docs/arithmetic.md says where each rule comes from.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from . import explain_add, explain_softmax
from .affine import quantization, scale32, zero_point
from .engine import Session
from .explain_rule import (
    Step,
    codes_by_rule,
    less,
    neural_art_steps,
    of_element,
    requantization_steps,
)
from .graph import ABSENT, Accumulator, Graph, Node
from .headroom import WEIGHTED, accumulator_of
from .kernels.structs import REQUANTIZE, NeuralArt, Requantization
from .neural_art.stored import RULE as NEURAL_ART
from .neural_art.stored import labelled
from .parameters import bias, bind
from .profiles import SCALES
from .reference import accumulation, weighted
from .rules import arithmetic, has_its_own, own_profile

_SUMS: Mapping[str, tuple[Callable[..., np.ndarray], Callable[..., Iterator[np.ndarray]]]] = {
    "conv2d": (weighted.conv2d_sums, weighted.conv2d_products),
    "depthwise_conv2d": (weighted.depthwise_conv2d_sums, weighted.depthwise_conv2d_products),
    "fully_connected": (weighted.fully_connected_sums, weighted.fully_connected_products),
}
EXPLAINED = (*WEIGHTED, "add", "softmax")
"""Operators of which an element can be explained."""
_HELD = {"wrap": "wrapped to", "saturate": "saturated at"}


@dataclass(frozen=True)
class Explanation:
    """How one element came about.

    node, op, tensor   that made it, and that it is part of
    element            its coordinates, the image first
    rule               of the element: at the end of a row it may be another than the node's
    profile            that of the node: its own, else the graph's
    own                "profile" or "rule" where that is the node's own, and not the graph's
    accumulator        of its sum of products; None for exact sums, and where there are no products
    steps              the last one is its code
    others             codes that other rules make of the same sum and M, operands or row; empty on
                       Neural-ART
    """

    node: str
    op: str
    tensor: str
    element: tuple[int, ...]
    profile: str
    rule: str
    own: str | None
    accumulator: Accumulator | None
    steps: tuple[Step, ...]
    others: Mapping[str, int]

    @property
    def code(self) -> int:
        """The element."""
        return int(self.steps[-1].value)

    def as_dict(self) -> dict[str, Any]:
        """JSON's types.

        The fields under their names, with `accumulator` as `bits` and `overflow`, `steps` as
        objects with `name`, `how`, `value`, `others` as codes by rule; and `code`, the last step's
        """
        return {**asdict(self), "steps": [s._asdict() for s in self.steps], "code": self.code}


class Place(NamedTuple):
    """An element among the sums of one image, which are rows of channels."""

    row: int
    channel: int


def explain(
    graph: Graph, inputs: Mapping[str, np.ndarray], node: str, element: Sequence[int]
) -> Explanation:
    """Explain one element of the output of a node that sums products, of an add or of a softmax.

    inputs    by name, as `Session.run` takes them
    element   its coordinates in the node's output, the image first
    raises    KeyError for an unknown node, ValueError for one that is not explained or an element
              outside its output, ModelError as a session raises it
    """
    session = Session(graph, threads=1)
    graph, found = session.graph, session.graph.node(node)
    if found.op not in EXPLAINED:
        raise ValueError(f"{node}: must be {', '.join(EXPLAINED[:-1])} or {EXPLAINED[-1]} to be "
                         f"explained, got {found.op}")  # fmt: skip
    image, place = _find(graph, found, inputs, element)
    values = dict(session.trace(_image(graph, inputs, image)))
    read = [_values(graph, i, values) for i in found.inputs]
    made = {"add": _added, "softmax": _shared}.get(found.op, _summed)(graph, found, read, place)
    tensor = graph.tensors[found.outputs[0]].name
    summing = found.op in WEIGHTED and made.rule != NEURAL_ART
    kept, own = accumulator_of(graph, found) if summing else None, own_profile(found)
    return Explanation(node, found.op, tensor, tuple(element), own or graph.profile, made.rule,
                       "profile" if own else "rule" if has_its_own(graph, found) else None,
                       kept, made.steps, made.others)  # fmt: skip


class Made(NamedTuple):
    """How an element is made: its rule, the steps, and the codes of other rules."""

    rule: str
    steps: tuple[Step, ...]
    others: Mapping[str, int]


def _summed(graph: Graph, node: Node, read: Sequence[np.ndarray], at: Place) -> Made:
    """Of a node that sums products."""
    tail = bind(graph, node)[1]
    sums, products = _sum(graph, node, read[0], at)
    if isinstance(tail, NeuralArt):
        steps = [*_coefficients(graph, node, at.channel),
                 *neural_art_steps(products, tail, at.channel)]  # fmt: skip
        return Made(NEURAL_ART, (*sums, *steps), {})
    assert isinstance(tail, Requantization)
    r, acc = of_element(tail, at.channel, len(tail.multiplier)), int(sums[-1].value)
    rule = REQUANTIZE[r.rounding.rule]
    others = {name: code for name, code in codes_by_rule(acc, r).items() if name != rule}
    steps = [_factor(graph, node, r, at.channel), *requantization_steps(acc, r)]
    return Made(rule, (*sums, *steps), others)


def _added(graph: Graph, node: Node, read: Sequence[np.ndarray], at: Place) -> Made:
    """Of an add, whose operands broadcast."""
    y = graph.tensors[node.outputs[0]].shape
    flat = at.row * y[-1] + at.channel
    a, b = (int(np.broadcast_to(x, y).reshape(-1)[flat]) for x in read)
    operands = explain_add.Operands(a, b, flat)
    return Made(arithmetic(graph, node).rule, tuple(explain_add.add_steps(graph, node, operands)),
                explain_add.other_codes(graph, node, operands))  # fmt: skip


def _shared(graph: Graph, node: Node, read: Sequence[np.ndarray], at: Place) -> Made:
    """Of a softmax."""
    row = read[0].reshape(-1, read[0].shape[-1])[at.row]
    steps = explain_softmax.softmax_steps(graph, node, row, at.channel)
    return Made(arithmetic(graph, node).rule, tuple(steps),
                explain_softmax.other_codes(graph, node, row, at.channel))  # fmt: skip


def _values(graph: Graph, index: int, values: Mapping[str, np.ndarray]) -> np.ndarray:
    """A tensor's codes; those of a constant are the graph's; nothing for an absent bias."""
    data = None if index == ABSENT else graph.tensors[index].data
    if data is not None or index == ABSENT:
        return np.empty(0, np.int8) if data is None else data
    return values[graph.tensors[index].name]


def _find(
    graph: Graph, node: Node, inputs: Mapping[str, np.ndarray], element: Sequence[int]
) -> tuple[int, Place]:
    """The image (or declared batch) that holds an element, and its place there."""
    y, x = graph.tensors[node.outputs[0]].shape, graph.tensors[graph.inputs[0]]
    if not y or not x.shape:
        raise ValueError(f"{node.name}/{node.op}: must have dimensions to be explained, got none")
    shape = (len(inputs[x.name]) // x.shape[0] * y[0], *y[1:])
    inside = all(0 <= i < n for i, n in zip(element, shape, strict=False))
    if len(element) != len(shape) or not inside:
        raise ValueError(f"{node.name}/{node.op}: element must lie in {shape}, "
                         f"got {tuple(element)}")  # fmt: skip
    image, first = divmod(element[0], y[0])
    flat = int(np.ravel_multi_index((first, *element[1:]), y))
    return image, Place(*divmod(flat, y[-1]))


def _image(graph: Graph, inputs: Mapping[str, np.ndarray], image: int) -> dict[str, np.ndarray]:
    """The inputs of one image, or of one declared batch."""
    lengths = {t.name: t.shape[0] for t in (graph.tensors[i] for i in graph.inputs)}
    return {name: inputs[name][image * n : (image + 1) * n] for name, n in lengths.items()}


def _sum(graph: Graph, node: Node, x: np.ndarray, at: Place) -> tuple[list[Step], np.ndarray]:
    """The steps to the accumulator, and the products in their order: int64 (K,)."""
    geometry, tail = bind(graph, node)
    weights, start = graph.tensors[node.inputs[1]].data, bias(graph, node)
    sums, products = _SUMS[node.op]
    each = np.array([p.reshape(-1, len(start))[at] for p in products(x, weights, geometry)])
    total, zero = int(each.sum()), zero_point(graph.tensors[node.inputs[0]])
    how = f"sum of {len(each):,} products (x{less(zero)}) * w"
    if isinstance(tail, NeuralArt):
        return [Step("acc", f"{how}, exact", total)], each
    first = int(start[at.channel])
    a = accumulator_of(graph, node)
    held = sums(x, weights, start, geometry, accumulation(graph, node))
    acc = int(held.reshape(-1, len(start))[at])
    lost = "" if first + total == acc else f", {_HELD[a.overflow]} {a.bits} bits"
    return [
        Step("bias", f"of channel {at.channel}", first),
        Step("products", how, total),
        Step("acc", f"bias + products{lost}", acc),
    ], each


def _factor(graph: Graph, node: Node, r: Requantization, channel: int) -> Step:
    """M = s_x * s_w / s_y."""
    if "multiplier" in node.given:
        return Step("M", "of the given multiplier and shift", float(r.scale[0]))
    x, w, y = (graph.tensors[i] for i in (*node.inputs[:2], *node.outputs))
    factors = quantization(w).scale
    scales = scale32(x), factors[channel % factors.size], scale32(y)
    s_x, s_w, s_y = (f"{float(s):.9g}" for s in scales)
    how = SCALES[arithmetic(graph, node).scale]
    return Step("M", f"{s_x} * {s_w} / {s_y}, {how}", float(r.scale[0]))


def _coefficients(graph: Graph, node: Node, channel: int) -> Iterator[Step]:
    """The numbers that Neural-ART's stages compute with."""
    for p in labelled(graph, node):
        if p.name in ("s0", "A_c", "s1", "A2", "BC_c", "s2"):
            yield Step(p.name, p.origin, int(p.values[channel % len(p.values)]))
