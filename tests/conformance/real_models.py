"""The .tflite files of the shared folder, what npusim runs of them, and inputs for them."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from conformance.goldens import path_of
from conformance.real_inputs import real_inputs
from formats.models import packed
from oracles import model_file

import npusim
from npusim import Graph, ModelError
from npusim.formats import tflite
from npusim.formats.tflite_operators import SUPPORTED

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

DTYPES = {getattr(schema.TensorType, t.upper()): t for t in ("int8", "uint8", "int16", "float32")}


class Part(NamedTuple):
    """A graph and, for each of its tensors' streams, the tensor's index in the model's file."""

    graph: Graph
    indices: tuple[int, ...]


def entitled(model: bytes) -> bool:
    """Whether npusim has all operators of a model, and codes and weights are int8."""
    return lacking(model) == ""


def lacking(model: bytes) -> str:
    """What a model has and npusim has not: operators, else types of weights; "" for nothing."""
    names = {v: k for k, v in vars(schema.BuiltinOperator).items() if isinstance(v, int)}
    operators = {names[code] for code, _ in _operators(model) if code not in SUPPORTED}
    if operators:
        return "operators " + ", ".join(sorted(operators))
    tensor = model_file.subgraph(model).Tensors
    read = {tensor(i).Type() for code, operator in _operators(model) if code in WEIGHTED
            for i in operator.InputsAsNumpy()[:2]}  # fmt: skip
    types = {DTYPES[type_] for type_ in read} - {"int8"}
    return "weights of " + ", ".join(sorted(types)) if types else ""


@cache
def parts(path: Path) -> list[Part]:
    """What npusim runs of a model: the whole, else each node that it runs alone."""
    model = (ROOT / path).read_bytes()
    try:
        graph = npusim.load(ROOT / path)
    except ModelError:
        count = model_file.subgraph(model).OperatorsLength()
        return [part for k in range(count) for part in _alone(model, k)]
    return [Part(graph, tuple(range(model_file.subgraph(model).TensorsLength())))]


def images(graph: Graph, counts: tuple[int, int], seed: int = 0) -> np.ndarray:
    """Real and random inputs (images, ..) of the graph's only input."""
    (index,) = graph.inputs
    tensor = graph.tensors[index]
    drawn = _random_codes(tensor.dtype, (counts[1], *tensor.shape[1:]), seed)
    real = real_inputs(graph, ROOT)
    return drawn if real is None else np.concatenate([real[: counts[0]], drawn])


def one_input(path: Path, seed: int) -> list[np.ndarray]:
    """Arrays for a model's inputs: real ones for even seeds where there are any, else random."""
    model = (ROOT / path).read_bytes()
    graph, (first, *_) = model_file.subgraph(model), [*parts(path), None]
    whole = first is not None and len(first.indices) == graph.TensorsLength()
    real = real_inputs(first.graph, ROOT) if whole and seed % 2 == 0 else None
    if real is not None:
        return [real[[seed // 2 % len(real)]]]
    tensors = [graph.Tensors(i) for i in graph.InputsAsNumpy()]
    return [_random_codes(DTYPES[t.Type()], tuple(t.ShapeAsNumpy()), seed) for t in tensors]


def _random_codes(dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Codes of the type's whole range; real numbers of a unit bell."""
    rng = np.random.default_rng(seed)
    if dtype == "float32":
        return rng.normal(size=shape).astype(dtype)
    limits = np.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def _operators(model: bytes) -> Iterator[tuple[int, schema.Operator]]:
    """(code, operator) of each of a model's operators."""
    graph, codes = model_file.subgraph(model), schema.Model.GetRootAs(model, 0).OperatorCodes
    for operator in (graph.Operators(i) for i in range(graph.OperatorsLength())):
        entry = codes(operator.OpcodeIndex())
        yield max(entry.BuiltinCode(), entry.DeprecatedBuiltinCode()), operator


def _alone(model: bytes, k: int) -> Iterator[Part]:
    """Operator k as a model of its own, if npusim runs it."""
    whole = _unpacked(model)
    graph, node = whole.subgraphs[0], copy(whole.subgraphs[0].operators[k])
    used = [int(i) for i in dict.fromkeys([*node.inputs, *node.outputs]) if i >= 0]
    place = {i: number for number, i in enumerate(used)} | {-1: -1}
    node.inputs, node.outputs = ([place[int(i)] for i in s] for s in (node.inputs, node.outputs))
    alone, part = schema.ModelT(), schema.SubGraphT()
    alone.version, alone.operatorCodes, alone.subgraphs = 3, whole.operatorCodes, [part]
    alone.buffers = [whole.buffers[graph.tensors[i].buffer] for i in used]
    part.tensors = [copy(graph.tensors[i]) for i in used]
    for number, tensor in enumerate(part.tensors):
        tensor.buffer = number
    part.operators, part.outputs = [node], node.outputs
    fed = (i for i in dict.fromkeys(node.inputs) if i >= 0)
    part.inputs = [i for i in fed if alone.buffers[i].data is None]
    try:
        yield Part(tflite.parse(packed(alone), f"operator {k}"), tuple(used))
    except ModelError:
        return


@cache
def _unpacked(model: bytes) -> schema.ModelT:
    return schema.ModelT.InitFromObj(schema.Model.GetRootAs(model, 0))
