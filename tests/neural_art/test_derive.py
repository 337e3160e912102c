"""The compiler's rules against exact fractions, and at their limits."""

from fractions import Fraction

import numpy as np
import pytest
from naive import neural_art as naive

from npusim.neural_art import derive
from npusim.neural_art.derive import Affine, Scales


def float32(rng, low, high):
    """A float32 of any magnitude in 2^low..2^high, often a power of two."""
    value = np.exp2(rng.uniform(low, high))
    return float(np.float32(2.0 ** round(np.log2(value)) if rng.random() < 0.2 else value))


@pytest.mark.parametrize("seed", range(200))
def test_weighted_coefficients_match_naive(seed):
    rng = np.random.default_rng(seed)
    o, s0 = int(rng.integers(1, 12)), int(rng.integers(0, 7))
    s_x, s_y = float32(rng, -10, 0), float32(rng, -10, 0)
    s_w = np.array([float32(rng, -20, -4) for _ in range(o)], np.float32) * np.float32(s_y)
    bias = rng.integers(-(2**20), 2**20, o).astype(np.int32)
    zero_point = int(rng.integers(-128, 128))
    scales = Scales(s_x, s_w, s_y, 0, zero_point, bias)
    f = derive.fraction_bits(s_y)
    s1 = derive.largest_shift(float(np.ldexp(s_x * float(s_w.max()), f + s0)))
    actual = (f, s1, derive.channel_coefficients(scales, f + s0 + s1).tolist(), 20,
              derive.output_coefficient(s_y, f), derive.offsets(scales).tolist())  # fmt: skip
    reals = (s_x, [float(s) for s in s_w], s_y)
    assert actual == naive.derived(reals, zero_point, bias.tolist(), s0)


@pytest.mark.parametrize("seed", range(200))
def test_add_and_mean_coefficients_match_naive(seed):
    rng = np.random.default_rng(seed)
    a, b, y = (Affine(float32(rng, -9, 3), int(rng.integers(-128, 128))) for _ in range(3))
    k = [derive.largest_shift(operand.scale / y.scale) for operand in (a, b)]
    zero = derive.add_zero(a, b, y)
    c_shift = derive.offset_shift(zero, min(k))
    expected = naive.derived_sum(a, b, y)
    assert (min(k), c_shift) == (expected.shift, expected.c_shift)
    assert [n - min(k) for n in k] == [expected.a_shift, expected.b_shift]
    assert derive.coefficient(a.scale / y.scale, k[0]) == expected.a
    assert derive.coefficient(b.scale / y.scale, k[1]) == expected.b
    assert derive.coefficient(zero, min(k) - c_shift) == expected.c
    cells = int(rng.integers(1, 5000))
    average = naive.derived_average(a, y, cells)
    pool, q = derive.pool_shift(cells), derive.mean_shift(a, y)
    assert (pool, (1 << pool) // cells, q) == (average.k, average.mulval, average.q)
    assert derive.coefficient(a.scale / y.scale, q) == average.a
    assert derive.mean_offset(a, y, q) == average.c


@pytest.mark.parametrize("seed", range(60))
def test_default_s0_matches_naive(seed):
    rng = np.random.default_rng(seed)
    weights = rng.integers(-127, 128, (int(rng.integers(1, 400)), 3))
    zero_point = int(rng.choice([-128, 0, 127, rng.integers(-128, 128)]))
    positive, negative = np.maximum(weights, 0).sum(0), np.minimum(weights, 0).sum(0)
    bound = derive.static_bound(positive, negative, zero_point)
    assert derive.default_s0(bound) == naive.default_s0(weights, 3, zero_point)


@pytest.mark.parametrize(
    ("bound", "s0"), [(0, 0), (1, 0), (32767, 0), (32768, 1), (65534, 1), (65535, 2), (2**23, 9)]
)
def test_default_s0_is_the_first_that_holds_the_bound(bound, s0):
    assert derive.default_s0(bound) == s0


@pytest.mark.parametrize("exponent", range(-12, 3))
def test_fraction_bits_leave_room_for_510_codes(exponent):
    for s_y in (2.0**exponent, 2.0**exponent * 1.001, 2.0**exponent / 255, 2.0**exponent / 254.9):
        reach = Fraction(2) ** (15 - derive.fraction_bits(s_y)) / Fraction(s_y)
        assert 510 <= reach < 1020


def test_output_coefficient_is_below_two_to_the_fifteen():
    for s_y in np.exp2(np.random.default_rng(0).uniform(-30, 30, 2000)).astype(np.float32).tolist():
        a2 = derive.output_coefficient(s_y, derive.fraction_bits(s_y))
        assert 16320 <= a2 <= 32640


def test_offsets_are_clamped_to_32_bits():
    scales = Scales(1.0, np.float32([1, 1]), 1.0, 0, 5, np.int32([10_000, -10_000]))
    assert derive.offsets(scales).tolist() == [2**31 - 1, -(2**31)]


def test_offsets_are_cut_after_32_bits_of_fixed_point():
    """Half of the last of 32 bits goes up before the fraction is cut off."""
    exact = 5 - 2.0**-20 * 0.03  # in codes; its 32 bits end at 2^-8 of an offset's unit
    scales = Scales(1.0, np.float32([1]), 1.0, 0, 0, np.int32([5]))
    assert derive.offsets(scales).tolist() == [5 << 20]
    near = scales._replace(s_w=np.float32([exact]), bias=np.int32([1]))
    real = float(np.float32(exact)) * 2**20
    assert derive.offsets(near).tolist() == [int(np.floor(np.rint(real * 2**8) / 2**8))]


def test_scale_that_no_coefficient_holds_is_refused():
    with pytest.raises(ValueError, match=r"scales must give a coefficient below 2\^15, got 40000"):
        derive.largest_shift(40000.0)


def test_infinite_bias_is_refused():
    scales = Scales(2.0**127, np.float32([2.0**127]), 1.0, 0, 0, np.int32([1]))
    with pytest.raises(ValueError, match="scales must leave the bias finite, got inf a code"):
        derive.offsets(scales)
