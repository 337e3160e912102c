"""The shipped network: what it is, how right it is, and that its script makes it."""

from functools import partial
from importlib.resources import files

import numpy as np
import pytest

import npusim
from npusim import models
from npusim.models import train_digits


@pytest.fixture(scope="module")
def graph():
    return models.digits_cnn()


@pytest.fixture(scope="module")
def right(graph):
    """Counts the right answers on the test part, its images changed by a shift."""
    return partial(right_of, npusim.Session(graph, threads=1))


def right_of(session, shift=lambda images: images):
    test = models.digits().test
    logits = session.run(models.to_int8(shift(test.images)))
    return int((logits.argmax(1) == test.labels).sum())


def test_digits_cnn_is_a_whole_int8_network(graph):
    names = ["conv2d_0", "conv2d_1", "depthwise_conv2d_0", "conv2d_2", "mean_0"]
    assert [node.name for node in graph.nodes] == [*names, "fully_connected_0"]
    weights = {t.name: t for t in graph.tensors if t.kind == "constant" and t.dtype == "int8"}
    assert list(weights) == ["stem", "down", "depthwise", "pointwise", "head"]
    assert sum(t.data.size for t in weights.values()) == 14728
    for tensor in weights.values():
        channels = tensor.shape[tensor.quantization.axis]
        assert len(tensor.quantization.scale) == channels
        assert not tensor.quantization.zero_point.any()
    activations = [t for t in graph.tensors if t.kind == "activation"]
    zero_points = [int(t.quantization.zero_point[0]) for t in activations]
    assert zero_points == [-128, -128, -128, -128, -128, 0]
    assert activations[-1].name == "logits"


def test_digits_cnn_head_has_room_to_grow(graph):
    """Half of the codes' range is free, and one code of a weight moves a logit by about one."""
    head, features = graph.tensor("head"), graph.tensor("features")
    assert np.abs(head.data).max(1).tolist() == [63] * 10
    session = npusim.Session(graph, threads=1)
    x = models.to_int8(models.digits().train.images)
    codes = dict(session.trace(x))["features"].astype(int) + 128
    norm = float(features.quantization.scale[0]) * np.sqrt((codes**2).sum(1).mean())
    s_y = float(graph.tensor("logits").quantization.scale[0])
    delta = head.quantization.scale.mean() * norm / s_y
    assert 0.98 < delta < 1.02


def test_digits_cnn_accuracy(right):
    assert right() == 440


def test_digits_cnn_loses_accuracy_to_shifts(right):
    assert right(models.moved) == 312
    assert right(lambda images: models.moved(images, 1, 0)) == 264
    assert right(lambda images: models.moved(images, 1, 1)) == 154
    assert right(models.inverted) == 50
    assert right(models.low_contrast) == 193


def test_train_digits_is_reproducible(graph, tmp_path, monkeypatch, capsys):
    """One epoch of sixty: twice the same file, a network like the shipped one."""
    monkeypatch.setattr(train_digits, "Recipe", partial(train_digits.Recipe, epochs=1))
    once, again = tmp_path / "once.h5", tmp_path / "again.h5"
    for output in (once, again):
        assert train_digits.main(["--output", str(output)]) == 0
    assert once.read_bytes() == again.read_bytes()
    made = npusim.load(once)
    assert [node.attributes for node in made.nodes] == [node.attributes for node in graph.nodes]
    assert [(t.name, t.shape, t.dtype) for t in made.tensors] == [
        (t.name, t.shape, t.dtype) for t in graph.tensors
    ]
    assert f"int8 {right_of(npusim.Session(made, threads=1))}/449 " in capsys.readouterr().out


@pytest.mark.full
def test_train_digits_makes_the_shipped_file(tmp_path, capsys):
    """The whole training, about ten seconds; other BLAS kernels give the same bytes."""
    output = tmp_path / "digits_cnn.h5"
    assert train_digits.main(["--output", str(output)]) == 0
    assert output.read_bytes() == (files("npusim.models") / "digits_cnn.h5").read_bytes()
    assert "test       float 441/449 98.22 %  int8 440/449 98.00 %" in capsys.readouterr().out
