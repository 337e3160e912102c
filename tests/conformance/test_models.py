"""Whole models, layer by layer: zero elements differ from TFLite Micro and LiteRT.

The models are all .tflite files of the shared folder that npusim runs; what it refuses is skipped
with its own words. A refusal fails where every operator is one that npusim has and all weights are
int8. Inputs are real ones where there are any for the model, and random codes.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conformance.goldens import path_of
from conformance.real_inputs import real_inputs
from fuzz.agreement import EXECUTORS, open_session
from oracles import litert, model_file, tflm
from oracles.mobile_network import mobile_network

import npusim
from npusim import Graph
from npusim.formats import tflite
from npusim.formats.tflite_operators import SUPPORTED
from npusim.graph import ABSENT as ABSENT_INPUT

ROOT = path_of("").parent
MODELS = sorted(path.relative_to(ROOT) for path in (ROOT / "models").rglob("*.tflite"))
ABSENT = pytest.param(
    None,
    id="absent",
    marks=pytest.mark.skip(
        reason=f"{ROOT}/models is absent; set NPUSIM_SHARED to the folder of shared data"
    ),
)
MODEL_PARAMETERS = [pytest.param(path, id=path.stem) for path in MODELS] or [ABSENT]
WEIGHTED = {
    schema.BuiltinOperator.CONV_2D,
    schema.BuiltinOperator.DEPTHWISE_CONV_2D,
    schema.BuiltinOperator.FULLY_CONNECTED,
}
MODES = {"litert-ref": "ref", "litert-x86": "x86", "xnnpack": "xnnpack"}
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


def entitled(model: bytes) -> bool:
    """Whether npusim has all operators of a model, and codes and weights are int8."""
    graph = model_file.subgraph(model)
    codes = schema.Model.GetRootAs(model, 0).OperatorCodes
    for operator in (graph.Operators(i) for i in range(graph.OperatorsLength())):
        entry = codes(operator.OpcodeIndex())
        code = max(entry.BuiltinCode(), entry.DeprecatedBuiltinCode())
        read = [graph.Tensors(i).Type() for i in operator.InputsAsNumpy()[:2]]
        if code not in SUPPORTED:
            return False
        if code in WEIGHTED and set(read) != {schema.TensorType.INT8}:
            return False
    return True


def images(graph: npusim.Graph, counts: tuple[int, int], seed: int = 0) -> np.ndarray:
    """Real and random inputs (images, ..) of the graph's only input."""
    (index,) = graph.inputs
    tensor = graph.tensors[index]
    limits = np.iinfo(tensor.dtype)
    rng = np.random.default_rng(seed)
    shape = (counts[1], *tensor.shape[1:])
    drawn = rng.integers(limits.min, limits.max, shape, tensor.dtype, endpoint=True)
    real = real_inputs(graph, ROOT)
    return drawn if real is None else np.concatenate([real[: counts[0]], drawn])


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


@pytest.mark.parametrize("path", MODEL_PARAMETERS)
@pytest.mark.parametrize("profile", MODES)
def test_every_layer_matches_litert(path: Path, profile: str) -> None:
    """Each node on LiteRT's own tensors, so that a difference would stay where it arises."""
    graph = replace(ask_for(path), profile=profile)
    model = (ROOT / path).read_bytes()
    try:
        tensors = litert.trace(model, [images(graph, (1, 1))[:1]], MODES[profile])
    except (RuntimeError, ValueError) as refusal:
        pytest.skip(f"LiteRT refuses the model: {refusal}")
    found = []
    for k, node in enumerate(graph.nodes):
        expected = tensors[graph.tensors[node.outputs[0]].stream]
        for executor in EXECUTORS:
            actual = run_node(graph, k, tensors, executor)
            if actual.tobytes() != expected.tobytes():
                wrong = np.sum(actual != expected)
                found.append(f"{executor}: {wrong} of {expected.size} elements of {node.name}")
    assert found == []


def run_node(
    graph: npusim.Graph, k: int, tensors: dict[int, np.ndarray], executor: str
) -> np.ndarray:
    """What node k makes of the given tensors (by index in the file) and its constants."""
    node = graph.nodes[k]
    used = dict.fromkeys(i for i in (*node.inputs, *node.outputs) if i != ABSENT_INPUT)
    place = {i: number for number, i in enumerate(used)} | {ABSENT_INPUT: ABSENT_INPUT}
    kinds = {i: "input" if graph.tensors[i].data is None else "constant" for i in node.inputs}
    alone = Graph(
        graph.name,
        tuple(replace(graph.tensors[i], kind=kinds.get(i, "activation")) for i in used),
        (replace(node, inputs=tuple(place[i] for i in node.inputs),
                 outputs=(place[node.outputs[0]],)),),
        tuple(place[i] for i in dict.fromkeys(node.inputs) if kinds[i] == "input"),
        (place[node.outputs[0]],),
        graph.profile,
    )  # fmt: skip
    named = {alone.tensors[i].name: tensors[alone.tensors[i].stream] for i in alone.inputs}
    actual = open_session(alone, executor).run(named)
    assert isinstance(actual, np.ndarray)
    return actual


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
