"""The Neural-ART parameters that a comparison leads to, as `npusim.load` takes them."""

from typing import Any

from ..graph import Graph
from ..neural_art.settle import settle
from ..neural_art.stored import labelled
from .report import Report


def assembled(graph: Graph, report: Report) -> dict[str, dict[str, Any]]:
    """By node, what the graph was given already, and over it what explains a departure.

    graph    the model that judged; only under Neural-ART's profile there is anything to give
    """
    graph = settle(graph)
    found = {
        node.name: {
            p.name: p.values[0] if len(p.values) == 1 else list(p.values)
            for p in labelled(graph, node)
            if p.origin == "given"
        }
        for node in graph.nodes
    }
    for tensor in report.departures:
        if tensor.cause is not None and tensor.cause.given:
            found[tensor.node] |= tensor.cause.given
    return {name: given for name, given in found.items() if given}
