"""Batch norms folded into the weights before them.

w' = w * f,  bias' = bias * f + shift,   f = gamma / sqrt(variance + epsilon) by output channel
"""

from collections import Counter
from dataclasses import replace

from ..graph import ABSENT, Graph, ModelError, Node, Tensor
from .operators import WEIGHTED, factor_and_shift
from .unused import without_unused


def fold_batch_norms(graph: Graph) -> Graph:
    """The graph without batch norms: each becomes part of the weighted node whose output it reads.

    The node takes over the norm's activation and output tensor; a bias where there was none is
    called as the weights, with "bias" for a last "weight". Products are made in float64 and
    rounded once.
    raises   ModelError for a norm behind another operator, an activation or a shared output
    """
    tensors = list(graph.tensors)
    nodes: list[Node] = []
    readers = Counter(i for node in graph.nodes for i in (*node.inputs, *node.outputs))
    readers.update(graph.outputs)
    writer: dict[int, int] = {}
    for node in graph.nodes:
        if node.op == "batch_norm":
            place = writer.get(node.inputs[0])
            _check_foldable(graph, node, None if place is None else nodes[place], readers)
            assert place is not None
            nodes[place] = _folded(tensors, nodes[place], node)
            writer[node.outputs[0]] = place
        else:
            writer[node.outputs[0]] = len(nodes)
            nodes.append(node)
    return without_unused(replace(graph, tensors=tuple(tensors), nodes=tuple(nodes)))


def _check_foldable(graph: Graph, norm: Node, before: Node | None, readers: Counter[int]) -> None:
    x = graph.tensors[norm.inputs[0]]
    if before is None or before.op not in WEIGHTED or before.attributes["activation"] != "none":
        what = "the graph's input" if before is None else f"{before.name}/{before.op}"
        raise ModelError(
            f"{norm.name}/batch_norm: must follow a convolution or fully connected layer without "
            f"activation to be folded, got {what}"
        )
    if readers[norm.inputs[0]] != 2:  # written once, read here
        raise ModelError(
            f"{norm.name}/batch_norm: its input must be read by nothing else to be folded, got "
            f"{readers[norm.inputs[0]] - 1} readers of {x.name}"
        )


def _folded(tensors: list[Tensor], node: Node, norm: Node) -> Node:
    """The weighted node with the norm in it; its new constants are put among the tensors."""
    weights = tensors[node.inputs[1]]
    assert weights.data is not None
    constants = [data for i in norm.inputs[1:] if (data := tensors[i].data) is not None]
    factor, shift = factor_and_shift(constants, norm.attributes["epsilon"])
    by_output = factor if node.op == "depthwise_conv2d" else factor.reshape(
        -1, *(1,) * (len(weights.shape) - 1)
    )  # fmt: skip
    tensors[node.inputs[1]] = replace(weights, data=weights.data * by_output)
    old = tensors[node.inputs[2]] if len(node.inputs) > 2 and node.inputs[2] != ABSENT else None
    start = 0.0 if old is None or old.data is None else old.data * factor
    name = weights.name.removesuffix("weight") + "bias" if old is None else old.name
    bias = Tensor(name, shift.shape, "float32", "constant", None, start + shift,
                  max(t.stream for t in tensors) + 1 if old is None else old.stream)  # fmt: skip
    tensors.append(bias)
    return replace(
        node,
        inputs=(*node.inputs[:2], len(tensors) - 1),
        outputs=norm.outputs,
        attributes={**node.attributes, "activation": norm.attributes["activation"]},
    )
