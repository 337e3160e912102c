"""One element of a weighted node, step by step: its sum, its rule, its code.

Every step is computed by the function of the reference that states it, so the last one is the code
that a session gives; docs/arithmetic.md says where each rule comes from.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np

from .affine import quantization, scale32, zero_point
from .engine import Session
from .explain_rule import Step, codes_by_rule, less, neural_art_steps, requantization_steps
from .graph import Accumulator, Graph, Node
from .headroom import WEIGHTED, accumulator_of
from .kernels.structs import REQUANTIZE, NeuralArt, Requantization, Rounding
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
_HELD = {"wrap": "wrapped to", "saturate": "saturated at"}


@dataclass(frozen=True)
class Explanation:
    """How one element came about.

    node, op, tensor   that made it, and that it is part of
    element            its coordinates, the image first
    rule               of the element: at the end of a row it may be another than the node's
    profile            that of the node: its own, else the graph's
    own                "profile" or "rule" where that is the node's own, and not the graph's
    accumulator        of its sum; None for exact sums
    steps              the last one is its code
    others             codes that other rules make of the same sum and M; empty on Neural-ART
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
    """Explain one element of the output of a node that sums products.

    inputs    by name, as `Session.run` takes them
    element   its coordinates in the node's output, the image first
    raises    KeyError for an unknown node, ValueError for one that sums no products or an element
              outside its output, ModelError as a session raises it
    """
    session = Session(graph, threads=1)
    graph, found = session.graph, session.graph.node(node)
    if found.op not in WEIGHTED:
        raise ValueError(f"{node}: must be {', '.join(WEIGHTED[:-1])} or {WEIGHTED[-1]} to be "
                         f"explained, got {found.op}")  # fmt: skip
    image, place = _find(graph, found, inputs, element)
    values = dict(session.trace(_image(graph, inputs, image)))
    tail = bind(graph, found)[1]
    sums, products = _sum(graph, found, values[graph.tensors[found.inputs[0]].name], place)
    if isinstance(tail, NeuralArt):
        rule, kept, others = NEURAL_ART, None, {}
        steps = [*_coefficients(graph, found, place.channel),
                 *neural_art_steps(products, tail, place.channel)]  # fmt: skip
    else:
        assert isinstance(tail, Requantization)
        r, acc = _of_channel(tail, place.channel), int(sums[-1].value)
        rule, kept = REQUANTIZE[r.rounding.rule], accumulator_of(graph, found)
        others = {name: code for name, code in codes_by_rule(acc, r).items() if name != rule}
        steps = [_factor(graph, found, r, place.channel), *requantization_steps(acc, r)]
    tensor = graph.tensors[found.outputs[0]].name
    own = own_profile(found)
    return Explanation(node, found.op, tensor, tuple(element), own or graph.profile, rule,
                       "profile" if own else "rule" if has_its_own(graph, found) else None,
                       kept, (*sums, *steps), others)  # fmt: skip


def _find(
    graph: Graph, node: Node, inputs: Mapping[str, np.ndarray], element: Sequence[int]
) -> tuple[int, Place]:
    """The image (or declared batch) that holds an element, and its place there."""
    y, x = graph.tensors[node.outputs[0]].shape, graph.tensors[graph.inputs[0]]
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


def _of_channel(r: Requantization, channel: int) -> Requantization:
    """The tail of one element: its multiplier, and the rule of its place in the row."""
    n, one = len(r.multiplier), slice(channel, channel + 1)
    rule = r.rounding.rule if channel < n - n % r.rounding.block else r.rounding.rest
    return r._replace(multiplier=r.multiplier[one], shift=r.shift[one], scale=r.scale[one],
                      rounding=Rounding(rule, 1, rule))  # fmt: skip


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
