"""Which float graphs are legal: the rules of integer graphs, with float32 in place of codes."""

import math
from collections.abc import Mapping

import numpy as np

from ..check import check_structure
from ..check_nodes import check_node_form
from ..graph import Graph, ModelError, Node
from ..operators import RULES as INTEGER_RULES
from ..operators import Attribute, Rule
from ..shapes import Shape, output_shape

FLOAT = ("float32",)
LIKE_INTEGER = ("conv2d", "depthwise_conv2d", "fully_connected", "add", "max_pool2d",
                "average_pool2d", "mean", "pad", "reshape", "softmax", "relu",
                "relu6")  # fmt: skip
_POSITIVE = Attribute(
    "finite, above 0", lambda v, _: type(v) is float and math.isfinite(v) and v > 0
)
RULES: Mapping[str, Rule] = {
    **{op: INTEGER_RULES[op]._replace(x=FLOAT, y=FLOAT, moves=False) for op in LIKE_INTEGER},
    "batch_norm": Rule(
        ("x", "gamma", "beta", "mean", "variance"),
        FLOAT,
        FLOAT,
        (2, 4),
        {"epsilon": _POSITIVE, "activation": INTEGER_RULES["add"].attributes["activation"]},
    ),
}
"""What each operator of a float graph accepts."""


def check_floats(graph: Graph) -> None:
    """Check a float graph.

    raises   ModelError `tensor or node: rule, got value; remedy` for the first broken rule: those
             of `npusim.check`, and every tensor float32, constants finite, one input
    """
    for tensor in graph.tensors:
        if tensor.dtype != "float32":
            raise ModelError(f"tensor {tensor.name}: must be float32, got {tensor.dtype}")
        if tensor.data is not None and not np.isfinite(tensor.data).all():
            wrong = tensor.data[~np.isfinite(tensor.data)][0]
            raise ModelError(f"tensor {tensor.name}: values must be finite, got {wrong}")
    if len(graph.inputs) != 1:
        raise ModelError(f"graph inputs: must be one in a float graph, got {len(graph.inputs)}")
    check_structure(graph, RULES)
    for node in graph.nodes:
        try:
            check_node_form(graph, node, RULES[node.op])
            _check_constants(graph, node)
            _check_batch_norm(graph, node)
            _check_images(graph, node)
        except ModelError as error:
            raise ModelError(f"{node.name}/{node.op}: {error}") from error
        derived, declared = float_shape(graph, node), graph.tensors[node.outputs[0]].shape
        if derived != declared:
            raise ModelError(f"{node.name}/{node.op}: output must be {derived}, got {declared}")


def float_shape(graph: Graph, node: Node) -> Shape:
    """Shape of a node's output, from those of its inputs."""
    if node.op == "batch_norm":
        return graph.tensors[node.inputs[0]].shape
    return output_shape(graph, node)


def _check_batch_norm(graph: Graph, node: Node) -> None:
    if node.op != "batch_norm":
        return
    x, *constants = (graph.tensors[i] for i in node.inputs)
    for name, tensor in zip(RULES["batch_norm"].operands[1:], constants, strict=True):
        if tensor.data is None or tensor.shape != x.shape[-1:]:
            raise ModelError(f"{name} must be a constant ({x.shape[-1]},), got {tensor!r}")
    variance = constants[-1].data
    assert variance is not None
    if variance.min() < 0:
        raise ModelError(f"variance must be 0 or more, got {variance.min()}")


def _check_constants(graph: Graph, node: Node) -> None:
    """What is no weight must be made by a node."""
    for name, index in zip(RULES[node.op].operands, node.inputs, strict=False):
        if name in ("x", "a", "b") and graph.tensors[index].data is not None:
            what = graph.tensors[index].name
            raise ModelError(f"{name} must be made by a node, got the constant {what}")


def _check_images(graph: Graph, node: Node) -> None:
    """A reshape must not make several rows of one image."""
    x = graph.tensors[node.inputs[0]].shape
    if node.op == "reshape" and (y := float_shape(graph, node))[:1] != x[:1]:
        raise ModelError(f"shape must keep images apart, got {y} of {x}")
