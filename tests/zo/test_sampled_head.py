"""Products with a matrix of signs are those with the perturbed weights, whatever the sizes."""

import numpy as np
import pytest
from naive import training as naive

from npusim.kernels.structs import (
    DOUBLE_ROUNDING,
    FLOAT32_EVEN,
    TWICE,
    Requantization,
    Rounding,
)
from npusim.reference.requantize import requantize
from zo import prng
from zo.sampled_head import SAMPLES_AT_ONCE, base_accumulators, logits_of_samples

pytestmark = pytest.mark.usefixtures("isa")


def scaled(classes: int, exponent: int, rounding: Rounding = TWICE) -> Requantization:
    """acc * 2^-exponent: every bit of an accumulator shows at one exponent or another."""
    ones = np.ones(classes, np.int32)
    scale = np.ldexp(np.ones(classes), -exponent)
    return Requantization((1 << 30) * ones, (1 - exponent) * ones, scale, 0, -128, 127, rounding)


@pytest.mark.parametrize(
    ("features", "classes"), [(1, 1), (7, 3), (63, 2), (64, 2), (65, 3), (130, 1), (192, 5)]
)
@pytest.mark.parametrize(("zero_point", "k"), [(-128, 1), (0, -3), (127, 1), (5, 6)])
def test_logits_are_those_of_perturbed_weights(features, classes, zero_point, k):
    rng = np.random.default_rng(features * 1000 + k)
    x = rng.integers(-128, 128, (3, features)).astype(np.int8)
    x[0], x[1] = -128, 127
    weights = rng.integers(-120, 121, (classes, features)).astype(np.int8)
    bias = rng.integers(-(2**20), 2**20, classes).astype(np.int32)
    acc = np.empty((3, classes), np.int32)
    base_accumulators(x, zero_point, weights, bias, acc)

    for exponent in (0, 4, 9, 14):
        r = scaled(classes, exponent)
        found = logits_of_samples(x, zero_point, acc, r, (prng.sign_stream(9, 5, 2), 1, 4, k))

        for i, logits in enumerate(found):
            z = np.array(naive.signs(9, 5, 1 + i, 2, classes * features))
            moved = weights.astype(int) + k * z.reshape(classes, features)
            exact = (x.astype(int) - zero_point) @ moved.T + bias
            np.testing.assert_array_equal(logits, requantize(exact, r))


@pytest.mark.parametrize("classes", [1, 3, 4, 7, 8, 10])
def test_classes_behind_the_last_block_have_a_rule_of_their_own(classes):
    rng = np.random.default_rng(classes)
    x = rng.integers(-128, 128, (40, 6)).astype(np.int8)
    acc = rng.integers(-900, 901, (40, classes)).astype(np.int32)
    draw = (prng.sign_stream(1, 1, 1), 0, 5, 1)
    rules = (DOUBLE_ROUNDING, FLOAT32_EVEN)
    block, rest = (logits_of_samples(x, 3, acc, scaled(classes, 4, Rounding(rule, 1, rule)), draw)
                   for rule in rules)  # fmt: skip
    mixed = scaled(classes, 4, Rounding(rules[0], 4, rules[1]))

    found = logits_of_samples(x, 3, acc, mixed, draw)

    whole = classes - classes % 4
    expected = np.concatenate([block[..., :whole], rest[..., whole:]], axis=-1)
    assert (block != rest).any(axis=(0, 1)).all()
    np.testing.assert_array_equal(found, expected)


def test_accumulators_wrap():
    x = np.full((1, 70), 127, np.int8)
    acc = np.array([[2**31 - 1]], np.int32)
    r = scaled(1, 24)

    found = logits_of_samples(x, -128, acc, r, (prng.sign_stream(0, 0, 0), 0, 40, 6))

    sums = [6 * 255 * sum(naive.signs(0, 0, i, 0, 70)) for i in range(40)]
    wrapped = np.array([(2**31 - 1 + s + 2**31) % 2**32 - 2**31 for s in sums])
    assert (wrapped < 0).any()
    np.testing.assert_array_equal(found[:, 0, 0], requantize(wrapped[:, None], r)[:, 0])


def test_samples_do_not_depend_on_how_many_are_held():
    rng = np.random.default_rng(3)
    x = rng.integers(-128, 128, (2, 100)).astype(np.int8)
    acc = np.zeros((2, 3), np.int32)
    stream, r = prng.sign_stream(1, 2, 3, hadamard=1), scaled(3, 5)
    q = 2 * SAMPLES_AT_ONCE + 3

    together = logits_of_samples(x, 0, acc, r, (stream, 0, q, 1))

    for i in range(q):
        alone = logits_of_samples(x, 0, acc, r, (stream, i, 1, 1))
        np.testing.assert_array_equal(together[i], alone[0])
