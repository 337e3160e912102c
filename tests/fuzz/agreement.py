"""Run a model in every executor of npusim and say where it differs from what an oracle gave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from oracles.cases import Case

from npusim import Accumulator, Graph, Session
from npusim.formats import tflite
from npusim.graph import ABSENT, Node

EXECUTORS = ("numpy", "portable")  # values of NPUSIM_ISA


def open_session(
    graph: Graph, executor: str, threads: int = 1, accumulator: Accumulator | None = None
) -> Session:
    """A session of one executor."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NPUSIM_ISA", executor)
        return Session(graph, threads=threads, accumulator=accumulator)


def parsed(model: bytes, name: str, profile: str) -> Graph:
    """The graph of a model under a profile."""
    return replace(tflite.parse(model, name), profile=profile)


def named_inputs(graph: Graph, inputs: Sequence[NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Inputs in the file's order, by the names a session knows them by."""
    names = [graph.tensors[index].name for index in graph.inputs]
    return dict(zip(names, inputs, strict=True))


def disagreements(
    case: Case,
    expected: NDArray[Any],
    accumulator: Accumulator | None = None,
    profile: str = "tflm",
) -> Iterator[str]:
    """One line for each executor whose output is not `expected`, bit for bit and in its type."""
    graph = parsed(case.model, case.op, profile)
    for executor in EXECUTORS:
        session = open_session(graph, executor, accumulator=accumulator)
        actual = session.run(named_inputs(graph, case.inputs))
        assert isinstance(actual, np.ndarray)
        fault = difference(actual, expected)
        if fault:
            yield f"{executor}: {fault}; {case.description}"


def run_node(graph: Graph, k: int, tensors: dict[int, NDArray[Any]], executor: str) -> NDArray[Any]:
    """What node k makes of the given tensors (by index in the file) and its constants."""
    node = graph.nodes[k]
    used = dict.fromkeys(i for i in (*node.inputs, *node.outputs) if i != ABSENT)
    place = {i: number for number, i in enumerate(used)} | {ABSENT: ABSENT}
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


def operands(graph: Graph, node: Node, tensors: dict[int, NDArray[Any]]) -> list[NDArray[Any]]:
    """The arrays that a node reads: its constants, and of the given tensors (by index)."""
    read = [graph.tensors[i] for i in node.inputs if i != ABSENT]
    return [tensors[t.stream] if t.data is None else t.data for t in read]


def difference(actual: NDArray[Any], expected: NDArray[Any]) -> str | None:
    """How two arrays differ in type, shape or bits; a session gives a scalar as one row."""
    if actual.dtype != expected.dtype or actual.shape != (expected.shape or (1,)):
        return f"{actual.dtype} {actual.shape} instead of {expected.dtype} {expected.shape}"
    if actual.tobytes() != expected.tobytes():
        return f"{int(np.sum(actual != expected))} of {actual.size} elements differ"
    return None
