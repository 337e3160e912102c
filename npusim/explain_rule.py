"""The steps from an accumulator to a code, rule by rule."""

import re
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from .kernels.structs import REQUANTIZE, TIES, NeuralArt, Requantization, Rounding
from .reference import arithmetic, neural_art
from .reference.requantize import requantize

_AWAY, _EVEN, _UP = (
    "to nearest, ties away from zero",
    "to nearest, ties to even",
    "to nearest, ties up",
)
BY_TIES = {TIES["away"]: _AWAY, TIES["even"]: _EVEN, TIES["up"]: _UP, TIES["floor"]: "down"}
"""How a number of TIES rounds, in words."""
_SECOND: Mapping[str, tuple[str, Callable[..., np.ndarray]]] = {
    "double_rounding": (_AWAY, arithmetic.divide_by_pot),
    "double_rounding_up": (_UP, arithmetic.divide_up_by_pot),
    "double_rounding_down": ("down", np.right_shift),
}
"""The second rounding of rules that round twice."""


_NAMES = re.compile(r"\b(acc32|acc|multiplier|shifted|shift|high|scaled|product|M32|M)\b")
"""Steps that are an operand's own where there are two."""


class Step(NamedTuple):
    """One number on the way.

    name    what the steps behind it call it
    how     how it comes about, in the names of those before
    value   an integer; a real number where the rule computes with some
    """

    name: str
    how: str
    value: int | float


def requantization_steps(acc: int, r: Requantization) -> Iterator[Step]:
    """From an accumulator to its code.

    r   of one channel, with one rule
    """
    rule, scaled = REQUANTIZE[r.rounding.rule], 0
    for step in _RULES[rule](acc, r):
        scaled = int(step.value)
        yield step
    code = min(max(scaled + r.zero_point, r.act_min), r.act_max)
    yield Step("code", f"scaled{less(-r.zero_point)}, within {r.act_min}..{r.act_max}", code)


def operand_steps(name: str, acc: int, r: Requantization) -> Iterator[Step]:
    """From an operand of ADD to the common scale; every step has the operand's name behind its own.

    acc   called `acc_<name>` by the steps before
    r     of one element, with one rule
    """
    for step in _RULES[REQUANTIZE[r.rounding.rule]](acc, r):
        how = _NAMES.sub(rf"\g<0>_{name}", step.how)
        yield Step(f"{step.name}_{name}", how, step.value)


def of_element(r: Requantization, place: int, length: int) -> Requantization:
    """The tail of one element: its multiplier, and the rule of its place in a row of `length`."""
    one = slice(place, place + 1) if len(r.multiplier) > 1 else slice(None)
    rule = r.rounding.rule if place < length - length % r.rounding.block else r.rounding.rest
    return r._replace(multiplier=r.multiplier[one], shift=r.shift[one], scale=r.scale[one],
                      rounding=Rounding(rule, 1, rule))  # fmt: skip


def codes_by_rule(acc: int, r: Requantization) -> dict[str, int]:
    """What every rule makes of an accumulator; r is of one channel."""
    alone = (r._replace(rounding=Rounding(k, 1, k)) for k in range(len(REQUANTIZE)))
    codes = (int(requantize(np.array([acc]), tail)[0]) for tail in alone)
    return dict(zip(REQUANTIZE, codes, strict=True))


def neural_art_steps(products: np.ndarray, r: NeuralArt, channel: int) -> Iterator[Step]:
    """The three stages of Neural-ART.

    products   int64 (K,), of one element, in the order (KH, KW, I)
    """

    def total(start: int, count: int) -> np.ndarray:
        return products[start : start + count].sum(keepdims=True)

    r0, pieces = neural_art.reduced_sums(total, r), int(r.runs[:, 2].sum())
    made = "" if pieces == 1 else f", made in {pieces} pieces of {r.partial_bits} bits"
    yield Step("r0", f"acc / 2^s0, {BY_TIES[r.round0]}, in 16 bits{made}", int(r0[0]))
    scaled = neural_art.shifted(r0 * int(r.a_c[channel]), r.s1, r.round1)
    r1 = int(neural_art.saturated(scaled, 16)[0])
    yield Step("r1", f"r0 * A_c / 2^s1, {BY_TIES[r.round1]}, in 16 bits", r1)
    one = slice(channel, channel + 1)
    code = neural_art.codes(r0, r._replace(a_c=r.a_c[one], bc_c=r.bc_c[one]))
    how = f"(r1 * A2 + BC_c) / 2^s2, {BY_TIES[r.round2]}, within {r.act_min}..{r.act_max}"
    yield Step("code", how, int(code[0]))


def less(number: int) -> str:
    """ " - 3", " + 128" or nothing."""
    return f" {'-' if number > 0 else '+'} {abs(number)}" if number else ""


def _fixed_point(r: Requantization) -> Iterator[Step]:
    yield Step("multiplier", "M = multiplier * 2^(shift - 31)", int(r.multiplier[0]))
    yield Step("shift", "to the left where positive", int(r.shift[0]))


def _twice(acc: int, r: Requantization) -> Iterator[Step]:
    yield from _fixed_point(r)
    left, right = max(int(r.shift[0]), 0), max(-int(r.shift[0]), 0)
    value, name = int(arithmetic.wrap(np.array(acc) << left, 32)), "acc"
    if value != acc:
        name = "shifted"
        yield Step(name, f"acc << {left}, wrapped to 32 bits", value)
    high = arithmetic.high_mul(value, r.multiplier)
    yield Step("high", f"({name} * multiplier + 2^30) >> 31", int(high[0]))
    how, divide = _SECOND[REQUANTIZE[r.rounding.rule]]
    yield Step("scaled", f"high / 2^{right}, {how}", int(divide(high, right)[0]))


def _once(acc: int, r: Requantization) -> Iterator[Step]:
    yield from _fixed_point(r)
    scaled = arithmetic.requantize_single_rounding(np.array([acc]), r.multiplier, r.shift)
    yield Step("scaled", f"acc * multiplier / 2^{31 - int(r.shift[0])}, {_UP}", int(scaled[0]))


def _in_float32(acc: int, r: Requantization) -> Iterator[Step]:
    with np.errstate(over="ignore"):
        sum32, m32 = np.float32(acc), np.float32(r.scale[0])
        product = sum32 * m32
    names = ["acc", "M"]
    if float(sum32) != acc:
        names[0] = "acc32"
        yield Step("acc32", "acc in float32", float(sum32))
    if m32 != r.scale[0]:
        names[1] = "M32"
        yield Step("M32", "M in float32", float(m32))
    yield Step("product", f"{' * '.join(names)}, in float32", float(product))
    scaled = arithmetic.requantize_float32_even(np.array([acc]), r.scale)
    yield Step("scaled", f"product, {_EVEN}", int(scaled[0]))


def _in_double(acc: int, r: Requantization) -> Iterator[Step]:
    yield Step("product", "acc * M, in double", float(acc) * float(r.scale[0]))
    scaled = arithmetic.requantize_float64_away(np.array([acc]), r.scale)
    yield Step("scaled", f"product, {_AWAY}", int(scaled[0]))


_RULES: Mapping[str, Callable[[int, Requantization], Iterator[Step]]] = {
    **dict.fromkeys(_SECOND, _twice),
    "single_rounding": _once,
    "float32_even": _in_float32,
    "float64_away": _in_double,
}
