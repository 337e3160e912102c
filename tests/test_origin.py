"""What a trained model stores of pixels and classes, as `npusim run` uses it."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import npusim
from npusim import cli, models
from npusim.images import Normalization
from npusim.origin import KEY, Training, class_names, training

NAMES = tuple(f"number {i}" for i in range(10))
# (pixel/255 - 0) / (256/255) is pixel/256, half of it for half the pixel's value
HALF = {"mean": [0.0], "std": [512 / 255]}


def remembering(**entry):
    return replace(models.digits_cnn(), provenance={KEY: json.dumps(entry)})


@pytest.mark.parametrize(("entry", "expected"), [
    ({}, Training()),
    ({"normalization": None, "classes": None, "train": 5}, Training()),
    ({"normalization": {"mean": [0.5], "std": [1, 2, 3]}, "classes": ["a", "b"]},
     Training(Normalization((0.5,), (1.0, 2.0, 3.0)), ("a", "b"))),
])  # fmt: skip
def test_training_is_what_was_stored(entry, expected):
    assert training(remembering(**entry)) == expected
    assert training(models.digits_cnn()) == Training()


@pytest.mark.parametrize("text", ["", "{", "5", "[" * 99999, '{"normalization": {"mean": [1]}}',
                                  '{"normalization": {"mean": ["x"], "std": [1]}}',
                                  '{"classes": 5}'])  # fmt: skip
def test_damaged_entry_is_refused(text):
    graph = replace(models.digits_cnn(), name="g", provenance={KEY: text})
    message = f"g: zo_origin must be as zo train wrote it, got {text[:80]!r}"
    with pytest.raises(npusim.ModelError, match=f"^{re.escape(message)}$"):
        training(graph)


def test_class_names_are_those_of_the_outputs():
    assert class_names(remembering(classes=NAMES)) == NAMES
    assert class_names(remembering(classes=NAMES[:9])) == ()
    assert class_names(models.digits_cnn()) == ()


@pytest.fixture
def files(tmp_path):
    """m.h5, which remembers half the pixels' values and names, and two images of pixels."""
    npusim.save(remembering(normalization=HALF, classes=NAMES), tmp_path / "m.h5")
    pixels = np.arange(128, dtype=np.uint8).reshape(2, 8, 8, 1) * 2
    np.save(tmp_path / "pixels.npy", pixels)
    np.save(tmp_path / "codes.npy", (pixels.astype(np.int16) // 2 - 128).astype(np.int8))
    return tmp_path


def run(capsys, *arguments):
    assert cli.main(["run", *map(str, arguments), "--json"]) == 0
    (output,) = json.loads(capsys.readouterr().out)["outputs"]
    return output


def test_run_normalises_pixels_as_in_training(capsys, files):
    codes = run(capsys, files / "m.h5", "--input", files / "codes.npy")
    stored = run(capsys, files / "m.h5", "--input", files / "pixels.npy")
    other = ("--mean", 0, "--std", 256 / 255)
    given = run(capsys, files / "m.h5", "--input", files / "pixels.npy", *other)
    assert stored["sha256"] == codes["sha256"] != given["sha256"]


def test_run_prints_the_names_of_the_classes(capsys, files):
    arguments = (files / "m.h5", "--input", files / "codes.npy", "--top", 1)
    for (rank,) in run(capsys, *arguments)["top"]:
        assert rank["label"] == NAMES[rank["number"]]
    (files / "labels.txt").write_text("other\n" * 10)
    for (rank,) in run(capsys, *arguments, "--labels", files / "labels.txt")["top"]:
        assert rank["label"] == "other"


def test_normalization_of_a_float_network_is_read():
    entry = {"normalization": json.dumps({"mean": [0.5], "std": [1, 2, 3]})}
    graph = replace(models.digits_cnn(), provenance=entry)
    assert training(graph) == Training(Normalization((0.5,), (1.0, 2.0, 3.0)))
    trained = replace(graph, provenance={**entry, KEY: json.dumps({"normalization": None})})
    assert training(trained) == Training()


@pytest.mark.parametrize("text", ["", "5", '{"mean": [1]}', '{"mean": ["x"], "std": [1]}'])
def test_damaged_normalization_is_refused(text):
    graph = replace(models.digits_cnn(), name="g", provenance={"normalization": text})
    with pytest.raises(npusim.ModelError) as caught:
        training(graph)
    assert str(caught.value) == f"g: normalization must be JSON with mean and std, got {text!r}"
