"""Reports about requantisation, under every rule and profile; in both executors.

Other kinds of report are in `test_field_cases`. What covers the whole kind of each:

* a rule's ties, limits and signs: `kernels/test_arith`, `test_rules_match_fractions`;
* operators that disagree: `fuzz/test_operators_match_litert`, `conformance/test_tosa`;
* multipliers that round to 2^31, vanish or are zero: `test_multiplier`,
  `fuzz/test_scales_match_litert`;
* products of 32-bit numbers: `kernels/test_arith`, `test_high_mul_of_any_numbers`;
* the sign of a shift: `test_multiplier`, `test_a_shift_is_a_power_of_two`.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kernels.rule_answers import FLOAT_RULES, INTEGER_RULES, answers
from naive import rounding
from one_node import activation, constant, one_node, pointwise

from npusim import Session
from npusim.kernels import arith
from npusim.kernels.structs import REQUANTIZE
from npusim.multiplier import quantize_multiplier, real_multiplier
from npusim.reference import arithmetic
from npusim.rules import arithmetic as arithmetic_of

RULES = tuple(REQUANTIZE)
QUARTERS = [1, 2, 5, 6, -1, -2, -5, -6]
BY_RULE = {
    "double_rounding": [1, 1, 2, 2, 0, -1, -1, -2],
    "double_rounding_up": [1, 1, 2, 2, 0, 0, -1, -1],
    "single_rounding": [0, 1, 1, 2, 0, 0, -1, -1],
    "float64_away": [0, 1, 1, 2, 0, -1, -1, -2],
    "float32_even": [0, 0, 1, 2, 0, 0, -1, -2],
}
# what each profile rounds by: conv2d, fully_connected per tensor, mul, mean of a row
PROFILES = {
    "tflm": ("double_rounding",) * 4,
    "single-rounding": ("single_rounding",) * 4,
    "litert-ref": ("double_rounding", "float64_away", "double_rounding", "double_rounding"),
    "litert-x86": ("double_rounding_up", "double_rounding_up", "double_rounding",
                   "double_rounding"),
    "xnnpack": ("float32_even", "float32_even", "float32_even", "mean_xnnpack"),
    "onnx": ("float32_even", "float32_even"),
}  # fmt: skip


def run(graph, *inputs):
    """The codes of the only output, flat."""
    names = [graph.tensors[i].name for i in graph.inputs]
    arrays = [np.asarray(x, np.int8) for x in inputs]
    return Session(graph, threads=1).run(dict(zip(names, arrays, strict=True))).ravel().tolist()


def ruled(graph, rule):
    """The graph with its node rounding by a rule."""
    return replace(graph, nodes=(replace(graph.nodes[0], rule=rule),))


def scaled(acc, real, rule):
    """Codes that a 1x1 convolution by a rule makes of accumulators times a real multiplier."""
    zeros = np.zeros((len(acc), 1), np.int8)
    graph = pointwise(1.0, zeros, activation(()), np.full(len(acc), real), np.array(acc, np.int32))
    return run(ruled(graph, rule), np.zeros((1, 1, 1, 1)))


def layers(profile):
    """Two-operand layers on codes (1, 8), all with M = 1/4, under a profile, by operator."""
    y, flat = activation((), 4.0), {"activation": "none", "keep_dims": False}
    x, ones = activation((8, 1)), constant([[1]], 1.0)
    absent = constant([0], 1.0, "int32")
    image = constant(np.ones((1, 1, 1, 1)), [1.0], axis=0)
    plain = {"stride": (1, 1), "dilation": (1, 1), "padding": "valid", "activation": "none"}
    made = {
        "conv2d": one_node("conv2d", [activation((8, 1, 1, 1)), image, absent], y, **plain),
        "fully_connected": one_node("fully_connected", [x, ones, absent], y, **flat),
        "mul": one_node("mul", [x, activation((1, 1))], y, activation="none"),
    }
    return {op: replace(graph, profile=profile) for op, graph in made.items()}


@pytest.mark.parametrize("rule", BY_RULE)
def test_a_quarter(isa, rule):
    """github.com/tensorflow/tensorflow/issues/25087: n + 1/4 becomes n + 1 by rounding twice."""
    graph = ruled(pointwise(1.0, [[1]], activation((), 4.0), [1.0]), rule)
    assert run(graph, [[[[1]]]]) == BY_RULE[rule][:1]
    assert scaled(QUARTERS, 0.25, rule) == BY_RULE[rule]


@pytest.mark.parametrize("profile", PROFILES)
def test_the_same_accumulator_in_another_operator(isa, profile):
    """github.com/tensorflow/tensorflow/issues/99072, github.com/ARM-software/CMSIS-NN/issues/214"""
    x = np.array(QUARTERS, np.int8)
    for (op, graph), rule in zip(layers(profile).items(), PROFILES[profile], strict=False):
        assert arithmetic_of(graph, graph.nodes[0]).rule == rule
        operands = (x.reshape(graph.tensors[0].shape), [[1]])[: 2 if op == "mul" else 1]
        assert run(graph, *operands) == BY_RULE[rule], op


@pytest.mark.parametrize("rule", BY_RULE)
def test_7984(isa, rule):
    """github.com/tensorflow/tensorflow/issues/25087: 11.499 becomes 12 by rounding twice."""
    real = real_multiplier(1583594044, -9)
    assert 11 < 7984 * Fraction(real) < Fraction(23, 2)
    acc = np.array([[7984]], np.int32)
    graph = ruled(pointwise(1.0, [[0]], activation(()), [1.0], acc.ravel()), rule)
    session = Session(graph, threads=1)
    session.requantization["conv2d_0"].multiplier[:] = 1583594044
    session.requantization["conv2d_0"].shift[:] = -9
    expected = 12 if rule.startswith("double") else 11
    assert session.run(np.zeros((1, 1, 1, 1), np.int8)).ravel().tolist() == [expected]


@pytest.mark.parametrize("profile", sorted(PROFILES.keys() - {"onnx"}))
def test_means_that_are_ties(isa, profile):
    """github.com/google-ai-edge/LiteRT/issues/7441; rows, so no kernel for maps takes part."""
    mean = one_node("mean", [activation((6, 2))], activation(()), axes=(1,), keep_dims=False)
    rows = [[1, 0], [-1, 0], [3, 0], [-3, 0], [5, 0], [-5, 0]]
    graph = replace(mean, profile=profile)
    assert arithmetic_of(graph, graph.nodes[0]).rule == PROFILES[profile][3]
    expected = [0, 0, 2, -2, 2, -2] if profile == "xnnpack" else [1, 0, 2, -1, 3, -2]
    assert run(graph, rows) == expected


@pytest.mark.parametrize("below", [2.0**-33, 2.0**-32])
@pytest.mark.parametrize("rule", BY_RULE)
def test_mantissa_of_two_to_the_31(isa, rule, below):
    """github.com/google/ruy/issues/300: what rounds to 2^31 is 2^30 and one shift more."""
    assert quantize_multiplier(1 - below) == (2**30, 1)
    assert scaled([100, -100, 127, -128], 1 - below, rule) == [100, -100, 127, -128]


@pytest.mark.parametrize("profile", PROFILES)
def test_scales_that_leave_nothing(isa, profile):
    """github.com/tensorflow/tensorflow/pull/26977, github.com/XiaoMi/mace/issues/293"""
    assert quantize_multiplier(2.0**-33) == (0, 0)
    assert quantize_multiplier(2.0**-32) == (2**30, -31)
    for x_scale, w_scale in ((1e-10, 1e-10), (1e-45, 1.0), (1.0, 1e-45), (1e-39, 1e-39)):
        graph = pointwise(x_scale, [[127]], activation((), 1.0, 5), [w_scale], [0])
        assert run(replace(graph, profile=profile), [[[[127]]]]) == [5], (x_scale, w_scale)
    graph = pointwise(1.0, [[3], [3]], activation((), 1.0, 5), [1.0, 0.0], [1000, 1000])
    assert run(replace(graph, profile=profile), [[[[1]]]]) == [127, 5]


def test_high_products_of_two_negatives():
    """github.com/ARM-software/CMSIS_5/issues/1361"""
    smallest, largest = -(2**31), 2**31 - 1
    for a, b, expected in (
        (smallest, smallest, 2147483647),
        (smallest, largest, -2147483647),
        (largest, largest, 2147483646),
    ):
        assert arith.saturating_high_mul(np.int64(a), np.int64(b)) == expected
        assert arithmetic.high_mul(a, b) == expected


@settings(max_examples=500, deadline=None)
@given(st.integers(-(2**31), 2**31 - 1), st.integers(-(2**31), 2**31 - 1))
def test_high_mul_of_any_numbers(a, b):
    exact = math.floor(Fraction(a * b, 2**31) + Fraction(1, 2))
    assert arithmetic.high_mul(a, b) == min(exact, 2**31 - 1)
    assert arith.saturating_high_mul(np.int64(a), np.int64(b)) == min(exact, 2**31 - 1)


@pytest.mark.parametrize(("total", "shift", "expected"), [(-5, 1, -2), (-5, 0, -5), (-6, 2, -1)])
def test_rounding_constant_of_a_negative_sum(total, shift, expected):
    """github.com/ARM-software/CMSIS_5/issues/1047: half up, and no constant at shift 0."""
    assert arith.rounding_divide_up_by_pot(np.int64(total), np.int64(shift)) == expected
    assert arithmetic.divide_up_by_pot(np.int64(total), shift) == expected


def test_a_layer_of_another_convention():
    """github.com/ARM-software/CMSIS-NN/issues/184: (966, +16) would give 163."""
    real = 0.5416631102561951 * 0.003441296052187681 / 0.1264280378818512
    multiplier, shift = quantize_multiplier(real)
    assert (multiplier, shift) == (2026365287, -6)
    for rule in INTEGER_RULES:
        assert all(found == [81] for found in answers(rule, [5523], multiplier, shift))
    for rule in FLOAT_RULES:
        assert all(found == [81] for found in answers(rule, [5523], real))


@given(st.integers(2**30, 2**31 - 1), st.integers(-31, 31))
def test_a_shift_is_a_power_of_two(multiplier, shift):
    """Positive is to the left: one more doubles the number."""
    real = Fraction(multiplier, 2**31) * Fraction(2) ** shift
    assert Fraction(real_multiplier(multiplier, shift)) == real


def test_a_float_requantiser_is_named():
    """github.com/mit-han-lab/tinyengine/issues/59: not bit-exact with Q0.31, so it says so."""
    graph = layers("xnnpack")["conv2d"]
    assert str(arithmetic_of(graph, graph.nodes[0])) == "float32_even"
    assert arithmetic_of(graph, graph.nodes[0]).scale == "float32"
    fixed = layers("tflm")["conv2d"]
    assert str(arithmetic_of(fixed, fixed.nodes[0])) == "double_rounding"
    x = np.array(QUARTERS, np.int8).reshape(8, 1, 1, 1)
    assert (run(graph, x), run(fixed, x)) == (BY_RULE["float32_even"], BY_RULE["double_rounding"])


@st.composite
def near_ties(draw):
    """(acc, multiplier, shift) whose product lies at or beside a tie of the result."""
    zeros = draw(st.integers(0, 30))
    top = draw(st.integers(2 ** (30 - zeros), 2 ** (31 - zeros) - 1))
    multiplier, shift = top << zeros, draw(st.integers(-31, 31))
    half = Fraction(2) ** (30 - shift) / multiplier  # of an accumulator to the next tie
    steps = int(2**31 / half)
    odd = 2 * draw(st.integers(-steps // 2, steps // 2)) + 1
    acc = round(odd * half) + draw(st.sampled_from([-1, 0, 0, 0, 1]))
    return rounding.clamp(acc, -(2**31), 2**31 - 1), multiplier, shift


def up(value):
    """The nearest integer, ties toward +infinity."""
    return math.floor(value + Fraction(1, 2))


def away(value):
    """The nearest integer, ties away from zero."""
    return up(value) if value >= 0 else -up(-value)


def by_definition(rule, acc, multiplier, shift):
    """A rule in fractions; rounding twice is two of them."""
    exact = acc * Fraction(multiplier) * Fraction(2) ** (shift - 31)
    if rule == "single_rounding":
        return up(exact)
    left = (acc * 2 ** max(shift, 0) + 2**31) % 2**32 - 2**31
    high = up(Fraction(left * multiplier, 2**31))
    second = {"double_rounding": away, "double_rounding_up": up, "double_rounding_down": math.floor}
    return second[rule](Fraction(high) / 2 ** max(-shift, 0))


@settings(max_examples=1000, deadline=None)
@given(near_ties())
def test_rules_match_fractions(numbers):
    acc, multiplier, shift = numbers
    for rule in INTEGER_RULES:
        expected = [by_definition(rule, *numbers)]
        assert all(found == expected for found in answers(rule, [acc], multiplier, shift)), rule
    real = math.ldexp(multiplier, shift - 31)
    for rule in FLOAT_RULES:
        naive, reference, compiled = answers(rule, [acc], real)
        assert naive == reference == compiled
