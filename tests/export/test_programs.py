"""Whole models, exported and built as their README says: every byte is the session's."""

from dataclasses import replace

import numpy as np
import pytest
from c_projects import BUILDS, Program, assert_program_matches, flip_lowest_bit
from conformance.real_inputs import real_inputs
from graphs import Draft, codes

import npusim
from npusim import Accumulator, ModelError, models
from npusim.export import export_c
from npusim.rules import with_rules
from npusim.tensor_files import random_inputs

BY_NAME = {build.name: build for build in BUILDS}
TINY = ("pretrainedResnet_quant", "kws_ref_model", "ad01_int8", "pretrainedResnet_large_int8")
ORDINARY = {("kws_ref_model", "gcc")}
BUILT = {("pretrainedResnet_quant", "m55-mve"), ("kws_ref_model", "clang-sanitized")}
MOBILENET = "models/coral/tf2_mobilenet_v2_1.0_224_ptq.tflite"
BY_DEFAULT = ("gcc", "m55-mve")


def names(*chosen):
    """Builds of a test: those of BY_DEFAULT, the rest with `pytest -m builds`."""
    return [name if name in BY_DEFAULT else pytest.param(name, marks=pytest.mark.builds)
            for name in chosen]  # fmt: skip


def marks(*case):
    if case in ORDINARY:
        return []
    return pytest.mark.builds if case in BUILT else pytest.mark.full


def built(graph, build, folder):
    """The program of a graph; its self-test is one random input."""
    project = export_c(graph, "network", random_inputs(graph, 1), build.target)
    return Program(project, build, folder)


@pytest.mark.parametrize("name", names(*BY_NAME))
def test_digits_match_session(name, tmp_path):
    graph = models.digits_cnn()
    program = built(graph, BY_NAME[name], tmp_path)

    assert program.check() == "self-test: 0 of 10 bytes differ\n"
    assert_program_matches(program, graph, models.to_int8(models.digits().test.images[:32]))


@pytest.mark.parametrize("name", names("gcc", "gcc-sanitized"))
def test_nodes_with_a_profile_of_their_own_match_session(name, tmp_path):
    own = {"conv2d_0": "litert-x86", "depthwise_conv2d_0": "tflm", "fully_connected_0": "tflm"}
    graph = with_rules(replace(models.digits_cnn(), profile="neural-art"), own)
    program = built(graph, BY_NAME[name], tmp_path)

    assert program.check() == "self-test: 0 of 10 bytes differ\n"
    assert_program_matches(program, graph, models.to_int8(models.digits().test.images[:32]))


@pytest.mark.parametrize(
    ("name", "build"),
    [
        pytest.param(name, build, marks=marks(name, build.name), id=f"{name}-{build.name}")
        for name in TINY
        for build in BUILDS
    ],
)  # fmt: skip
def test_mlperf_tiny_matches_session(name, build, shared, tmp_path):
    graph = npusim.load(shared(f"models/mlperf_tiny/{name}.tflite"))
    program = built(graph, build, tmp_path)

    assert program.check().startswith("self-test: 0 of ")
    assert_program_matches(program, graph, real_inputs(graph, shared(""))[:4])


@pytest.mark.full
@pytest.mark.parametrize("name", ["m55-scalar", "m55-mve"])
def test_mobilenet_v2_matches_session(name, shared, tmp_path):
    graph = npusim.load(shared(MOBILENET), input_size=(96, 96))
    photos = real_inputs(npusim.load(shared(MOBILENET)), shared(""))[:2, ::2, ::2][:, 8:-8, 8:-8]
    program = built(graph, BY_NAME[name], tmp_path)

    assert_program_matches(program, graph, np.ascontiguousarray(photos))


def several_ports():
    """Two inputs and three outputs, of three types; one output is read by another node."""
    draft = Draft(seed=3)
    a, b = draft.input((1, 5, 5, 3)), draft.input((1, 5, 5, 3), "float32")
    quantized = draft.node("quantize", (b,), affine={"scale": 0.05, "zero_point": 3})
    total = draft.node("add", (a, quantized), activation="none")
    summed = draft.conv2d(total, 4)
    real = draft.node("dequantize", (summed,), dtype="float32")
    wide = draft.node("quantize", (total,), dtype="int16", affine={"scale": 0.01, "zero_point": 0})
    return draft.graph(total, real, wide)


