"""Devices that a dump leaves possible, each run as a whole by its hypotheses."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ..diff.replay import Part, leading_to
from ..graph import Graph
from .approach import approach, states_of
from .hypothesis import Hypothesis
from .questions import Question
from .report import Report

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class World:
    """A device.

    steps    every node alone
    choice   node -> what it does
    """

    steps: Mapping[str, Part]
    choice: Mapping[str, Hypothesis]

    def run(self, inputs: Arrays, memo: dict[tuple, np.ndarray]) -> dict[str, np.ndarray]:
        """Every tensor by name.

        memo   of equal steps of other devices on the same inputs; added to
        """
        values = dict(inputs)
        for node, part in self.steps.items():
            graph = part.graph
            y = graph.tensors[part.last.outputs[0]]
            h = self.choice[node]
            key = (node, id(h), *(id(values[name]) for name in part.inputs))
            if key not in memo:
                codes = h.codes(states_of(graph, part.last, values))
                memo[key] = codes.reshape(-1, *y.shape[1:]).astype(y.dtype)
            values[y.name] = memo[key]
        return values


def worlds(graph: Graph, report: Report, asked: list[Question]) -> list[World]:
    """One device for every alternative of every question; the first ones elsewhere."""
    names = [t.name for t in graph.tensors]
    steps = {n.name: leading_to(graph, graph.tensors[n.outputs[0]].name, names)
             for n in graph.nodes}  # fmt: skip
    base = {}
    for v in report.verdicts:
        kind = next((k for k in report.kinds if v in k.verdicts), None)
        rules = set(kind.rules) if kind is not None else set()
        fitting = [h for h in v.survivors if not rules or set(h.rules) & rules]
        part = steps[v.node]
        anything = approach(part.graph, part.last).hypotheses(part.graph, part.last)
        base[v.node] = (fitting or list(v.survivors) or anything)[0]
    found = [
        World(steps, {**base, **{node: hs[0] for node, hs in alternative.items()}})
        for question in asked
        for alternative in question.alternatives
    ]
    return found or [World(steps, base)]
