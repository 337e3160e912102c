"""Whole models, layer by layer: zero elements differ from TFLite Micro.

The models are all .tflite files of the shared folder that npusim runs; what it refuses is skipped
with its own words. A refusal fails where every operator is one that npusim has and all weights are
int8. Inputs are real ones where there are any for the model, and random codes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conformance.real_models import MODEL_PARAMETERS, ROOT, entitled, images
from oracles import tflm
from oracles.mobile_network import mobile_network

import npusim
from npusim.formats import tflite

FEW, MANY = (3, 2), (40, 40)  # real and random images
NETWORKS = range(4)


def ask_for(path: Path) -> npusim.Graph:
    """The graph of a model; skips the test with npusim's words where they are a fair refusal."""
    try:
        return npusim.load(ROOT / path)
    except npusim.ModelError as refusal:
        if entitled((ROOT / path).read_bytes()):
            raise
        pytest.skip(str(refusal))


def differences(graph: npusim.Graph, model: bytes, x: np.ndarray) -> list[str]:
    """Tensors of which an element differs from TFLite Micro's, for every image of x."""
    actual = dict(npusim.Session(graph, threads=1).trace(x))
    names = {tensor.stream: tensor.name for tensor in graph.tensors}
    found = []
    for k in range(len(x)):
        try:
            expected = tflm.trace(model, [x[k : k + 1]])
        except RuntimeError as refusal:
            pytest.skip(f"TFLite Micro refuses the model, LiteRT answers for it: {refusal}")
        assert sorted(names[i] for i in expected) == sorted(actual)
        for i, codes in expected.items():
            mine = actual[names[i]][k : k + 1]
            if mine.dtype != codes.dtype or mine.tobytes() != codes.tobytes():
                found.append(f"image {k}: {np.sum(mine != codes)} of {codes.size} in {names[i]}")
    return found


@pytest.mark.parametrize("path", MODEL_PARAMETERS)
@pytest.mark.parametrize(
    "counts", [FEW, pytest.param(MANY, marks=pytest.mark.full)], ids=["few", "many"]
)
def test_every_layer_matches_tflite_micro(path: Path, counts: tuple[int, int]) -> None:
    graph = ask_for(path)
    assert differences(graph, (ROOT / path).read_bytes(), images(graph, counts)) == []


@pytest.mark.parametrize("path", MODEL_PARAMETERS)
def test_every_layer_of_the_numpy_reference_matches_tflite_micro(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUSIM_ISA", "numpy")
    graph = ask_for(path)
    assert differences(graph, (ROOT / path).read_bytes(), images(graph, (1, 1))[:1]) == []


@pytest.mark.parametrize("isa", ["portable", "numpy"])
@pytest.mark.parametrize("seed", NETWORKS)
def test_mobile_network_matches_tflite_micro(
    seed: int, isa: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NPUSIM_ISA", isa)
    network = mobile_network(seed)
    graph = tflite.parse(network.model, network.description)
    x = np.concatenate([network.x, images(graph, (0, 4), seed)])
    assert differences(graph, network.model, x) == []


@pytest.mark.parametrize("seed", NETWORKS)
def test_mobile_network_is_alive(seed: int) -> None:
    """What the layers compute varies, so that equal layers mean something."""
    network = mobile_network(seed)
    graph = tflite.parse(network.model, network.description)
    traced = dict(npusim.Session(graph, threads=1).trace(network.x))
    assert len(graph.nodes) == 26
    assert min(len(np.unique(codes)) for codes in traced.values()) > 1
