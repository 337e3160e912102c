"""Which nodes C can compute: all but those whose rules compute in float."""

from collections.abc import Iterator

from .. import parameters
from ..graph import Graph, ModelError, Node
from ..kernels.structs import Requantization
from ..neural_art.stored import on_hardware
from ..plan import Plan
from ..requantization import reads_scale
from ..rules import arithmetic, profile_of
from .calls import has_twin


def require_twins(graph: Graph, plan: Plan) -> None:
    """Refuse a graph with a node whose arithmetic has no twin in C.

    raises   ModelError that names the first such node and its rule
    """
    without = [
        (node, rule)
        for k, node in enumerate(graph.nodes)
        if (rule := _missing_rule(graph, node, plan.kernel(k))) is not None
    ]
    if not without:
        return
    node, rule = without[0]
    others = f", and {len(without) - 1} more nodes" * (len(without) > 1)
    raise ModelError(
        f"{node.name}/{node.op}: rule must be one of integers, which C has, got {rule} of profile "
        f"{profile_of(graph, node).name}{others}; choose another profile, such as tflm"
    )


def _missing_rule(graph: Graph, node: Node, operation: str) -> str | None:
    """The node's rule, if C has none like it."""
    if on_hardware(graph, node):
        return None
    if not has_twin(operation):
        return arithmetic(graph, node).rule
    if any(reads_scale(r) for r in _requantizations(parameters.bind(graph, node))):
        a = arithmetic(graph, node)
        return a.rest if a.rest.startswith("float") else a.rule
    return None


def _requantizations(structs: tuple) -> Iterator[Requantization]:
    for s in structs:
        yield from (r for r in (s, *s) if isinstance(r, Requantization))
