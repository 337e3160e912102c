"""New heads: float weights as int8 with head-room, and the graph that ends at their logits."""

import math

import numpy as np
import pytest
from training_tasks import digits_task

import zo
from npusim import Session
from npusim.head import until_features
from zo.new_head import quantize_head
from zo.warm_up import Features, FloatHead, WarmUp, mean_square_norm

CLASSES, INPUTS = 4, 30


def features(seed, images):
    """Random codes; labels do not matter here."""
    codes = np.random.default_rng(seed).integers(-100, 100, (images, INPUTS)).astype(np.int8)
    return Features(codes, 0.02, -128, np.zeros(images, np.int64))


def test_quantized_head_has_the_head_room_and_the_logit_scale():
    seen = features(1, 300)
    rng = np.random.default_rng(0)
    head = FloatHead(rng.normal(size=(CLASSES, INPUTS)), rng.normal(size=CLASSES), 0.3, 1)
    made = quantize_head(head, seen, k=2, delta=0.5)
    largest = np.abs(head.weights).max(axis=1)
    assert np.array_equal(made.weight_scale, (largest * 8 / 126).astype(np.float32))
    assert np.abs(made.weights).max() == 16
    scales = made.weight_scale.astype(np.float64)
    assert np.abs(made.weights * scales[:, None] - head.weights).max() <= scales.max() / 2
    assert np.abs(made.bias * scales * seen.scale - head.bias).max() <= scales.max() * seen.scale
    delta = 2 * scales.mean() * math.sqrt(mean_square_norm(seen)) / made.scale
    assert delta == pytest.approx(0.5, rel=1e-12)


def test_channel_of_zeros_gets_a_positive_scale():
    weights = np.zeros((CLASSES, INPUTS))
    weights[1] = 2.0
    head = FloatHead(weights, np.zeros(CLASSES), 0.3, 1)
    made = quantize_head(head, features(1, 50))
    assert (made.weight_scale == made.weight_scale[1]).all()
    assert made.weight_scale[0] > 0
    assert (made.weights[0] == 0).all()
    silent = quantize_head(FloatHead(np.zeros((2, INPUTS)), np.zeros(2), 0.3, 1), features(1, 50))
    assert (silent.weight_scale > 0).all()


def test_attached_head_is_calibrated_on_the_first_25_batches():
    task = digits_task(160, 100)
    options = zo.HeadOptions(seed=3, warm_up=WarmUp(accuracy=0.2, batch=4), k=2, delta=0.7)
    calls = []
    reading = zo.Reading(threads=1, progress=lambda *done: calls.append(done))
    graph, float_head = zo.attach_head(task.graph, task.train, task.validation, options, reading)
    x = Session(until_features(task.graph), threads=1).run(task.train.images(np.arange(100)))
    q = task.graph.tensor("features").quantization
    seen = Features(x, float(q.scale[0]), int(q.zero_point[0]), task.train.labels[:100])
    made = quantize_head(float_head, seen, k=2, delta=0.7)
    assert graph.tensor("logits").quantization.scale.tolist() == [np.float32(made.scale)]
    assert np.array_equal(graph.tensor("head").data, made.weights)
    assert np.array_equal(graph.tensor("head/bias").data, made.bias)
    assert 0.2 <= float_head.accuracy < 0.4
    assert calls == [(160, 160), (100, 100)]


def test_attached_head_has_the_classes_of_the_data():
    task = digits_task(160, 100)
    few = [part.take(np.flatnonzero(part.labels < 3)) for part in task[1:]]
    few = [zo.data.in_memory("few", part.images(), part.labels) for part in few]
    options = zo.HeadOptions(warm_up=WarmUp(batch=16))
    graph, _ = zo.attach_head(task.graph, *few, options)
    assert graph.tensor("head").shape == (3, 64)
    assert Session(graph, threads=1).run(few[0].images()).shape == (len(few[0]), 3)
