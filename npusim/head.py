"""The classifier of a graph: find it, cut it off, put another in its place.

A head is the last fully connected layer, or the last 1x1 convolution on a 1x1 map, when nothing
but reshape, softmax, quantize and dequantize stands between it and the graph's output.
Letters: O classes, I features.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from .affine import scale
from .graph import ABSENT, Graph, ModelError, Node, Quantization, Tensor

AFTER_HEAD = ("reshape", "softmax", "quantize", "dequantize")
POOLS = ("mean", "average_pool2d", "max_pool2d")
"""What a network without a classifier ends in, or a reshape of it."""
NEW_TENSORS = ("head", "head/bias", "logits")


class Head(NamedTuple):
    """A new int8 classifier.

    weights        int8 (O, I)
    weight_scale   float32 (O,), real = scale * code
    bias           int32 (O,), of scale s_x * weight_scale
    scale          of the logits, whose zero point is 0
    """

    weights: np.ndarray
    weight_scale: np.ndarray
    bias: np.ndarray
    scale: float


def find_head(graph: Graph) -> Node:
    """The node that is the head of the graph's first output.

    raises   ModelError when the graph has none
    """
    producer = {output: node for node in graph.nodes for output in node.outputs}
    node = producer.get(graph.outputs[0])
    while node is not None and node.op in AFTER_HEAD:
        node = producer.get(node.inputs[0])
    if node is None or not _is_head(graph, node):
        last = "its input" if node is None else f"{node.name}/{node.op}"
        mend = "name another output when converting the model"
        if ends_at_features(graph):
            mend = "put a classifier behind its features: npusim quantize or zo train, --classes"
        raise ModelError(
            f"{graph.name}: must end in a fully connected layer or a 1x1 convolution on a 1x1 map, "
            f"got {last}; {mend}"
        )
    return node


def ends_at_features(graph: Graph) -> bool:
    """Whether the output is one vector of int8 codes for an image, as a pool makes it.

    Nothing tells the features of a cut network from the class scores of one that ends in a
    convolution and a pool: both count.
    """
    producer = {output: node for node in graph.nodes for output in node.outputs}
    node, x = producer.get(graph.outputs[0]), graph.tensors[graph.outputs[0]]
    while node is not None and node.op == "reshape":
        node = producer.get(node.inputs[0])
    vector = x.dtype == "int8" and len(x.shape) > 1 and int(np.prod(x.shape)) == x.shape[-1]
    return vector and node is not None and node.op in POOLS


def until(graph: Graph, count: int) -> Graph:
    """The first `count` nodes; the outputs are what later nodes or the caller read of them.

    Tensors nobody uses any more are left out; names and streams stay.
    """
    nodes = graph.nodes[:count]
    made = dict.fromkeys((*graph.inputs, *(i for node in nodes for i in node.outputs)))
    read = {i for node in graph.nodes[count:] for i in node.inputs} | set(graph.outputs)
    outputs = tuple(i for i in made if i in read)
    used = {index for node in nodes for index in (*node.inputs, *node.outputs)} - {ABSENT}
    kept = sorted(used | set(outputs) | set(graph.inputs))
    place = {old: new for new, old in enumerate(kept)} | {ABSENT: ABSENT}

    def moved(indices: Iterable[int]) -> tuple[int, ...]:
        return tuple(place[index] for index in indices)

    return replace(
        graph,
        tensors=tuple(graph.tensors[index] for index in kept),
        nodes=tuple(replace(n, inputs=moved(n.inputs), outputs=moved(n.outputs)) for n in nodes),
        inputs=moved(graph.inputs),
        outputs=moved(outputs),
    )


def frozen_part(graph: Graph, trainable: Iterable[str]) -> Graph:
    """The nodes before the first one that reads a trainable constant, by tensor names.

    Its outputs are what `Session.prefix` keeps, in the same order.
    """
    names = set(trainable)
    changing = {i for i, tensor in enumerate(graph.tensors) if tensor.name in names}
    users = (k for k, node in enumerate(graph.nodes) if changing & set(node.inputs))
    return until(graph, next(users, len(graph.nodes)))


def until_logits(graph: Graph) -> Graph:
    """The graph without what follows its head: its output is the head's int8 logits."""
    return until(graph, graph.nodes.index(find_head(graph)) + 1)


def until_features(graph: Graph) -> Graph:
    """The graph without its head: its output is what the head reads."""
    return until(graph, graph.nodes.index(find_head(graph)))


def with_features(graph: Graph) -> Graph:
    """The graph with the head's input as a second output, for exact gradients of the head."""
    features = find_head(graph).inputs[0]
    return replace(graph, outputs=(graph.outputs[0], features))


def blank_head(features: int, classes: int) -> Head:
    """Zeros in the place of a classifier that is still to be made."""
    return Head(
        np.zeros((classes, features), np.int8), np.ones(classes, np.float32),
        np.zeros(classes, np.int32), 1.0,
    )  # fmt: skip


