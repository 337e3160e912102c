"""A graph without what nothing reads, after nodes were taken out of it."""

from dataclasses import replace

from ..graph import ABSENT, Graph


def without_unused(graph: Graph) -> Graph:
    """The graph without tensors that no node reads or writes, constants before what reads them."""
    order = dict.fromkeys(graph.inputs)
    order.update(dict.fromkeys(i for n in graph.nodes for i in (*n.inputs, *n.outputs)))
    order.pop(ABSENT, None)
    place = {old: new for new, old in enumerate(order)} | {ABSENT: ABSENT}
    nodes = (
        replace(n, inputs=tuple(place[i] for i in n.inputs),
                outputs=tuple(place[i] for i in n.outputs))
        for n in graph.nodes
    )  # fmt: skip
    return replace(
        graph,
        tensors=tuple(graph.tensors[i] for i in order),
        nodes=tuple(nodes),
        inputs=tuple(place[i] for i in graph.inputs),
        outputs=tuple(place[i] for i in graph.outputs),
    )
