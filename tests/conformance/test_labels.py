"""How many labels real models get right, and which ones they give to photographs.

The counts are those of TFLite Micro and of LiteRT's reference kernels. LiteRT's default, XNNPACK,
rounds otherwise and gets other counts from the same files: two programs that both run a model
correctly need not agree, so npusim says which one it agrees with.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from conformance.goldens import path_of
from conformance.real_inputs import (
    cifar10,
    normalised_photos,
    photos,
    real_inputs,
    speech_commands,
)
from oracles import litert, tflm

import npusim

ROOT = path_of("").parent
pytestmark = pytest.mark.skipif(
    not (ROOT / "models").exists(),
    reason=f"{ROOT}/models is absent; set NPUSIM_SHARED to the folder of shared data",
)


class Count(NamedTuple):
    """A classifier on labelled data: right answers by TFLite Micro's rules and by XNNPACK's."""

    model: str
    data: Callable[[Path], tuple[np.ndarray, np.ndarray]]
    right: int
    xnnpack: int


COUNTS = [
    Count("mlperf_tiny/pretrainedResnet_quant", cifar10, 173, 170),
    Count("mlperf_tiny/pretrainedResnet_large_int8", cifar10, 185, 186),
    Count("mlperf_tiny/kws_ref_model", speech_commands, 901, 902),
]
MODES = {"litert-ref": "ref", "litert-x86": "x86", "xnnpack": "xnnpack"}
CORAL = "coral/tf2_mobilenet_v2_1.0_224_ptq"
TFLM = "tflm/mobilenet_v2_quantized_1x3x224x224"
CORAL_LABELS = [286, 935, 83, 89, 203, 320]  # of PHOTOS; 0 is the background
TFLM_LABELS = [285, 965, 82, 88, 202, 319]


def path(name: str) -> Path:
    return ROOT / "models" / f"{name}.tflite"


def scores(name: str, x: np.ndarray, profile: str = "tflm") -> np.ndarray:
    """What npusim gives under a profile."""
    y = npusim.Session(npusim.load(path(name), profile), threads=1).run(x)
    assert isinstance(y, np.ndarray)
    return y


def codes(name: str) -> np.ndarray:
    """The real inputs of a model as codes."""
    x = real_inputs(npusim.load(path(name)), ROOT)
    assert x is not None
    return x


def by_name(count: Count) -> str:
    return count.model


@pytest.mark.parametrize("count", COUNTS, ids=by_name)
def test_labels_are_those_of_tflite_micro(count: Count) -> None:
    x, labels = count.data(ROOT)
    assert np.sum(scores(count.model, x).argmax(1) == labels) == count.right


@pytest.mark.parametrize("count", COUNTS, ids=by_name)
def test_labels_under_xnnpack_are_those_of_litert(count: Count) -> None:
    x, labels = count.data(ROOT)
    assert np.sum(scores(count.model, x, "xnnpack").argmax(1) == labels) == count.xnnpack


@pytest.mark.parametrize("count", COUNTS, ids=by_name)
@pytest.mark.parametrize(("profile", "mode"), MODES.items())
def test_scores_match_litert(count: Count, profile: str, mode: str) -> None:
    x, model = codes(count.model)[::5], path(count.model).read_bytes()
    expected = [litert.run(model, [image[None]], mode)[0] for image in x]
    assert np.array_equal(scores(count.model, x, profile), np.concatenate(expected))


@pytest.mark.parametrize("count", COUNTS, ids=by_name)
def test_scores_match_tflite_micro(count: Count) -> None:
    x, model = codes(count.model)[::5], path(count.model).read_bytes()
    expected = [tflm.run(model, [image[None]])[0] for image in x]
    assert np.array_equal(scores(count.model, x), np.concatenate(expected))


@pytest.mark.parametrize("count", COUNTS, ids=by_name)
@pytest.mark.parametrize("mode", ["ref", "xnnpack"])
def test_litert_gives_its_own_labels(count: Count, mode: str) -> None:
    """Its reference kernels agree with TFLite Micro here, XNNPACK does not."""
    model, labels = path(count.model).read_bytes(), count.data(ROOT)[1]
    y = np.concatenate([litert.run(model, [image[None]], mode)[0] for image in codes(count.model)])
    right = count.right if mode == "ref" else count.xnnpack
    assert np.sum(y.argmax(1) == labels) == right


def test_photos_get_the_labels_of_the_coral_model() -> None:
    """Pixels as they are: the model takes uint8 and quantises them itself."""
    assert scores(CORAL, photos(ROOT)).argmax(1).tolist() == CORAL_LABELS


def test_photos_get_the_labels_of_the_channel_first_model() -> None:
    """ImageNet's mean and deviation, channels first: real numbers, quantised by the session."""
    assert npusim.load(path(TFLM)).layout == "NCHW"
    assert scores(TFLM, normalised_photos(ROOT)).argmax(1).tolist() == TFLM_LABELS


@pytest.mark.parametrize(("name", "labels"), [(CORAL, CORAL_LABELS), (TFLM, TFLM_LABELS)])
def test_photos_get_the_same_labels_from_tflite_micro(name: str, labels: list[int]) -> None:
    model = path(name).read_bytes()
    found = [tflm.run(model, [image[None]])[0].argmax() for image in codes(name)]
    assert found == labels
