"""Perturbation in place: exact undoing at the rails, one pass between samples, saturation."""

import numpy as np
import pytest
from naive import training as naive

from zo import perturb, prng

pytestmark = pytest.mark.usefixtures("isa")


def codes_at_rails(n, k, seed=0):
    """Codes of which three quarters lie on a rail."""
    random = np.random.default_rng(seed)
    lo, hi = perturb.rails(k)
    inner = random.integers(lo, hi + 1, n)
    return np.where(random.random(n) < 0.75, random.choice([lo, hi], n), inner).astype(np.int8)


@pytest.mark.parametrize("k", [1, 2, 6, 60, 126])
@pytest.mark.parametrize("n", [1, 31, 128, 1000])
def test_perturb_matches_naive(n, k):
    weights = codes_at_rails(n, k)
    z = naive.signs(7, 3, 5, 2, n)
    expected = naive.perturb(weights.tolist(), k, z)

    perturb.perturb(weights, k, prng.sign_stream(7, 3, 2), 5)

    assert weights.tolist() == expected


def test_restore_gives_back_every_bit_in_any_shape():
    weights = codes_at_rails(3 * 5 * 7, 3).reshape(3, 5, 7)
    before = weights.copy()
    stream = prng.sign_stream(1, 2, 3)

    perturb.perturb(weights, 3, stream, 9)
    assert (np.abs(weights.astype(int) - before) == 3).all()
    perturb.restore(weights, 3, stream, 9)

    np.testing.assert_array_equal(weights, before)


@pytest.mark.parametrize(
    "steps", [10**5, pytest.param(10**6, marks=pytest.mark.full)], ids=["tenth", "million"]
)
def test_a_million_steps_at_the_rails_lose_no_bit(isa, steps):
    # One step is one sample's move of the whole tensor; NumPy takes 1/500 of them.
    steps = steps if isa == "portable" else steps // 500
    weights = codes_at_rails(96, 2)
    before = weights.copy()
    stream = prng.sign_stream(11, 0, 0)

    perturb.perturb(weights, 2, stream, 0)
    for sample in range(steps):
        perturb.advance(weights, 2, stream, sample)
    perturb.restore(weights, 2, stream, steps)

    np.testing.assert_array_equal(weights, before)


def test_random_walks_of_every_kind_return(isa):
    random = np.random.default_rng(3)
    for trial in range(200 if isa == "portable" else 20):
        k = int(random.integers(1, 7))
        weights = codes_at_rails(int(random.integers(1, 500)), k, trial)
        before = weights.copy()
        stream = prng.sign_stream(trial, 0, 1)
        sample = int(random.integers(0, 100))
        sign = int(random.choice([1, -1]))

        perturb.perturb(weights, sign * k, stream, sample)
        for _ in range(int(random.integers(0, 5))):
            perturb.advance(weights, sign * k, stream, sample)
            sample += 1
        perturb.restore(weights, sign * k, stream, sample)

        np.testing.assert_array_equal(weights, before)


def test_advance_equals_restore_and_perturb():
    one, two = codes_at_rails(777, 4), codes_at_rails(777, 4)
    stream = prng.sign_stream(4, 5, 6)
    perturb.perturb(one, 4, stream, 0)
    perturb.perturb(two, 4, stream, 0)

    perturb.advance(one, 4, stream, 0)
    perturb.restore(two, 4, stream, 0)
    perturb.perturb(two, 4, stream, 1)

    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("k", [1, 5, 126])
def test_saturate_clamps_to_int8(k):
    original = np.repeat(np.arange(-128, 128), 5).astype(np.int8)
    weights = original.copy()
    moved = naive.perturb(original.tolist(), k, naive.signs(1, 1, 4, 1, original.size))
    expected = [min(max(w, -128), 127) for w in moved]

    perturb.saturate(weights, original, k, prng.sign_stream(1, 1, 1), 4)

    assert weights.tolist() == expected
    assert min(moved) < -128
    assert max(moved) > 127


def test_clip_to_rails_counts_what_moved():
    weights = np.array([[-128, -127, -126], [0, 126, 127]], np.int8)

    moved = perturb.clip_to_rails(weights, perturb.rails(1))

    assert moved == 3
    assert weights.tolist() == [[-126, -126, -126], [0, 126, 126]]
    assert perturb.clip_to_rails(weights, perturb.rails(1)) == 0


@pytest.mark.parametrize("k", [0, -1, 127])
def test_rails_reject_k_without_room(k):
    with pytest.raises(ValueError, match=f"perturb: k must be 1..126 weight steps, got {k}"):
        perturb.rails(k)


def test_perturb_rejects_arrays_it_cannot_change_in_place():
    stream = prng.sign_stream(0, 0, 0)
    with pytest.raises(TypeError, match="must be contiguous int8, got contiguous int16"):
        perturb.perturb(np.zeros(4, np.int16), 1, stream, 0)
    with pytest.raises(TypeError, match="must be contiguous int8, got strided int8"):
        perturb.advance(np.zeros((4, 4), np.int8)[:, :2], 1, stream, 0)


def test_perturb_rejects_steps_that_leave_no_room():
    with pytest.raises(ValueError, match=r"k must be 1..126 weight steps, got 127"):
        perturb.perturb(np.zeros(4, np.int8), -127, prng.sign_stream(0, 0, 0), 0)


def test_perturb_rejects_samples_beyond_the_counter():
    with pytest.raises(ValueError, match=r"sample must be 0..2\^32-1, got 4294967296"):
        perturb.advance(np.zeros(4, np.int8), 1, prng.sign_stream(0, 0, 0), 2**32 - 1)
