"""Rules of a legal graph."""

from .graph import ABSENT, Graph, ModelError
from .shapes import output_shape


def check(graph: Graph, where: str = "") -> None:
    """Raise ModelError when the graph breaks a rule that the kernels rely on."""
    for node in graph.nodes:
        declared = graph.tensors[node.outputs[0]].shape
        derived = output_shape(graph, node)
        if declared != derived or ABSENT in node.outputs:
            raise ModelError(
                f"{where}: {node.name}/{node.op}: output must be {derived}, got {declared}"
            )
