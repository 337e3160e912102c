"""Float warm-up of a head: the same bits in NumPy and numba, and what it leaves."""

import math
import re

import numpy as np
import pytest

from zo.warm_up import Features, WarmUp, exp, logits, warm_up

CLASSES, INPUTS = 4, 30


def features(seed, images):
    """Codes around one centre per class."""
    centres = np.random.default_rng(99).integers(-50, 50, (CLASSES, INPUTS))
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, CLASSES, images)
    codes = centres[labels] + rng.integers(-60, 61, (images, INPUTS))
    return Features(codes.clip(-128, 127).astype(np.int8), 0.02, -128, labels)


def test_numpy_and_numba_leave_the_same_bits(monkeypatch):
    heads = []
    for isa in ("numpy", "portable"):
        monkeypatch.setenv("NPUSIM_ISA", isa)
        options = WarmUp(accuracy=1.1, steps=25, batch=16)
        heads.append(warm_up(features(1, 100), features(2, 50), CLASSES, 3, options))
    assert heads[0].weights.tobytes() == heads[1].weights.tobytes()
    assert heads[0].bias.tobytes() == heads[1].bias.tobytes()
    assert heads[0].accuracy == heads[1].accuracy
    assert heads[0].steps == 25


@pytest.mark.usefixtures("isa")
def test_logits_sum_from_the_first_feature_on():
    rng = np.random.default_rng(4)
    x, weights, bias = rng.normal(size=(3, 9)), rng.normal(size=(2, 9)), rng.normal(size=2)
    out = np.empty((3, 2))
    logits(x, weights, bias, out)
    for b in range(3):
        for o in range(2):
            total = float(bias[o])
            for i in range(9):
                total += float(x[b, i]) * float(weights[o, i])
            assert out[b, o] == total


def test_exp_is_within_two_units_in_the_last_place():
    x = -np.concatenate([np.linspace(0, 40, 20001), [0.0, 699.9, 700.1, 1e6]])
    actual = exp(x)
    expected = np.array([math.exp(v) for v in x])
    near = x >= -700
    assert (np.abs(actual - expected)[near] <= 2 * np.spacing(expected[near])).all()
    assert (actual[~near] == 0).all()
    assert actual[0] == 1.0


def test_warm_up_stops_at_the_accuracy():
    head = warm_up(features(1, 400), features(2, 200), CLASSES, 3, WarmUp(accuracy=0.6))
    assert 0 < head.steps < 500
    assert 0.6 <= head.accuracy < 0.9
    again = warm_up(features(1, 400), features(2, 200), CLASSES, 4, WarmUp(accuracy=0.6))
    assert not np.array_equal(head.weights, again.weights)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ({"accuracy": -0.1}, "warm_up: accuracy must be 0 or more, got -0.1"),
        ({"accuracy": float("nan")}, "warm_up: accuracy must be 0 or more, got nan"),
        ({"steps": -1}, "warm_up: steps must be 0 or more, got -1"),
        ({"batch": 0}, "warm_up: batch must be 1 or more, got 0"),
        ({"rate": 0.0}, "warm_up: rate must be a positive number, got 0.0"),
        ({"rate": float("inf")}, "warm_up: rate must be a positive number, got inf"),
    ],
)
def test_warm_up_rejects_options_out_of_range(option, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        warm_up(features(1, 99), features(2, 9), CLASSES, 0, WarmUp(**option))


def test_warm_up_rejects_less_than_a_batch():
    with pytest.raises(ValueError, match="must have a batch of 64 images at least, got 9"):
        warm_up(features(1, 9), features(2, 9), CLASSES, 0)
