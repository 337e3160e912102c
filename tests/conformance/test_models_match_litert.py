"""Whole models under LiteRT's three arithmetics: zero elements differ from LiteRT in that mode.

Every node runs on LiteRT's own tensors, so a difference would stay where it arises. The models are
all .tflite files of the shared folder. Of a model that npusim refuses, the nodes that it runs are
judged all the same, each as a model of its own. One model LiteRT refuses, and must; it is put right
and judged. Any other refusal, at any input, is a failure.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conformance.real_models import (
    MODEL_PARAMETERS,
    MODELS,
    ROOT,
    Part,
    entitled,
    lacking,
    one_input,
    parts,
)
from formats.models import edited
from fuzz.litert_layers import differing_layers
from oracles import litert, model_file

import npusim

MODES = {"litert-ref": "ref", "litert-x86": "x86", "xnnpack": "xnnpack"}
FEW, MANY = range(1), range(1, 24)  # inputs
CRASHES = {"keyword_scrambled_8bit": "LiteRT corrupts its memory: SVDF with states of 8 bits"}
PERSON_DETECT = Path("models/tflm/person_detect.tflite")
REFUSED = {PERSON_DETECT.stem: "quantized_dimension must be in range [0, 1)"}
AXIS = 3  # along which its biases of one dimension are said to have their scales


@pytest.mark.parametrize("path", MODEL_PARAMETERS)
@pytest.mark.parametrize("profile", MODES)
@pytest.mark.parametrize(
    "seeds", [FEW, pytest.param(MANY, marks=pytest.mark.full)], ids=["few", "many"]
)
def test_every_layer_matches_litert(path: Path, profile: str, seeds: range) -> None:
    judged = parts(path)
    if not judged:
        pytest.skip(f"{path.name} has {lacking((ROOT / path).read_bytes())}")
    if path.stem in CRASHES:
        pytest.skip(f"{path.name}: {CRASHES[path.stem]}")
    model = (ROOT / path).read_bytes()
    inputs = [one_input(path, seed) for seed in seeds]
    if path.stem in REFUSED:
        for x in inputs:
            with pytest.raises((RuntimeError, ValueError), match=re.escape(REFUSED[path.stem])):
                differing(judged, model, x, profile)
        return
    assert [line for x in inputs for line in differing(judged, model, x, profile)] == []


@pytest.mark.parametrize("path", MODEL_PARAMETERS)
def test_every_model_is_run_or_has_what_npusim_has_not(path: Path) -> None:
    model = (ROOT / path).read_bytes()
    if entitled(model):
        (part,) = parts(path)
        assert len(part.graph.nodes) == model_file.subgraph(model).OperatorsLength()
    else:
        with pytest.raises(npusim.ModelError):
            npusim.load(ROOT / path)


@pytest.mark.skipif(PERSON_DETECT not in MODELS, reason=f"{ROOT / PERSON_DETECT} is absent")
@pytest.mark.parametrize("profile", MODES)
def test_a_model_that_litert_refuses_is_right_once_it_is_put_right(profile: str) -> None:
    """LiteRT takes the scales of a vector to lie along its only axis, or refuses the file."""
    model = (ROOT / PERSON_DETECT).read_bytes()
    x = one_input(PERSON_DETECT, 0)
    refusal = re.escape(f"quantized_dimension must be in range [0, 1). Was {AXIS}.")
    with pytest.raises(ValueError, match=refusal):
        litert.trace(model, x, MODES[profile])
    assert differing(parts(PERSON_DETECT), edited(model, _with_axis_zero), x, profile) == []


def _with_axis_zero(model: Any) -> None:
    """Scales of every vector lie along its axis."""
    for tensor in model.subgraphs[0].tensors:
        if tensor.quantization is not None and len(tensor.shape) == 1:
            tensor.quantization.quantizedDimension = 0


def differing(judged: list[Part], model: bytes, x: list[np.ndarray], profile: str) -> list[str]:
    """One line for each node that does not make what LiteRT makes of LiteRT's tensors."""
    ask = litert.trace if entitled(model) else litert.trace_apart
    traced = ask(model, x, MODES[profile])
    found: list[str] = []
    for part in judged:
        graph = replace(part.graph, profile=profile)
        tensors = {stream: traced[i] for stream, i in enumerate(part.indices) if i in traced}
        found += differing_layers(graph, tensors)
    return found
