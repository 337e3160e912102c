"""Activations and padding moved into the operators beside them.

relu(conv2d(x)) -> conv2d with the activation relu;   conv2d(pad(x)) -> conv2d that pads
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import replace

from ..graph import Graph, Node
from .legal import RULES
from .operators import WINDOWED
from .unused import without_unused

ACTIVATIONS = ("relu", "relu6")


def fuse(graph: Graph) -> Graph:
    """The same function in fewer nodes.

    An activation behind an operator that can apply it itself, and whose output nothing else reads,
    becomes an attribute, and the operator takes over its output. Zeros around images before a
    convolution that pads a stated number of cells are added to them. What does not fit, stays.
    """
    nodes: list[Node] = []
    readers = _readers(graph)
    writer: dict[int, int] = {}
    for node in graph.nodes:
        place = writer.get(node.inputs[0])
        before = None if place is None or readers[node.inputs[0]] != 1 else nodes[place]
        if place is not None and before is not None and _takes_activation(before, node):
            attributes = {**before.attributes, "activation": node.op}
            nodes[place] = replace(before, attributes=attributes, outputs=node.outputs)
            writer[node.outputs[0]] = place
            continue
        if place is not None and before is not None and _takes_padding(before, node):
            node = _padded(before, node)
        writer[node.outputs[0]] = len(nodes)
        nodes.append(node)
    return without_unused(replace(graph, nodes=tuple(_wanted(nodes, graph))))


def _readers(graph: Graph) -> Counter[int]:
    counts = Counter(i for node in graph.nodes for i in node.inputs)
    counts.update(graph.outputs)
    return counts


def _takes_activation(before: Node, node: Node) -> bool:
    return node.op in ACTIVATIONS and (
        "activation" in RULES[before.op].attributes and before.attributes["activation"] == "none"
    )


def _takes_padding(before: Node, node: Node) -> bool:
    if before.op != "pad" or node.op not in WINDOWED or node.attributes["padding"] == "same":
        return False
    padding = before.attributes["padding"]
    return len(padding) == 4 and padding[0] == padding[3] == (0, 0)


def _padded(pad: Node, node: Node) -> Node:
    """The convolution that pads and reads what `pad` read."""
    (top, bottom), (left, right) = pad.attributes["padding"][1:3]
    own = node.attributes["padding"]
    own = (0, 0, 0, 0) if own == "valid" else own
    cells = tuple(a + b for a, b in zip(own, (top, bottom, left, right), strict=True))
    return replace(node, inputs=(pad.inputs[0], *node.inputs[1:]),
                   attributes={**node.attributes, "padding": cells})  # fmt: skip


def _wanted(nodes: Iterable[Node], graph: Graph) -> list[Node]:
    """Without the pads that nothing reads any more."""
    nodes = list(nodes)
    read = {i for node in nodes for i in node.inputs} | set(graph.outputs)
    return [node for node in nodes if node.op != "pad" or node.outputs[0] in read]
