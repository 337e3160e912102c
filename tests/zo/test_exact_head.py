"""The exact gradient of a last layer: equality with naive, the rail gate, scales and bounds."""

import re

import numpy as np
import pytest
from naive import training as naive

from zo import exact_head, loss

pytestmark = pytest.mark.usefixtures("isa")


def random_batch(batch, classes, inputs, seed=0):
    random = np.random.default_rng(seed)
    logits = random.integers(-128, 128, (batch, classes))
    logits[random.random((batch, classes)) < 0.3] = 127
    logits[random.random((batch, classes)) < 0.3] = -128
    x = random.integers(-128, 128, (batch, inputs)).astype(np.int8)
    return logits.astype(np.int8), random.integers(0, classes, batch), x


@pytest.mark.parametrize(("scale", "classes"), [(0.02, 2), (0.08, 10), (0.7, 17)])
def test_head_error_matches_naive_with_logits_at_the_rails(scale, classes):
    logits, labels, _ = random_batch(20, classes, 1)

    error = exact_head.head_error(logits, labels, loss.cross_entropy_loss(scale, classes))

    assert error.dtype == np.int32
    assert error.tolist() == naive.head_error(logits.tolist(), labels.tolist(), scale)


def test_head_error_is_zero_where_a_rail_blocks_it():
    logits = np.array([[127, -128, 127, -128]], np.int8)
    measure = loss.cross_entropy_loss(0.01, 4)
    probability = naive.head_error([[126, -127, 126, -127]], [3], 0.01)[0]

    pulled_up = exact_head.head_error(logits, np.array([0]), measure)[0].tolist()
    pulled_down = exact_head.head_error(logits, np.array([3]), measure)[0].tolist()

    assert pulled_up[:2] == [0, 0]
    assert pulled_up[2] > 0
    assert pulled_up[3] == 0
    assert pulled_down[:2] == [pulled_up[2], 0]
    assert pulled_down[3] < 0
    assert all(probability[:3])


@pytest.mark.parametrize("zero_point", [-128, 0, 5, 127])
def test_head_gradient_matches_naive(zero_point):
    logits, labels, x = random_batch(16, 5, 33)
    error = exact_head.head_error(logits, labels, loss.cross_entropy_loss(0.05, 5))

    gradient = exact_head.head_gradient(error, x, zero_point)

    assert gradient.tolist() == naive.head_gradient(error.tolist(), x.tolist(), zero_point)


def test_head_gradient_of_biases_sums_the_errors():
    error = np.array([[5, -7], [11, 13]], np.int32)

    gradient = exact_head.head_gradient(error, np.ones((2, 1), np.int8), 0)

    assert gradient.tolist() == [16, 6]


def test_head_scale_matches_naive_and_falls_with_doublings():
    scales = [0.001, 0.02, 0.37]
    doublings = np.array([0, 1, 3], np.int32)

    scale = exact_head.head_scale(0.05, scales, 64)
    multiplier, right_shift = exact_head.doubled_scale(scale, doublings, 64)

    for c, weight_scale in enumerate(scales):
        real = naive.Fraction(0.05) * naive.Fraction(weight_scale) * 2**8 / 64
        m, s = naive.pair(real)
        assert (scale.multiplier[c], scale.right_shift[c]) == (m, s)
        assert (multiplier[c], right_shift[c]) == (m, s - doublings[c])


def test_head_scale_is_the_true_gradient():
    # m counts 2^-24 nat per code: compare with the derivative of the real loss by real codes.
    random = np.random.default_rng(4)
    x = random.integers(-128, 128, (8, 6))
    codes = random.integers(-60, 61, (3, 6))
    labels = random.integers(0, 3, 8)
    input_scale, weight_scale = 0.01, 0.02
    logits = ((x + 128) @ codes.T) * input_scale * weight_scale
    logit_scale = np.abs(logits).max() / 120
    exps = np.exp(logits - logits.max(axis=1, keepdims=True))
    p = exps / exps.sum(axis=1, keepdims=True)
    p[np.arange(8), labels] -= 1
    expected = (p.T @ ((x + 128) * input_scale)) * weight_scale / 8

    measure = loss.cross_entropy_loss(float(logit_scale), 3)
    error = exact_head.head_error(np.round(logits / logit_scale).astype(np.int8), labels, measure)
    g = exact_head.head_gradient(error, x.astype(np.int8), -128)
    scale = exact_head.head_scale(input_scale, [weight_scale] * 3, 8)

    actual = g.reshape(3, 6) * scale.multiplier[:, None] / 2.0 ** scale.right_shift[:, None] / 2**24
    assert np.abs(actual - expected).max() < 0.02 * np.abs(expected).max()


def test_head_gradient_and_scale_reject_overflow():
    error, x = np.zeros(((1 << 20) + 1, 1), np.int32), np.zeros(((1 << 20) + 1, 1), np.int8)
    with pytest.raises(ValueError, match="exact head: batches must be equal, at most 1048576"):
        exact_head.head_gradient(error, x, 0)
    with pytest.raises(ValueError, match="got 2 errors and 3 inputs"):
        exact_head.head_gradient(error[:2], x[:3], 0)
    message = f"must stay below 2^62, got {64 * 65536 * 255 * 32768} shifted by -23; lower"
    with pytest.raises(ValueError, match=re.escape(message)):
        exact_head.head_scale(1.0, [2.0**36], 64)
    scale = exact_head.head_scale(1.0, [2.0**30], 64)
    with pytest.raises(ValueError, match=re.escape(message)):
        exact_head.doubled_scale(scale, np.full(1, 6, np.int32), 64)
