"""Neural-ART's rounding, its tail and its units: kernels, reference and naive twin, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from kernels import drawn
from naive import neural_art as naive

from npusim import strides
from npusim.kernels import neural_art as kernels
from npusim.kernels import neural_art_units as units
from npusim.kernels.structs import TIES
from npusim.kernels.ties import rounded_shift
from npusim.reference import neural_art as reference

INT16 = (-(2**15), 2**15 - 1)
NAMES = {number: name for name, number in TIES.items()}


def ties_and_limits(n):
    """Integers about the ties of a shift by n, small, and at the ends of 8 to 48 bits."""
    half = (1 << n) >> 1
    near = [k * (1 << n) + half + d for k in range(-3, 3) for d in (-1, 0, 1)]
    ends = [sign * (1 << bits) + d for bits in (7, 15, 31, 47) for d in (-1, 0) for sign in (-1, 1)]
    return [*range(-5, 6), *near, *ends]


@pytest.mark.parametrize("ties", TIES)
@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 15, 20, 31, 40])
def test_rounded_shift_matches_naive(n, ties):
    values = ties_and_limits(n)
    expected = [naive.quotient(value, n, ties) for value in values]
    assert [int(rounded_shift(np.int64(v), n, TIES[ties])) for v in values] == expected
    assert reference.shifted(np.array(values, np.int64), n, TIES[ties]).tolist() == expected


def naive_tail(r, rows=(1,), columns=(1,), slabs=(1,)):
    stages = tuple(NAMES[number] for number in (r.round0, r.round1, r.round2))
    return naive.Tail(r.s0, r.s1, r.s2, r.a_c.tolist(), r.a2, r.bc_c.tolist(), rows, columns, slabs,
                      r.partial_bits, stages, (r.act_min, r.act_max))  # fmt: skip


def first_stage(rng, r, o):
    """r0 of every size, some such that a later stage is near a tie."""
    r0 = np.rint(rng.choice([-1, 1], o) * np.exp2(rng.uniform(0, 15, o))).astype(np.int64)
    tie = (1 << r.s1) >> 1
    odd = rng.random(o) < 0.4
    r0 = np.where(odd, tie // np.maximum(np.abs(r.a_c), 1) * (2 * (r0 & 3) + 1), r0)
    return np.clip(r0, *INT16)


@pytest.mark.parametrize("seed", range(120))
def test_tail_matches_naive(seed):
    rng = np.random.default_rng(seed)
    o = 64
    r = drawn.neural_art(rng, o)
    r0 = first_stage(rng, r, o)
    expected = [naive.finished(int(v), c, naive_tail(r)) for c, v in enumerate(r0)]
    assert [int(kernels.code(v, c, r)) for c, v in enumerate(r0)] == expected
    assert reference.codes(r0, r).tolist() == expected


def test_drawn_tails_are_alive_and_meet_ties():
    """The fuzz above is worth something: outputs vary, and every rule for ties matters."""
    matters = np.zeros(3, int)
    inside = total = 0
    for seed in range(120):
        rng = np.random.default_rng(seed)
        r = drawn.neural_art(rng, 64)
        r0 = first_stage(rng, r, 64)
        for stage, ties in ((1, "round1"), (2, "round2")):
            others = [reference.codes(r0, r._replace(**{ties: number})) for number in range(3)]
            matters[stage] += any(np.any(other != others[0]) for other in others)
        y = reference.codes(r0, r)
        inside += int(np.sum((y > r.act_min) & (y < r.act_max)))
        total += y.size
    assert matters[1] >= 5
    assert matters[2] >= 30
    assert inside * 5 > total


@pytest.mark.parametrize("partial_bits", [16, 24])
def test_pieces_saturate_at_their_width(partial_bits):
    """Sums that leave int16 or 24 bits between two pieces are clamped there."""
    products = np.array([127 * 255, -128 * 255], np.int64).repeat(300)
    g_weights = np.where(products > 0, 127, -128).astype(np.int8)
    patch = np.full(600, 255, np.int16)
    for slabs, s0 in (((300, 300), 0), ((300, 300), 3), ((600,), 0), ((1,) * 600, 8)):
        rng = np.random.default_rng(1)
        r = drawn.neural_art(rng, 1, slabs=slabs)._replace(s0=s0, partial_bits=partial_bits)
        by_place = {(0, 0, k): int(v) for k, v in enumerate(products)}
        expected = naive.reduced(by_place, naive_tail(r, slabs=slabs))
        assert kernels.reduced_sum(patch, g_weights, 0, r) == expected
        total = np.concatenate([[0], products.cumsum()])
        actual = reference.reduced_sums(lambda i, n, t=total: t[i + n] - t[i], r)
        assert actual == expected


def test_long_sums_are_exact():
    """More products than an int32 sum of them could hold."""
    count = 200_000
    patch, weights = np.full(count, 255, np.int16), np.full(count, 127, np.int8)
    r = drawn.neural_art(np.random.default_rng(0), 1, slabs=(count,))._replace(
        s0=17, partial_bits=16
    )
    assert kernels.reduced_sum(patch, weights, 0, r) == min(round(count * 255 * 127 / 2**17), 32767)


@pytest.mark.parametrize("seed", range(60))
def test_add_matches_naive(seed):
    rng = np.random.default_rng(seed)
    p = drawn.neural_art_add(rng)
    shapes = [((2, 3, 4, 5), (2, 3, 4, 5)), ((2, 3, 4, 5), (5,)), ((1, 1, 4, 1), (2, 3, 4, 5))]
    left, right = shapes[seed % 3]
    a, b = drawn.codes(rng, left), drawn.codes(rng, right)
    twin = naive.Sum(*p[:7], NAMES[p.round0], NAMES[p.round1], (p.act_min, p.act_max))
    expected = naive.add(a, b, twin)
    assert np.array_equal(reference.add(a, b, p), expected)
    y = np.empty(expected.shape, np.int8)
    walk = strides.broadcast(left, right, y.shape)
    units.add(a.ravel(), b.ravel(), p, walk.shape, *walk.strides, y.reshape(-1))
    assert np.array_equal(y, expected)


@pytest.mark.parametrize("seed", range(60))
def test_mean_matches_naive(seed):
    rng = np.random.default_rng(seed)
    n, h, w, c = (int(v) for v in rng.integers(1, (4, 9, 9, 12)))
    p = drawn.neural_art_mean(rng, h * w, c)
    x = drawn.codes(rng, (n, h, w, c))
    names = [NAMES[number] for number in (p.round0, p.round1, p.round2)]
    k = p.pool_shift + 8
    twin = naive.Average(p.mulval, k, p.a, p.shift, p.c, (names[0], names[2]), names[1])
    expected = naive.mean(x, twin)
    assert np.array_equal(reference.mean(x, (1, 2), p), expected)
    y = np.empty(n * c, np.int8)
    units.mean(x.ravel(), p, y, np.empty(n * c, np.int32))
    assert np.array_equal(y.reshape(n, c), expected)
