"""Whole networks quantised: legal, saved and read, near their float twin, head-room as asked."""

import numpy as np
import pytest

import npusim
from npusim import ModelError, calibrate, floats
from npusim.check import check
from npusim.profiles import PROFILES

CONV = {"stride": (1, 1), "dilation": (1, 1), "padding": (1, 1, 1, 1), "activation": "relu6"}


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(5).standard_normal((64, 8, 8, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def network():
    """Convolution with norm, depthwise, addition, pools, mean, head."""
    rng = np.random.default_rng(6)

    def weight(*shape):
        return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)

    draft = floats.Draft("network", (1, 8, 8, 3))
    y = draft.add("conv2d", "stem", (0,), {"weight": weight(8, 3, 3, 3)},
                  {**CONV, "activation": "none"})  # fmt: skip
    norm = {"gamma": np.ones(8, np.float32), "beta": np.full(8, 0.5, np.float32),
            "mean": weight(8), "variance": np.ones(8, np.float32)}  # fmt: skip
    y = draft.add("batch_norm", "norm", (y,), norm, {"epsilon": 1e-5, "activation": "relu6"})
    z = draft.add("depthwise_conv2d", "depthwise", (y,),
                  {"weight": weight(1, 3, 3, 8) * 3, "bias": weight(8)}, CONV)  # fmt: skip
    y = draft.add("add", "sum", (y, z), {}, {"activation": "relu"})
    pool = {"kernel": (2, 2), "stride": (2, 2), "padding": "valid", "activation": "none"}
    y = draft.add("max_pool2d", "max", (y,), {}, pool)
    y = draft.add("average_pool2d", "average", (y,), {}, pool)
    y = draft.add("mean", "features", (y,), {}, {"axes": (1, 2), "keep_dims": False})
    y = draft.add("fully_connected", "head", (y,), {"weight": weight(5, 8), "bias": weight(5)},
                  {"activation": "none", "keep_dims": False})  # fmt: skip
    return draft.graph(y)


def real(codes, tensor):
    q = tensor.quantization
    return (codes.astype(np.float64) - q.zero_point[0]) * q.scale[0]


@pytest.mark.parametrize("observer", calibrate.OBSERVERS)
@pytest.mark.parametrize("profile", sorted(PROFILES.keys() - {"onnx"}))
def test_int8_network_is_near_its_float_twin(network, images, profile, observer):
    options = calibrate.Options(observer=observer, batch=16)
    int8 = calibrate.quantize_graph(network, images, options, profile)
    check(int8)
    assert int8.profile == profile
    expected = floats.run(network, images)
    actual = real(npusim.Session(int8, threads=1).run(images), int8.tensors[int8.outputs[0]])
    noise = np.square(actual - expected).sum() / np.square(expected).sum()
    assert noise < 10**-2.5  # 25 dB


def test_profiles_without_a_rule_are_refused(network, images):
    with pytest.raises(ModelError) as caught:
        calibrate.quantize_graph(network, images, profile="onnx")
    assert str(caught.value) == (
        "sum/add: profile onnx must have a rule for add, got none; choose another profile"
    )


def test_every_tensor_is_int8_or_bias(network, images):
    int8 = calibrate.quantize_graph(network, images)
    types = {t.name: t.dtype for t in int8.tensors}
    assert {n for n, d in types.items() if d == "int32"} == {
        "stem.bias", "depthwise.bias", "head.bias"}  # fmt: skip
    assert set(types.values()) == {"int8", "int32"}
    assert [n.name for n in int8.nodes] == [
        "stem", "depthwise", "sum", "max", "average", "features", "head"]  # fmt: skip
    moved = int8.tensor("average/average_pool2d").quantization
    assert int8.tensor("sum/relu").quantization == moved
    assert len({t.stream for t in int8.tensors}) == len(int8.tensors)


def test_int8_network_is_saved_and_read(network, images, tmp_path):
    int8 = calibrate.quantize_graph(network, images)
    npusim.save(int8, tmp_path / "m.h5")
    assert npusim.load(tmp_path / "m.h5") == int8


def test_calibration_is_reproducible_and_reads_only_its_batches(network, images):
    options = calibrate.Options(batches=2, batch=8)
    calls = []
    first = calibrate.quantize_graph(
        network, images, options, progress=lambda done, total: calls.append((done, total))
    )
    assert first == calibrate.quantize_graph(network, images[:16], options)
    assert calls == [(done, 6) for done in range(1, 7)]


def test_bias_correction_brings_means_back(network, images):
    """Of every channel before the activation, here of the logits."""
    errors = {}
    expected = floats.run(network, images).mean(0)
    for correct in (False, True):
        options = calibrate.Options(observer="minmax", correct_biases=correct)
        int8 = calibrate.quantize_graph(network, images, options)
        logits = int8.tensors[int8.outputs[0]]
        actual = real(npusim.Session(int8, threads=1).run(images), logits).mean(0)
        errors[correct] = np.abs(actual - expected).max() / logits.quantization.scale[0]
    assert errors[True] < 0.2 < errors[False]  # in codes of the logits


def test_headroom_follows_the_rule(network, images):
    """Codes use 126 / 8, and a step of every weight moves a logit by one code."""
    options = calibrate.Options(headroom=calibrate.Headroom(room=8.0, delta=1.0))
    twin, int8 = calibrate.quantized_pair(network, images, options)
    head, logits = int8.tensor("head.weight"), int8.tensor("head/fully_connected")
    assert np.abs(head.data).max(1).tolist() == [16] * 5
    assert logits.quantization.zero_point[0] == 0
    features = dict(floats.trace(twin, images))["features/mean"].astype(np.float64)
    norm = np.sqrt(np.square(features).sum(1).mean())
    delta = head.quantization.scale.mean(dtype=np.float64) * norm / logits.quantization.scale[0]
    assert delta == pytest.approx(1.0, rel=1e-6)


def test_headroom_needs_a_head(network, images):
    draft = floats.Draft("bare", (1, 8, 8, 3))
    graph = draft.graph(draft.add("mean", "mean", (0,), {}, {"axes": (1, 2), "keep_dims": False}))
    with pytest.raises(ModelError) as caught:
        calibrate.quantize_graph(graph, images, calibrate.Options(headroom=calibrate.Headroom()))
    assert str(caught.value) == (
        "bare: must end in a fully connected layer to have head-room, got mean/mean"
    )


REFUSED = {
    "observer: must be one of minmax, percentile, mse, got 'max'": {"observer": "max"},
    "share: must be at least 0 and below 0.5, got 0.5": {"share": 0.5},
    "batches: must be 1 or more, got 0 of 32": {"batches": 0},
}


@pytest.mark.parametrize("message", REFUSED)
def test_options_are_checked(network, images, message):
    with pytest.raises(ValueError) as caught:
        calibrate.quantize_graph(network, images, calibrate.Options(**REFUSED[message]))
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("images", "got"),
    [(np.zeros((0, 8, 8, 3)), "no image"), (np.full((1, 8, 8, 3), np.nan), "values that are not")],
)
def test_images_are_checked(network, images, got):
    with pytest.raises(ValueError) as caught:
        calibrate.quantize_graph(network, images)
    assert str(caught.value) == f"images: must be finite real numbers, got {got}"
