"""Float .tflite files against LiteRT on the same file."""

import numpy as np
import pytest
from oracles.float_litert import litert_outputs

from npusim import ModelError, floats

UNIT = 2.0**-24
MODELS = "models/mlperf_tiny"


@pytest.mark.parametrize(("name", "nodes"), [("ad01_fp32", 10), ("pretrainedResnet", 16)])
def test_real_network_matches_litert(shared, name, nodes):
    """Within 2^-16 of the largest output: sums of up to 640 products in a dozen layers."""
    path = shared(f"{MODELS}/{name}.tflite")
    graph = floats.load(path)
    assert len(graph.nodes) == nodes
    x = np.random.default_rng(1).normal(0, 3, (4, *graph.tensors[0].shape[1:])).astype(np.float32)
    expected = litert_outputs(path, x)
    limit = 256 * UNIT * np.abs(expected).max()
    assert np.abs(floats.run(graph, x) - expected).max() <= limit
    assert np.ptp(expected) > 1000 * limit


def test_int8_weights_of_a_float_model_are_made_real(shared):
    """LiteRT rounds the activations of such layers to int8 as it runs: near, not equal."""
    path = shared(f"{MODELS}/kws_ref_model_float32.tflite")
    graph = floats.load(path)
    assert {t.dtype for t in graph.tensors} == {"float32"}
    x = np.random.default_rng(2).normal(0, 1, (8, 49, 10, 1)).astype(np.float32)
    expected = litert_outputs(path, x)
    assert np.abs(floats.run(graph, x) - expected).max() < 0.02
    assert np.ptp(expected) > 0.3


def test_other_input_sizes_are_derived(shared):
    path = shared(f"{MODELS}/pretrainedResnet.tflite")
    with pytest.raises(ModelError) as caught:
        floats.load(path, (64, 64))
    assert str(caught.value) == (
        "pretrainedResnet.tflite: input_size 64x64: reshape_0/reshape: shape must keep "
        "images apart, got (4, 64) of (1, 2, 2, 64)"
    )


def test_int8_models_are_refused(shared):
    with pytest.raises(ModelError) as caught:
        floats.load(shared(f"{MODELS}/pretrainedResnet_quant.tflite"))
    assert str(caught.value) == (
        "pretrainedResnet_quant.tflite: tensor input_1_int8: must be float32, got int8"
    )