def with_head(graph: Graph, classes: int) -> Graph:
    """The graph until its logits; where it ends at features, behind a new head of zeros.

    classes   of the new head, which `replace_head` can then replace
    raises    ModelError when it ends at neither
    """
    if not ends_at_features(graph):
        return until_logits(graph)
    x, first = graph.tensors[graph.outputs[0]], len(graph.tensors)
    stream = max(tensor.stream for tensor in graph.tensors) + 1
    head = blank_head(x.shape[-1], classes)
    weights = Tensor("", head.weights.shape, "int8", "constant", stream=stream)
    logits = Tensor("", (1, classes), "int8", "activation", stream=stream + 2)
    names = _free_names((tensor.name for tensor in graph.tensors), NEW_TENSORS)
    made = _head_tensors(names, head, (weights, stream + 1, logits), x)
    attributes = {"activation": "none", "keep_dims": False}
    (name,) = _free_names((node.name for node in graph.nodes), ("head",))
    inputs = (graph.outputs[0], first, first + 1)
    node = Node("fully_connected", name, inputs, (first + 2,), attributes)
    return replace(graph, tensors=graph.tensors + made, nodes=(*graph.nodes, node),
                   outputs=(first + 2,))  # fmt: skip


def replace_head(graph: Graph, head: Head) -> Graph:
    """The graph with another classifier, ending at its logits.

    The new weights are called "head", the bias "head/bias", the logits "logits" (with a suffix
    where the graph has such a name already). Weights and bias keep the random streams of those
    they replace; a bias where there was none gets the first free stream.
    raises   ModelError when the head does not fit the features
    """
    old = find_head(graph)
    x, weights = graph.tensors[old.inputs[0]], graph.tensors[old.inputs[1]]
    _check_fit(old, head, weights.shape[-1])
    bias_index = old.inputs[2] if len(old.inputs) > 2 else ABSENT
    streams = [tensor.stream for tensor in graph.tensors]
    bias_stream = graph.tensors[bias_index].stream if bias_index != ABSENT else max(streams) + 1
    body = until_features(graph)
    names = _free_names((tensor.name for tensor in body.tensors), NEW_TENSORS)
    made = _head_tensors(names, head, (weights, bias_stream, graph.tensors[old.outputs[0]]), x)
    first = len(body.tensors)
    node = replace(
        old,
        inputs=(body.outputs[0], first, first + 1),
        outputs=(first + 2,),
        attributes={**old.attributes, "activation": "none"},
        given={},
    )
    return replace(
        body, tensors=body.tensors + made, nodes=(*body.nodes, node), outputs=(first + 2,)
    )


def _is_head(graph: Graph, node: Node) -> bool:
    if node.op not in ("fully_connected", "conv2d"):
        return False
    x, weights = graph.tensors[node.inputs[0]], graph.tensors[node.inputs[1]]
    single = int(np.prod(x.shape)) == weights.shape[-1]
    return single and weights.data is not None and all(d == 1 for d in weights.shape[1:-1])


def _check_fit(node: Node, head: Head, features: int) -> None:
    classes = len(head.weights)
    shapes = (head.weights.shape, head.weight_scale.shape, head.bias.shape)
    if classes < 1 or shapes != ((classes, features), (classes,), (classes,)):
        raise ModelError(
            f"{node.name}: a head's weights, scales and bias must be (O, {features}), (O,), (O,), "
            f"got {shapes[0]}, {shapes[1]}, {shapes[2]}"
        )


def _head_tensors(
    names: tuple[str, ...], head: Head, old: tuple[Tensor, int, Tensor], x: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Weights, bias and logits in the shapes and streams of those they replace."""
    weights, bias_stream, logits = old
    classes = len(head.weights)
    zeros = np.zeros(classes, np.int64)
    bias_scale = head.weight_scale.astype(np.float64) * scale(x)
    codes = head.weights.reshape(classes, *weights.shape[1:])
    return (
        Tensor(names[0], codes.shape, "int8", "constant",
               Quantization(head.weight_scale, zeros, 0), codes, weights.stream),
        Tensor(names[1], (classes,), "int32", "constant",
               Quantization(bias_scale.astype(np.float32), zeros, 0), head.bias, bias_stream),
        Tensor(names[2], (*logits.shape[:-1], classes), "int8", "activation",
               Quantization(np.array([head.scale]), np.array([0])), None, logits.stream),
    )  # fmt: skip


def _free_names(used: Iterable[str], wanted: Iterable[str]) -> tuple[str, ...]:
    taken, names = set(used), []
    for name in wanted:
        free, number = name, 2
        while free in taken:
            free, number = f"{name}#{number}", number + 1
        names.append(free)
    return tuple(names)
