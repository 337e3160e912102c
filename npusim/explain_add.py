"""One element of ADD, step by step: how each operand is scaled, and what becomes of their sum."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .affine import scale
from .explain_rule import (
    BY_TIES,
    Step,
    less,
    of_element,
    operand_steps,
    requantization_steps,
)
from .graph import Graph, Node
from .kernels.structs import TIES, Add, AddXnnpack, NeuralArtAdd, Requantization
from .neural_art.stored import RULE as NEURAL_ART
from .neural_art.stored import labelled
from .parameters import bind
from .reference import add_xnnpack, arithmetic, neural_art
from .rules import arithmetic as arithmetic_of
from .rules import choices


class Operands(NamedTuple):
    """The codes that an element is the sum of, and its place in its batch."""

    a: int
    b: int
    place: int


def add_steps(graph: Graph, node: Node, at: Operands) -> Iterator[Step]:
    """From two codes to the code of their sum."""
    structs = bind(graph, node)
    yield Step("a", f"code of {_name(graph, node, 0)}", at.a)
    yield Step("b", f"code of {_name(graph, node, 1)}", at.b)
    if isinstance(structs[0], NeuralArtAdd):
        yield from _coefficients(graph, node)
        yield from _on_neural_art(structs[0], at)
    elif isinstance(structs[0], AddXnnpack):
        yield from _by_xnnpack(structs[0], at)
    else:
        yield from _twice_scaled(graph, node, at)


def other_codes(graph: Graph, node: Node, at: Operands) -> Mapping[str, int]:
    """What other rules make of the operands; Neural-ART's needs parameters of its own."""
    own, found = arithmetic_of(graph, node).rule, {}
    for rule in choices(graph, node):
        if rule not in (own, NEURAL_ART) and own != NEURAL_ART:
            other = replace(node, rule=rule)
            found[rule] = int(list(_by(graph, other, at))[-1].value)
    return found


def _by(graph: Graph, node: Node, at: Operands) -> Iterator[Step]:
    nodes = tuple(node if n.name == node.name else n for n in graph.nodes)
    return add_steps(replace(graph, nodes=nodes), node, at)


def _name(graph: Graph, node: Node, k: int) -> str:
    """The node that makes an operand; else the tensor."""
    makers = {i: n.name for n in graph.nodes for i in n.outputs}
    return makers.get(node.inputs[k], graph.tensors[node.inputs[k]].name)


def _twice_scaled(graph: Graph, node: Node, at: Operands) -> Iterator[Step]:
    """Both operands to a common scale, their sum to the output's."""
    p, tail = bind(graph, node)
    assert isinstance(p, Add)
    assert isinstance(tail, Requantization)
    place, (s_a, s_b, s_y) = at.place % p.row, _scales(graph, node)
    total, twice = 0, f"(2 * max(s_a, s_b) = {2 * max(s_a, s_b):.9g})"
    for name, code, zero, own, s in (
        ("a", at.a, p.a_zero_point, p.a, s_a),
        ("b", at.b, p.b_zero_point, p.b, s_b),
    ):
        wide, r = (code - zero) << p.left_shift, of_element(own, place, p.row)
        yield Step(f"acc_{name}", f"({name}{less(zero)}) * 2^{p.left_shift}", wide)
        yield Step(f"M_{name}", f"{s:.9g} / {twice}", float(r.scale[0]))
        scaled = 0
        for step in operand_steps(name, wide, r):
            scaled = int(step.value)
            yield step
        total += scaled
    yield Step("acc", "scaled_a + scaled_b", int(arithmetic.wrap(np.array(total), 32)))
    how = f"2 * max(s_a, s_b) / (2^{p.left_shift} * {s_y:.9g})"
    r = of_element(tail, place, p.row)
    yield Step("M", how, float(r.scale[0]))
    yield from requantization_steps(int(arithmetic.wrap(np.array(total), 32)), r)


def _by_xnnpack(p: AddXnnpack, at: Operands) -> Iterator[Step]:
    yield Step("multiplier_a", "s_a / s_y * 2^shift, in float32, to nearest", p.a_multiplier)
    yield Step("multiplier_b", "s_b / s_y * 2^shift, in float32, to nearest", p.b_multiplier)
    yield Step("shift", "20 - floor(log2(max(s_a, s_b) / s_y))", p.shift)
    left = (at.a - p.a_zero_point) * p.a_multiplier
    right = (at.b - p.b_zero_point) * p.b_multiplier
    yield Step("product_a", f"(a{less(p.a_zero_point)}) * multiplier_a", left)
    yield Step("product_b", f"(b{less(p.b_zero_point)}) * multiplier_b", right)
    scaled = int(arithmetic.divide_up_by_pot(np.array(left + right), p.shift))
    how = f"(product_a + product_b) / 2^shift, {BY_TIES[TIES['up']]}"
    yield Step("scaled", how, scaled)
    yield Step("code", f"scaled{less(-p.y_zero_point)}, within {p.act_min}..{p.act_max}",
               _single(add_xnnpack, at, p))  # fmt: skip


def _on_neural_art(p: NeuralArtAdd, at: Operands) -> Iterator[Step]:
    total = p.c << p.c_shift
    for name, code, factor, n in (("a", at.a, p.a, p.a_shift), ("b", at.b, p.b, p.b_shift)):
        part = int(neural_art.shifted(np.array(code * factor), n, p.round0))
        how = f"{name} * {name.upper()} / 2^{name}_shift, {BY_TIES[p.round0]}"
        yield Step(f"product_{name}", how, part)
        total += part
    yield Step("acc", "product_a + product_b + C * 2^c_shift", total)
    how = f"acc / 2^sum_shift, {BY_TIES[p.round1]}, within {p.act_min}..{p.act_max}"
    yield Step("code", how, _single(neural_art.add, at, p))


def _coefficients(graph: Graph, node: Node) -> Iterator[Step]:
    """The numbers that Neural-ART computes with."""
    for label in labelled(graph, node):
        if label.name not in ("ties", "operand_rounding"):
            yield Step(label.name, label.origin, int(label.values[0]))


def _single(function: Callable[..., np.ndarray], at: Operands, p: NamedTuple) -> int:
    """The reference's code of one pair of operands."""
    return int(function(np.array([at.a]), np.array([at.b]), p)[0])


def _scales(graph: Graph, node: Node) -> tuple[float, float, float]:
    a, b, y = (scale(graph.tensors[i]) for i in (*node.inputs, node.outputs[0]))
    return a, b, y
