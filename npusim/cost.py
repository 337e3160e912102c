"""What a node costs: multiply-accumulates and bytes of weights."""

from math import prod

from .graph import Graph, Node
from .headroom import WEIGHTED


def macs(graph: Graph, node: Node) -> int:
    """Multiply-accumulates of one node over the graph's declared batch; padding counts as work."""
    if node.op not in WEIGHTED:
        return 0
    weights = graph.tensors[node.inputs[1]].shape
    outputs = prod(graph.tensors[node.outputs[0]].shape)
    if node.op == "depthwise_conv2d":
        return outputs * weights[1] * weights[2]
    return outputs * prod(weights[1:])
