"""Equalised graphs compute what they did, with channels of like ranges."""

import numpy as np
import pytest
from floats.onnx_twin import onnx_outputs

import npusim
from npusim import calibrate, floats
from npusim.calibrate.equalization import LARGEST, MARGIN, equalized, spans
from npusim.layer_error import layer_errors, made_real

CONV = {"stride": (1, 1), "dilation": (1, 1), "padding": "same"}
UNLIKE = np.float32([4, 0.01, 1, 0.1, 2, 0.5, 0.02, 1])
"""How large the channels of a layer are."""


@pytest.fixture(scope="module")
def images():
    return np.random.default_rng(1).random((32, 6, 6, 3), np.float32)


def weight(rng, *shape):
    return (rng.standard_normal(shape) / np.sqrt(np.prod(shape[1:]))).astype(np.float32)


@pytest.fixture(scope="module")
def network():
    """A residual block with two branches, grouped, depthwise with a multiplier; unlike channels."""
    rng = np.random.default_rng(2)

    def add(op, name, x, w, activation, last=None):
        by_output = UNLIKE if last is None else last
        outputs = w.shape[3] if op == "depthwise_conv2d" else w.shape[0]
        factor = np.resize(by_output, outputs)
        if op == "depthwise_conv2d":
            w = w * factor
        else:
            w = w * factor.reshape(-1, *(1,) * (w.ndim - 1))
        constants = {"weight": w, "bias": weight(rng, outputs) * factor}
        options = {"keep_dims": False} if op == "fully_connected" else CONV
        return draft.add(op, name, (x,), constants, {**options, "activation": activation})

    draft = floats.Draft("unlike", (1, 6, 6, 3))
    y = stem = add("conv2d", "stem", 0, weight(rng, 8, 3, 3, 3), "none")
    y = add("conv2d", "expand", y, weight(rng, 8, 1, 1, 4), "relu6")
    y = add("depthwise_conv2d", "depthwise", y, weight(rng, 1, 3, 3, 16), "relu")
    y = add("conv2d", "project", y, weight(rng, 8, 1, 1, 16), "none")
    y = draft.add("add", "sum", (stem, y), {}, {"activation": "relu"})
    pool = {"kernel": (2, 2), "stride": (2, 2), "padding": "valid", "activation": "none"}
    y = draft.add("max_pool2d", "pool", (y,), {}, pool)
    y = draft.add("mean", "features", (y,), {}, {"axes": (1, 2), "keep_dims": False})
    return draft.graph(add("fully_connected", "head", y, weight(rng, 5, 8), "none", [1.0]))


@pytest.fixture(scope="module")
def found(network, images):
    return spans(network, [images[:20], images[20:]], lambda: None)


@pytest.fixture(scope="module")
def twin(network, found):
    return equalized(network, found)


def test_equalized_graph_computes_what_it_did(network, twin, images):
    """On images that calibration saw; the oracle is onnxruntime on the graph as it was."""
    (expected,) = onnx_outputs(network, images, ["head/fully_connected"])
    np.testing.assert_allclose(floats.run(twin, images), expected, atol=2e-6, rtol=0)


def test_equalized_channels_are_more_alike(network, found, twin, images):
    after = spans(twin, [images], lambda: None)
    for name in ("stem/conv2d", "expand/relu6", "depthwise/relu"):
        index = next(i for i, t in enumerate(network.tensors) if t.name == name)
        before, now = ((peak := s[index].peak[s[index].peak > 0]).max() / peak.min()
                       for s in (found, after))  # fmt: skip
        assert now < before / 4


def test_tied_tensors_share_their_scales(network, twin, images):
    """What an addition adds, and what pools and means make of it, is scaled alike."""
    names = ["stem/conv2d", "project/conv2d", "sum/relu", "pool/max_pool2d", "features/mean"]
    was, now = (dict(floats.trace(g, images)) for g in (network, twin))
    alive = was["features/mean"].max(0) > 0  # a ReLU may leave nothing of a channel
    scales = []
    for name in names:
        a, b = (v[name].reshape(-1, 8)[:, alive].astype(np.float64) for v in (was, now))
        scales.append((a * b).sum(0) / (a * a).sum(0))
    np.testing.assert_allclose(scales, np.tile(scales[0], (len(names), 1)), rtol=1e-4)
    assert scales[0].max() > 4


def test_relu6_keeps_channels_that_reach_it(images):
    """Their clipping is part of what the network computes; others stay below 6 with a margin."""
    rng = np.random.default_rng(3)
    draft = floats.Draft("six", (1, 6, 6, 3))
    w = np.float32([40, 1, 1e-6])[:, None, None, None] * rng.random((3, 1, 1, 3), np.float32)
    y = draft.add("conv2d", "a", (0,), {"weight": w, "bias": np.zeros(3, np.float32)},
                  {**CONV, "activation": "relu6"})  # fmt: skip
    constants = {"weight": weight(rng, 1, 3, 3, 3), "bias": np.zeros(3, np.float32)}
    y = draft.add("depthwise_conv2d", "b", (y,), constants, {**CONV, "activation": "none"})
    graph = draft.graph(y)
    twin = equalized(graph, spans(graph, [images], lambda: None))
    was, now = (dict(floats.trace(g, images))["a/relu6"] for g in (graph, twin))
    np.testing.assert_array_equal(now[..., 0], was[..., 0])
    assert was[..., 0].max() == 6
    assert now[..., 1].max() == pytest.approx(6 / MARGIN)
    np.testing.assert_allclose(now[..., 2], LARGEST * was[..., 2], rtol=1e-5)


def test_inputs_and_outputs_are_not_scaled(network, twin, images):
    was, now = (dict(floats.trace(g, images)) for g in (network, twin))
    np.testing.assert_array_equal(now["image"], was["image"])
    np.testing.assert_allclose(now["head/fully_connected"], was["head/fully_connected"], atol=2e-6)


def test_equalization_lowers_the_error_of_int8(network, images):
    noise = {}
    expected = floats.run(network, images)
    for equalize in (False, True):
        int8 = calibrate.quantize_graph(network, images, calibrate.Options(equalize=equalize))
        codes = npusim.Session(int8, threads=1).run(images)
        actual = made_real(codes, int8.tensors[int8.outputs[0]])
        noise[equalize] = np.square(actual - expected).sum()
    assert noise[True] < noise[False] / 2


def test_pair_holds_the_graph_that_was_rounded(network, images):
    """Errors of layers are those against it."""
    pair = calibrate.quantized_pair(network, images)
    assert [t.name for t in pair.floats.tensors] == [t.name for t in pair.int8.tensors]
    errors = layer_errors(*pair, images, threads=1)
    assert min(e.sqnr for e in errors) > 20


def test_layers_that_flatten_are_left_alone(images):
    """Each of their weights belongs to a place; the layer before keeps its channels."""
    rng = np.random.default_rng(4)
    draft = floats.Draft("flat", (1, 6, 6, 3))
    w = weight(rng, 8, 3, 3, 3) * UNLIKE[:, None, None, None]
    zeros = {"bias": np.zeros(8, np.float32)}
    y = draft.add("conv2d", "a", (0,), {"weight": w, **zeros}, {**CONV, "activation": "relu"})
    constants = {"weight": weight(rng, 8, 6 * 6 * 8), **zeros}
    y = draft.add("fully_connected", "b", (y,), constants,
                  {"activation": "none", "keep_dims": False})  # fmt: skip
    graph = draft.graph(y)
    assert equalized(graph, spans(graph, [images], lambda: None)) == graph
