"""One element of softmax, step by step: its exponential, the row's sum, its share of it."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .affine import scale32
from .explain_rule import BY_TIES, Step
from .graph import Graph, Node
from .kernels.structs import TIES, Softmax, SoftmaxX86
from .parameters import bind
from .reference import softmax as fixed_point
from .reference import softmax_x86 as table
from .reference.softmax import SUM_INTEGER_BITS, exponentials, shares
from .rules import arithmetic, choices

_AWAY = BY_TIES[TIES["away"]]


def softmax_steps(graph: Graph, node: Node, row: np.ndarray, place: int) -> Iterator[Step]:
    """From a row of codes, int8 (D,), to the code at one place."""
    (p,) = bind(graph, node)
    yield Step("x", f"code at {place} of {len(row)} in the row", int(row[place]))
    yield Step("max", "largest code of the row", int(row.max()))
    yield Step("difference", "x - max", int(row[place]) - int(row.max()))
    s_x = f"{float(scale32(graph.tensors[node.inputs[0]])):.9g}"
    factor = f"{float(np.float32(node.attributes['beta'])):.9g} * {s_x}"
    if isinstance(p, Softmax):
        yield from _in_fixed_point(p, row, place, factor)
    else:
        assert isinstance(p, SoftmaxX86)
        yield from _in_float32(p, row, place, factor)


def other_codes(graph: Graph, node: Node, row: np.ndarray, place: int) -> Mapping[str, int]:
    """What the other way to compute it makes of the row."""
    own, found = arithmetic(graph, node).rule, {}
    for rule in choices(graph, node):
        if rule != own:
            other = replace(node, rule=rule)
            (p,) = bind(graph, other)
            codes = fixed_point(row, p) if isinstance(p, Softmax) else _by_table(row, p)
            found[rule] = int(codes[place])
    return found


def _in_fixed_point(p: Softmax, row: np.ndarray, place: int, factor: str) -> Iterator[Step]:
    """Qm.n is an integer of 32 bits with n fraction bits."""
    e = exponentials(row, p)
    s = shares(e.exponential)
    yield Step("multiplier", f"{factor} * 2^26 = multiplier * 2^(shift - 31)", p.multiplier)
    yield Step("shift", "to the left where positive", p.shift)
    yield Step("diff_min", "smaller differences count as exp = 0", p.diff_min)
    if not e.counts[place]:
        yield Step("code", "difference is below diff_min: the smallest code", -128)
        return
    scaled = f"difference * multiplier * 2^(shift - 31) in Q5.26, two roundings, last {_AWAY}"
    yield Step("scaled", scaled, int(e.scaled[place]))
    yield Step("exp", "e^scaled in Q0.31, by gemmlowp's polynomial", int(e.exponential[place]))
    how = f"of {len(row)} exp / 2^{SUM_INTEGER_BITS}, each {_AWAY}: Q{SUM_INTEGER_BITS}.19"
    yield Step("sum", how, int(s.total[0]))
    yield Step("headroom", "bits by which sum can be shifted left in 32", int(s.headroom[0]))
    yield Step("reciprocal", "1 / (sum << headroom) in Q0.31, three Newton steps",
               int(s.reciprocal[0]))  # fmt: skip
    yield Step("high", "(reciprocal * exp + 2^30) >> 31", int(s.high[place]))
    how = f"high / 2^{int(s.exponent[0])}, {_AWAY}, - 128, at most 127"
    yield Step("code", how, int(s.code[place]))


def _in_float32(p: SoftmaxX86, row: np.ndarray, place: int, factor: str) -> Iterator[Step]:
    wide = row.astype(np.int64)
    entries = p.table[wide.max() - wide]
    total = np.add.accumulate(entries, -1, np.float32)[-1]
    share = np.float32(1) / (total * np.float32(1 / 256))
    yield Step("exp", f"table: e^({factor} * difference), in float32", float(entries[place]))
    yield Step("sum", f"of {len(row)} exp in the order of the codes, in float32", float(total))
    yield Step("factor", "1 / (sum / 256), in float32", float(share))
    yield Step("product", "exp * factor, in float32", float(entries[place] * share))
    code = int(_by_table(row, p)[place])
    yield Step("code", "floor(product + 0.5) - 128, at most 127", code)


def _by_table(row: np.ndarray, p: NamedTuple) -> np.ndarray:
    assert isinstance(p, SoftmaxX86)
    return table(row, p)