@pytest.mark.parametrize(
    "name",
    [*names("gcc", "gcc-sanitized", "m55-mve"),
     pytest.param("clang-sanitized", marks=pytest.mark.full)],
)  # fmt: skip
def test_several_inputs_and_outputs_match_session(name, tmp_path):
    graph = several_ports()
    program = built(graph, BY_NAME[name], tmp_path)

    rng = np.random.default_rng(4)
    x, y = (graph.tensors[i].name for i in graph.inputs)
    inputs = {x: rng.integers(-128, 128, (6, 5, 5, 3)).astype(np.int8),
              y: rng.normal(0, 3, (6, 5, 5, 3)).astype(np.float32)}  # fmt: skip
    assert program.check() == f"self-test: 0 of {75 + 400 + 150} bytes differ\n"
    assert_program_matches(program, graph, inputs)


def blocks():
    """Rows of 11 channels and 275 elements, neither whole blocks of 8 nor of 16."""
    draft = Draft(seed=6)
    a, b = draft.input((1, 5, 5, 11)), draft.input((1, 5, 5, 11), "float32")
    quantized = draft.node("quantize", (b,), affine={"scale": 0.05, "zero_point": 3})
    total = draft.node("add", (a, quantized), activation="none")
    summed = draft.depthwise_conv2d(total)
    coded = draft.node("quantize", (summed,), affine={"scale": 0.04, "zero_point": -9})
    real = draft.node("dequantize", (coded,), dtype="float32")
    return draft.graph(summed, real, profile="litert-x86")


@pytest.mark.parametrize("name", names(*BY_NAME))
def test_blocks_and_what_is_behind_them_match_session(name, tmp_path):
    graph = blocks()
    program = built(graph, BY_NAME[name], tmp_path)
    source = (tmp_path / "network.c").read_text("utf-8")
    assert ".block = 8" in source
    assert ".block = 16" in source

    rng = np.random.default_rng(7)
    x, y = (graph.tensors[i].name for i in graph.inputs)
    inputs = {x: rng.integers(-128, 128, (16, 5, 5, 11)).astype(np.int8),
              y: rng.normal(0, 3, (16, 5, 5, 11)).astype(np.float32)}  # fmt: skip
    assert program.check().startswith("self-test: 0 of ")
    assert_program_matches(program, graph, inputs)


@pytest.mark.parametrize("name", names("gcc", "gcc-sanitized"))
def test_images_of_a_batch_that_meet_stay_together(name, tmp_path):
    draft = Draft()
    x = draft.input((2, 3, 3, 2))
    graph = draft.graph(draft.node("mean", (x,), axes=(0,), keep_dims=True))
    program = built(graph, BY_NAME[name], tmp_path)

    assert_program_matches(program, graph, codes(graph, 3)[graph.tensors[x].name])


@pytest.mark.parametrize("name", names("gcc", "gcc-sanitized", "m55-scalar", "m55-mve"))
def test_sum_that_must_fit_ends_the_run(name, tmp_path):
    draft = Draft(seed=5)
    padded = draft.node(
        "pad", (draft.input((1, 6, 6, 3)),), padding=((0, 0), (1, 1), (0, 0), (0, 0))
    )
    graph = draft.graph(draft.conv2d(padded, 4), accumulator=Accumulator(16, "error"))
    tensor = graph.tensors[graph.inputs[0]]
    quiet = np.full(tensor.shape, tensor.quantization.zero_point[0], np.int8)
    project = export_c(graph, "network", {tensor.name: quiet}, BY_NAME[name].target)
    program = Program(project, BY_NAME[name], tmp_path)
    loud = np.full(tensor.shape, 127, np.int8)
    with pytest.raises(ModelError) as error:
        npusim.Session(graph, threads=1).run(loud)
    assert str(error.value).startswith("conv2d_0/conv2d: accumulator: must stay in 16 bits")

    assert_program_matches(program, graph, quiet)
    (tmp_path / "in.bin").write_bytes(loud.tobytes())
    said = program.done("./model", "in.bin", "out.bin", status=2)
    assert said == "accumulator: a sum does not fit in node 2\nin.bin: was not run\n"


def test_self_test_names_a_constant_with_one_wrong_bit(tmp_path):
    program = built(models.digits_cnn(), BY_NAME["gcc"], tmp_path)
    flip_lowest_bit(tmp_path / "network_weights.c", "network_conv2d_0_weights")
    program.done("make", "-s", *program.build.variables)

    said = program.done("./model", status=1)
    assert said.startswith("self-test: constant conv2d_0_weights differs\n")
    assert said.count("constant") == 1


def test_empty_file_is_refused_and_nothing_is_lost(tmp_path):
    program = built(models.digits_cnn(), BY_NAME["gcc"], tmp_path)
    (tmp_path / "empty.bin").write_bytes(b"")
    (tmp_path / "out.bin").write_bytes(b"mine")

    said = program.done("./model", "empty.bin", "out.bin", status=2)
    assert said == "empty.bin: must hold one input at least, got none\n"
    assert (tmp_path / "out.bin").read_bytes() == b"mine"
