"""Small networks trained on by backpropagation, and their way from codes to floats and back."""

import numpy as np
import pytest

from npusim import models
from npusim.models.fine_tune import STOP, Stop, batch_of, fine_tune
from npusim.models.float_network import DIGITS, SMALL, Parameters, forward, initialise
from npusim.models.quantize_network import dequantize_network, quantize_network
from npusim.models.train_digits import real


@pytest.fixture(scope="module")
def start():
    return dequantize_network(models.digits_cnn())


@pytest.fixture(scope="module")
def inverted():
    part = models.digits().train
    return real(models.inverted(part.images[:40])), part.labels[:40]


def equal(one: Parameters, other: Parameters, name: str) -> bool:
    return all(np.array_equal(a[name], b[name]) for a, b in zip(one, other, strict=True))


def test_codes_to_floats_and_back_are_the_same_codes(start):
    graph = models.digits_cnn()
    again = quantize_network(start, real(models.digits().train.images), {})
    for name in start.weights:
        assert np.array_equal(again.tensor(name).data, graph.tensor(name).data)
        scale = again.tensor(name).quantization.scale
        np.testing.assert_allclose(scale, graph.tensor(name).quantization.scale, rtol=1e-6)


def test_floats_of_codes_compute_what_the_codes_do(start):
    from npusim import Session

    test = models.digits().test
    codes = Session(models.digits_cnn(), threads=1).run(models.to_int8(test.images))
    same = forward(start, real(test.images))[2].argmax(1) == codes.argmax(1)
    assert same.mean() > 0.99


@pytest.mark.parametrize(
    "trained", [("stem", "head"), tuple(DIGITS.layers[i].name for i in (0, 2))]
)
def test_fine_tuning_moves_the_trained_layers_and_no_other(start, inverted, trained):
    before = Parameters(*({k: v.copy() for k, v in part.items()} for part in start))
    found = fine_tune(start, inverted, trained, DIGITS, 0, Stop(steps=50))
    for name in start.weights:
        assert equal(start, before, name)
        assert equal(found.parameters, start, name) == (name not in trained)
    again = fine_tune(start, inverted, trained, DIGITS, 0, Stop(steps=50))
    assert (again.loss, again.steps) == (found.loss, 50)
    other = fine_tune(start, inverted, trained, DIGITS, 1, Stop(steps=50))
    assert other.loss != found.loss


def test_fine_tuning_ends_where_the_loss_is_small(start, inverted):
    names = tuple(start.weights)
    found = fine_tune(start, inverted, names, DIGITS, 0)
    assert found.loss < STOP.loss
    assert found.steps < STOP.steps
    right = forward(found.parameters, inverted[0])[2].argmax(1) == inverted[1]
    assert right.mean() > 0.95


def test_fine_tuning_ends_where_the_loss_falls_no_more(start, inverted):
    never_enough = Stop(gain=0.999, look=2, patience=3)
    assert fine_tune(start, inverted, ("head",), DIGITS, 0, never_enough).steps == 8


def test_batches_of_few_images_are_all_of_them():
    assert [batch_of(n) for n in (20, 32, 500)] == [20, 32, 32]


def test_the_small_network_takes_colours_and_any_number_of_classes():
    net = SMALL._replace(classes=3)
    p = initialise(np.random.RandomState(0), net)
    x = np.random.RandomState(1).random_sample((8, *net.image))
    graph = quantize_network(p, x, {}, net)
    assert graph.name == "small_cnn"
    shapes = [graph.tensor(name).shape for name in ("image", "stem/relu", "features", "logits")]
    assert shapes == [(1, 32, 32, 3), (1, 16, 16, 12), (1, 64), (1, 3)]
