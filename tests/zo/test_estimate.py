"""Coefficients, sums over regenerated signs, and the proof that nothing overflows."""

import re
from itertools import pairwise

import numpy as np
import pytest
from naive import training as naive

from zo import estimate, loss, prng

pytestmark = pytest.mark.usefixtures("isa")


def random_losses(q, seed=0):
    return np.random.default_rng(seed).integers(0, 1 << 26, q)


@pytest.mark.parametrize("q", [1, 2, 3, 8, 9])
@pytest.mark.parametrize("k", [1, 5])
def test_coefficients_match_naive(q, k):
    base, losses, other = 12345678, random_losses(q), random_losses(q, 1)
    pairs = [loss for pair in zip(losses.tolist(), other.tolist(), strict=True) for loss in pair]
    expected = {
        "one_sided": naive.coefficients("one_sided", base, losses.tolist(), k, 64),
        "central": naive.coefficients("central", base, pairs, k, 64),
        "sign": naive.coefficients("sign", base, losses.tolist(), k, 64),
    }
    actual = {
        "one_sided": estimate.one_sided(base, losses, k, 64),
        "central": estimate.central(losses, other, k, 64),
        "sign": estimate.sign(base, losses, k, 64),
    }
    if q > 1:
        expected["centred"] = naive.coefficients("centred", base, losses.tolist(), k, 64)
        actual["centred"] = estimate.centred(base, losses, k, 64)

    for name, (c, den) in actual.items():
        assert (c.dtype, c.tolist(), den) == (np.int64, *expected[name])


def test_centred_sums_to_zero_and_ignores_the_base():
    losses = random_losses(7)
    c, _ = estimate.centred(5, losses, 1, 64)

    assert c.sum() == 0
    np.testing.assert_array_equal(c, estimate.centred(10**8, losses, 1, 64).c)


def test_centred_rejects_one_sample():
    with pytest.raises(ValueError, match="centred needs q of at least 2, got 1; use one_sided"):
        estimate.centred(0, random_losses(1), 1, 64)


def test_sign_counts_one_nat_per_image():
    c, den = estimate.sign(100, np.array([40, 100, 101]), 2, 16)

    assert c.tolist() == [-16 * 65536, 0, 16 * 65536]
    assert den == 3 * 2 * 16


@pytest.mark.parametrize("n", [1, 32, 127, 128, 129, 500])
def test_accumulate_matches_naive(n):
    c = np.random.default_rng(n).integers(-(2**42), 2**42, 9)
    gradient = np.arange(n) - 7
    rows = [naive.signs(3, 9, sample, 5, n) for sample in range(9)]
    expected = [w - 7 + sum(int(c[i]) * rows[i][w] for i in range(9)) for w in range(n)]

    estimate.accumulate(gradient, c, prng.sign_stream(3, 9, 5))

    assert gradient.tolist() == expected


