"""C on the nodes of graphs: every operation of a plan, and whole models layer by layer."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from kernels.graphs import GRAPHS, inputs

import npusim
from c.agreement import differences
from c.npu_cases import nodes
from npusim import models
from npusim.kernels import table
from npusim.neural_art.settle import settle
from npusim.profiles import PROFILES
from npusim.rules import with_rules

IN_FLOAT = {"mean_xnnpack", "softmax_x86"}
COUNTS = {"tflm": 6, "single-rounding": 6, "litert-x86": 6, "neural-art": 6, "litert-ref": 5,
          "xnnpack": 0}  # fmt: skip
"""How many of the digit reader's six nodes C runs under a profile."""
ACCUMULATORS = [npusim.Accumulator(18, "saturate"), npusim.Accumulator(16, "wrap")]

MODELS = [
    "mlperf_tiny/ad01_int8",
    "mlperf_tiny/kws_ref_model",
    "mlperf_tiny/pretrainedResnet_quant",
    "tflm/person_detect",
    "coral/tf2_mobilenet_v2_1.0_224_ptq",
]
INPUT_SIZES = {"tf2_mobilenet_v2_1.0_224_ptq": (96, 96)}
SEED = 20261204


@cache
def operations():
    return {name: [*nodes.calls(graph, *inputs(graph))] for name, graph in GRAPHS.items()}


@cache
def digits(profile, accumulator=None):
    """The calls of the digit reader's nodes for one digit."""
    graph = settle(replace(models.digits_cnn(), profile=profile, accumulator=accumulator))
    return [*nodes.calls(graph, models.to_int8(models.digits().test.images)[:1])]


@cache
def layers(path, profile):
    """The calls of a model's nodes for random codes."""
    graph = npusim.load(path, profile=profile, input_size=INPUT_SIZES.get(path.stem))
    tensor = graph.tensors[graph.inputs[0]]
    x = np.random.default_rng(SEED).integers(-128, 128, tensor.shape).astype(np.int8)
    return [*nodes.calls(graph, x)]


def test_every_operation_has_a_function_or_is_left_out_by_name():
    called = {name: {case.function for case in calls} for name, calls in operations().items()}
    assert set(called) == set(table.OPERATIONS)
    assert called == {
        name: set() if name in IN_FLOAT else {f"npu_{name}"} for name in table.OPERATIONS
    }


def test_operations_of_a_plan_match(npusim_code, npusim_runner):
    calls = [case for calls in operations().values() for case in calls]
    assert differences(npusim_code.declarations, npusim_runner, calls) == []


def test_digit_reader_matches_under_every_profile(npusim_code, npusim_runner):
    calls = [case for profile in COUNTS for case in digits(profile)]
    calls += [case for accumulator in ACCUMULATORS for case in digits("tflm", accumulator)]
    assert differences(npusim_code.declarations, npusim_runner, calls) == []


def test_nodes_with_a_profile_of_their_own_match(npusim_code, npusim_runner):
    own = {"conv2d_0": "litert-x86", "depthwise_conv2d_0": "tflm", "fully_connected_0": "tflm"}
    graph = settle(with_rules(replace(models.digits_cnn(), profile="neural-art"), own))
    calls = [*nodes.calls(graph, models.to_int8(models.digits().test.images)[:1])]
    assert len(calls) == len(graph.nodes)
    assert differences(npusim_code.declarations, npusim_runner, calls) == []


def test_c_runs_what_a_profile_computes_in_integers():
    assert {profile: len(digits(profile)) for profile in COUNTS} == COUNTS
    assert set(PROFILES) - set(COUNTS) == {"onnx"}  # has no rule for a mean


@pytest.mark.parametrize("profile", ["tflm", "neural-art"])
@pytest.mark.parametrize("name", MODELS)
def test_layers_of_models_match(npusim_code, npusim_runner, shared, name, profile):
    calls = layers(shared(f"models/{name}.tflite"), profile)
    assert len(calls) > 8
    assert differences(npusim_code.declarations, npusim_runner, calls) == []
