"""What has no twin in C is refused by name; folders that hold anything are left alone."""

from dataclasses import replace

import pytest
from graphs import Draft, codes

from npusim import ModelError, models
from npusim.export import export_c
from npusim.export.folder import write_folder
from npusim.tensor_files import random_inputs


def refusal(graph):
    """Why a graph is not exported."""
    with pytest.raises(ModelError) as error:
        export_c(graph, "m", random_inputs(graph, 1))
    return str(error.value)


def test_rejects_rules_that_compute_in_float():
    graph = replace(models.digits_cnn(), profile="xnnpack")
    assert refusal(graph) == (
        "conv2d_0/conv2d: rule must be one of integers, which C has, got float32_even of profile "
        "xnnpack, and 5 more nodes; choose another profile, such as tflm"
    )


def test_rejects_float64_of_one_node():
    graph = replace(models.digits_cnn(), profile="litert-ref")
    assert refusal(graph) == (
        "fully_connected_0/fully_connected: rule must be one of integers, which C has, got "
        "float64_away of profile litert-ref; choose another profile, such as tflm"
    )


def test_rejects_softmax_in_float():
    draft = Draft()
    graph = draft.graph(draft.node("softmax", (draft.input((1, 4)),), beta=1.0,
                                   affine={"scale": 1 / 256, "zero_point": -128}))  # fmt: skip
    assert refusal(replace(graph, profile="litert-x86")) == (
        "softmax_0/softmax: rule must be one of integers, which C has, got softmax_x86 of profile "
        "litert-x86; choose another profile, such as tflm"
    )


def test_takes_integers_of_other_profiles():
    draft = Draft()
    x = draft.input((1, 4, 4, 8))
    graph = draft.graph(draft.node("add", (x, x), activation="none"))
    for profile in ("litert-x86", "litert-ref", "xnnpack", "neural-art", "single-rounding"):
        export_c(replace(graph, profile=profile), "m", codes(graph))


def test_folder_with_files_is_left_alone(tmp_path):
    (tmp_path / "main.c").write_text("mine")
    with pytest.raises(ValueError) as error:
        write_folder(tmp_path, {"main.c": "new"})
    assert str(error.value) == (
        f"{tmp_path}: output folder must be empty or new, got one with files; "
        "remove them or name another"
    )
    assert (tmp_path / "main.c").read_text() == "mine"


def test_file_in_place_of_the_folder_is_left_alone(tmp_path):
    path = tmp_path / "out"
    path.write_text("mine")
    with pytest.raises(ValueError) as error:
        write_folder(path, {"main.c": "new"})
    assert str(error.value) == f"{path}: output must be a folder, got a file; name another"
    assert path.read_text() == "mine"


def test_folder_is_made_with_those_above_it(tmp_path):
    write_folder(tmp_path / "a" / "b", {"x/run": "#!/bin/sh\n", "y": "text\n"})
    assert (tmp_path / "a/b/x/run").stat().st_mode & 0o111
    assert not (tmp_path / "a/b/y").stat().st_mode & 0o111