def test_accumulate_is_exact_at_the_limit_of_the_range():
    c = np.full(16, (2**46 - 1) // 16)
    gradient = np.zeros(200, np.int64)
    rows = prng.sign_block(prng.sign_stream(0, 0, 0), 0, 16, 200).tolist()

    estimate.accumulate(gradient, c, prng.sign_stream(0, 0, 0))

    assert gradient.tolist() == [sum(int(c[0]) * row[n] for row in rows) for n in range(200)]


def test_tiles_and_single_samples_give_the_same_bits():
    stream = prng.sign_stream(1, 2, 3)
    c = np.random.default_rng(0).integers(-(2**30), 2**30, 6)
    whole = np.zeros(700, np.int64)
    estimate.accumulate(whole, c, stream)

    tiled = np.zeros(700, np.int64)
    cuts = [0, 1, 31, 33, 128, 300, 301, 640, 700]
    for first, last in pairwise(cuts):
        for sample in reversed(range(6)):
            part = c[sample : sample + 1]
            estimate.accumulate(tiled[first:last], part, stream, sample=sample, first=first)

    np.testing.assert_array_equal(tiled, whole)


@pytest.mark.parametrize("k", [1, 4, 130])
def test_accumulate_saturated_counts_the_steps_really_taken(k):
    original = np.random.default_rng(k).choice([-128, -127, 0, 126, 127], 300).astype(np.int8)
    c = np.random.default_rng(1).integers(-(2**30), 2**30, 5)
    expected = [0] * 300
    for sample in range(5):
        z = naive.signs(8, 7, sample, 6, 300)
        for n, w in enumerate(original.tolist()):
            expected[n] += int(c[sample]) * (min(max(w + k * z[n], -128), 127) - w)
    gradient = np.zeros(300, np.int64)

    estimate.accumulate_saturated(gradient, c, original, k, prng.sign_stream(8, 7, 6))

    assert gradient.tolist() == expected


def test_accumulate_saturated_takes_parts_of_a_tensor():
    original = np.random.default_rng(2).choice([-128, -127, 0, 126, 127], 300).astype(np.int8)
    c = np.random.default_rng(3).integers(-(2**30), 2**30, 5)
    whole, parts = np.zeros(300, np.int64), np.zeros(300, np.int64)
    stream = prng.sign_stream(8, 7, 6)
    estimate.accumulate_saturated(whole, c, original, 4, stream)

    for part in (slice(0, 1), slice(1, 130), slice(130, 300)):
        estimate.accumulate_saturated(parts[part], c, original[part], 4, stream, first=part.start)

    np.testing.assert_array_equal(parts, whole)


def test_accumulate_saturated_is_k_times_accumulate_away_from_the_rails():
    stream = prng.sign_stream(8, 7, 6)
    c = random_losses(4)
    inside = np.zeros(100, np.int8)
    plain, saturated = np.zeros(100, np.int64), np.zeros(100, np.int64)

    estimate.accumulate(plain, c, stream)
    estimate.accumulate_saturated(saturated, c, inside, 3, stream)

    np.testing.assert_array_equal(saturated, 3 * plain)


def test_accumulate_rejects_other_types():
    stream = prng.sign_stream(0, 0, 0)
    with pytest.raises(TypeError, match=r"gradient: must be contiguous int64 \(n,\), got int32"):
        estimate.accumulate(np.zeros(4, np.int32), np.zeros(1, np.int64), stream)
    with pytest.raises(TypeError, match=r"coefficients: must be contiguous int64 \(n,\), got fl"):
        estimate.accumulate(np.zeros(4, np.int64), np.zeros(1), stream)


@pytest.mark.parametrize(
    ("estimator", "q"),
    [
        (name, q)
        for name in estimate.ESTIMATORS
        for q in (1, 2, 3, 6, 7)
        if (name, q) != ("centred", 1)
    ],
)
def test_range_bounds_every_sum_of_coefficients(estimator, q):
    # The worst losses lie at 0 and at the bound: try all of them. The batch is of one image.
    bound, worst = 1 << (16 if estimator == "sign" else 20), 0
    for mask in range(1 << q):
        losses = np.array([bound * (mask >> i & 1) for i in range(q)])
        for base in (0, bound):
            if estimator == "central":
                c = estimate.central(losses, bound - losses, 1, 1).c
            else:
                formula = "one_sided" if estimator == "hadamard" else estimator
                c = getattr(estimate, formula)(base, losses, 1, 1).c
            worst = max(worst, int(np.abs(c).sum()))
    proved = q * bound * (q if estimator == "centred" else 2) // 2

    assert worst <= proved
    assert estimator != "centred" or q % 2 or worst == proved
    assert estimator == "centred" or worst == proved


def test_range_accepts_the_usual_and_rejects_the_rest():
    bound = loss.cross_entropy_loss(0.1, 10).bound(64)
    for estimator in estimate.ESTIMATORS:
        estimate.check_range(estimator, 1024, bound)
    estimate.check_range("one_sided", 1, 2**46 - 1)
    message = (
        "estimate: the sum of |c| must stay below 2^46, got 70368744177664 for one_sided with "
        "q = 4 and losses up to 17592186044416; lower q, the batch or the logit scale"
    )
    with pytest.raises(ValueError, match=re.escape(message)):
        estimate.check_range("one_sided", 4, 2**44)
    with pytest.raises(ValueError, match="got 70368744177664 for one_sided"):
        estimate.check_range("one_sided", 1, 2**44, reach=4)
    with pytest.raises(ValueError, match="for centred with q = 2048"):
        estimate.check_range("centred", 2048, 2**25)
    with pytest.raises(
        ValueError, match="must be one of one_sided, centred, central, sign, hadamard, got 'spsa'"
    ):
        estimate.check_range("spsa", 1, 1)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("n", [64, 256])
def test_as_many_hadamard_rows_as_weights_give_a_linear_loss_its_gradient(n):
    slope = np.random.default_rng(n).integers(-1000, 1000, n)
    stream = prng.sign_stream(3, 9, 5, hadamard=1)
    rows = prng.sign_block(stream, 0, n, n).astype(np.int64)
    gradient = np.zeros(n, np.int64)
    estimate.accumulate(gradient, rows @ slope, stream)
    assert (gradient == n * slope).all()


def test_hadamard_rows_must_not_repeat():
    estimate.check_rows("hadamard", 1024, 600)
    estimate.check_rows("one_sided", 4096, 600)
    with pytest.raises(ValueError, match="must have q of 1024 at most for 600 weights"):
        estimate.check_rows("hadamard", 1025, 600)
