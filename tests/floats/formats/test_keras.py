"""Keras .h5 files: against what Keras computed, and against LiteRT on the same weights."""

import json
import shutil
from pathlib import Path

import h5py
import numpy as np
import pytest
from oracles.float_litert import litert_outputs

from npusim import ModelError, floats

MODELS = Path(__file__).parents[1] / "keras"
UNIT = 2.0**-24


@pytest.mark.parametrize("name", ["sequential", "functional"])
def test_keras_3_model_matches_keras(name):
    """Probabilities: sums of at most 200 products in a dozen layers, relative to 1."""
    graph = floats.load(MODELS / f"{name}.h5")
    with np.load(MODELS / f"{name}.npz") as golden:
        actual, expected = floats.run(graph, golden["x"]), golden["y"]
    np.testing.assert_allclose(actual, expected, atol=64 * UNIT, rtol=0)
    assert np.ptp(expected) > 0.1


def test_keras_2_model_matches_litert(shared):
    """The same weights as Keras 2.4 saved them, and as a converter made a float .tflite of them."""
    graph = floats.load(shared("models/mlperf_tiny/pretrainedResnet.h5"))
    x = np.random.default_rng(1).integers(0, 256, (8, 32, 32, 3)).astype(np.float32)
    expected = litert_outputs(shared("models/mlperf_tiny/pretrainedResnet.tflite"), x)
    np.testing.assert_allclose(floats.run(graph, x), expected, atol=128 * UNIT, rtol=0)
    assert np.ptp(expected) > 0.1


def test_operators_are_fused():
    graph = floats.load(MODELS / "sequential.h5")
    assert [(n.name, n.op) for n in graph.nodes] == [
        ("conv2d", "conv2d"),
        ("batch_normalization", "batch_norm"),
        ("depthwise_conv2d", "depthwise_conv2d"),
        ("separable_conv2d/depthwise", "depthwise_conv2d"),
        ("separable_conv2d", "conv2d"),
        ("max_pooling2d", "max_pool2d"),
        ("flatten", "reshape"),
        ("dense", "fully_connected"),
        ("dense_1", "fully_connected"),
        ("softmax", "softmax"),
    ]
    assert graph.node("depthwise_conv2d").attributes["padding"] == (0, 1, 1, 0)
    assert graph.node("batch_normalization").attributes["activation"] == "relu6"


def test_input_size_is_derived():
    graph = floats.load(MODELS / "functional.h5", input_size=(20, 24))
    assert graph.tensors[graph.inputs[0]].shape == (1, 20, 24, 3)
    assert graph.tensors[graph.outputs[0]].shape == (1, 5)


def changed(tmp_path, name, change):
    """The path of a copy whose configuration `change` was applied to."""
    path = tmp_path / f"{name}.h5"
    shutil.copy(MODELS / path.name, path)
    with h5py.File(path, "r+") as file:
        config = json.loads(file.attrs["model_config"])
        change(config)
        file.attrs["model_config"] = json.dumps(config)
    return path


def of_layer(number, **values):
    return lambda config: config["config"]["layers"][number]["config"].update(values)


def of_class(number, name):
    return lambda config: config["config"]["layers"][number].update(class_name=name)


LAYER = "sequential.h5: layer"
REFUSED = {
    f"{LAYER} conv2d/Conv2D: padding must be 'valid' or 'same', got 'causal'": of_layer(
        1, padding="causal"
    ),
    f"{LAYER} conv2d/Conv2D: data_format must be 'channels_last' or None, got 'channels_first'": (
        of_layer(1, data_format="channels_first")
    ),
    f"{LAYER} conv2d/Conv2D: strides must be two integers, got [2, 2, 2]": of_layer(
        1, strides=[2, 2, 2]
    ),
    f"{LAYER} conv2d/Conv2D: activation must be one of linear, relu, relu6, softmax, got 'swish'": (
        of_layer(1, activation="swish")
    ),
    f"{LAYER} conv2d/Conv2D: array bias must be in the file, got kernel": of_layer(
        1, use_bias=True
    ),
    f"{LAYER} re_lu/ReLU: negative_slope must be 0 or None, got 0.1": of_layer(
        3, negative_slope=0.1
    ),
    f"{LAYER} batch_normalization/BatchNormalization: axis must be -1 or 3 or [-1] or [3], got 1": (
        of_layer(2, axis=1)
    ),
    f"{LAYER} flatten/Lambda: layer must be one of Activation, Add, AveragePooling2D, "
    "BatchNormalization, Conv2D, Dense, DepthwiseConv2D, Dropout, Flatten, "
    "GlobalAveragePooling2D, MaxPooling2D, ReLU, Reshape, SeparableConv2D, Softmax, "
    "ZeroPadding2D, got Lambda": of_class(9, "Lambda"),
    "sequential.h5: layer input_layer: sizes must be known, got [None, None, 10, 3]; "
    "give an input size": of_layer(0, batch_shape=[None, None, 10, 3]),
    "sequential.h5: model: must be Sequential or Functional, got 'Private'": (
        lambda config: config.update(class_name="Private")
    ),
    "sequential.h5: layer: must be a JSON object, got int": (
        lambda config: config["config"]["layers"].append(7)
    ),
    "sequential.h5: layer zero_padding2d/ZeroPadding2D: padding must be two integers from 0, or "
    "two pairs of them, got [1]": of_layer(4, padding=[1]),
}


