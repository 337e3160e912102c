"""Whole models against TFLite Micro's recorded tensors: every layer, zero differing elements.

The file holds the models themselves and, for each run, the input and the output of every operator
as `op<i>_t<index of the tensor in the model file>`.
"""

from __future__ import annotations

import h5py
import numpy as np
import pytest
from conformance.goldens import parameters, path_of

import npusim

FILE = "tflm_model_goldens.h5"
MODELS = "_tflite"


def _runs(file: h5py.File) -> list:
    return [
        pytest.param((model, run), id=f"{model}-{run}")
        for model in file[MODELS]
        for run in file[model]
    ]


@pytest.fixture(params=["numpy", "portable"])
def isa(request, monkeypatch):
    monkeypatch.setenv("NPUSIM_ISA", request.param)


@pytest.mark.usefixtures("isa")
@pytest.mark.parametrize("case", parameters(FILE, _runs))
def test_every_layer_matches_tflite_micro(case, tmp_path):
    model, run = case
    path = tmp_path / f"{model}.tflite"
    with h5py.File(path_of(FILE), "r") as file:
        path.write_bytes(file[MODELS][model][...].tobytes())
        recorded = {name: data[...] for name, data in file[model][run].items()}
    x = recorded.pop("input")
    graph = npusim.load(path)
    actual = dict(npusim.Session(graph, threads=1).trace(x))
    names = {t.stream: t.name for t in graph.tensors}
    assert len(recorded) == len(graph.nodes)
    for name, expected in recorded.items():
        index = int(name.split("_t")[1])
        assert np.array_equal(actual[names[index]], expected), f"{name} {names[index]}"