@pytest.mark.parametrize("message", REFUSED)
def test_refuses_what_it_does_not_do(tmp_path, message):
    path = changed(tmp_path, "sequential", REFUSED[message])
    with pytest.raises(ModelError) as caught:
        floats.load(path)
    assert str(caught.value) == message


def test_refuses_weights_alone(tmp_path):
    with h5py.File(tmp_path / "w.h5", "w") as file:
        file["conv2d"] = np.zeros(3)
    with pytest.raises(ModelError) as caught:
        floats.load(tmp_path / "w.h5")
    assert str(caught.value) == (
        "w.h5: model: must be a Keras model with model_config and model_weights, got conv2d; save "
        "the whole model, not its weights alone"
    )


def test_refuses_two_calls_of_a_layer(tmp_path):
    def twice(config):
        nodes = config["config"]["layers"][1]["inbound_nodes"]
        nodes.append(nodes[0])

    with pytest.raises(ModelError) as caught:
        floats.load(changed(tmp_path, "functional", twice))
    assert str(caught.value) == "functional.h5: layer conv2d_1: must be called once, got 2 calls"


def test_refuses_layers_in_a_circle(tmp_path):
    def circle(config):
        layers = config["config"]["layers"]
        layers[1]["inbound_nodes"] = layers[3]["inbound_nodes"]

    with pytest.raises(ModelError) as caught:
        floats.load(changed(tmp_path, "functional", circle))
    assert str(caught.value).startswith("functional.h5: layer conv2d_1: must read layers of this")


def test_links_out_of_the_file_are_not_followed(tmp_path):
    path = changed(tmp_path, "sequential", lambda config: None)
    with h5py.File(path, "r+") as file:
        del file["model_weights/dense"]
        file["model_weights/dense"] = h5py.ExternalLink(str(MODELS / "sequential.h5"), "/")
    with pytest.raises(ModelError) as caught:
        floats.load(path)
    assert str(caught.value) == (
        "sequential.h5: layer dense/Dense: /model_weights/dense: must be an object of this file, "
        "got a ExternalLink; the file is damaged, or was not written by npusim"
    )


def places(value, path=()):
    """The path of everything in a nest of lists and mappings that is read."""
    unread = ("initializer", "regularizer", "constraint", "quantization")
    entries = value.items() if isinstance(value, dict) else enumerate(value)
    for key, part in entries:
        if not any(word in str(key) for word in unread):
            yield (*path, key)
            if isinstance(part, dict | list):
                yield from places(part, (*path, key))


STRANGE = [None, 0, -1, 2, 1e9, "x", "same", [], [1], [-1, 2], {}, {"a": 1}, True, [None, 0, 0, 3],
           [["conv2d", 0, 0, {}]], 10**12, [10**9, 10**9]]  # fmt: skip


@pytest.mark.parametrize("name", ["sequential", "functional"])
def test_strange_configurations_give_a_graph_or_one_error(tmp_path, name):
    rng = np.random.default_rng(7)
    messages = []
    for _ in range(60):

        def strange(config):
            every = list(places(config))
            *path, last = every[rng.integers(len(every))]
            for key in path:
                config = config[key]
            config[last] = STRANGE[rng.integers(len(STRANGE))]

        path = changed(tmp_path, name, strange)
        try:
            floats.load(path)
        except ModelError as error:
            messages.append(str(error))
    assert len(messages) > 5
    assert all(m.startswith(f"{name}.h5: ") for m in messages)
    assert not any("must be HDF5" in m for m in messages)  # the word for what nobody foresaw
