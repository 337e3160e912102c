"""The same graph for other input shapes: another image size, another batch.

Every shape is derived again from the inputs on. What a model fixed as a constant (the target of a
reshape, the width of a fully connected layer, a constant operand) stays, and forbids what does not
fit it, as LiteRT's resize_tensor_input does. Unlike LiteRT, nothing turns one larger image into
several rows of results.
"""

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from .check import check
from .fivefold import innermost_row
from .graph import ABSENT, Graph, ModelError, Node, Tensor
from .kernels.structs import TWICE
from .parameters import ADD_X86
from .rules import arithmetic, stated
from .shapes import Shape, output_shape


def resize(graph: Graph, size: tuple[int, int]) -> Graph:
    """The graph for images of `size` = (height, width).

    The image is the graph's only input of rank 4, its dimensions in the order of `graph.layout`.
    raises   ModelError naming the node that forbids the size
    """
    if not _is_size(size):
        raise ValueError(f"input_size: must be (height, width) from 1, got {size!r}")
    images = [i for i in graph.inputs if len(graph.tensors[i].shape) == 4]
    if len(images) != 1:
        shapes = [graph.tensors[i].shape for i in graph.inputs]
        raise ModelError(f"input_size: graph must have one image input of rank 4, got {shapes}")
    first, second, _, fourth = graph.tensors[images[0]].shape
    height, width = map(int, size)
    nhwc = graph.layout == "NHWC"
    shape = (first, height, width, fourth) if nhwc else (first, second, height, width)
    try:
        return _derive(graph, {images[0]: shape})
    except ModelError as error:
        raise ModelError(f"input_size {size[0]}x{size[1]}: {error}") from error


def with_batch(graph: Graph, batch: int) -> Graph:
    """The graph for inputs of `batch` images.

    raises   ModelError when the images of a batch are not independent, see `batch_separable`
    """
    if batch < 1:
        raise ValueError(f"batch: must be 1 or more, got {batch}")
    obstacle = _batch_obstacle(graph)
    if obstacle:
        raise ModelError(obstacle)
    inputs = {i: (batch, *graph.tensors[i].shape[1:]) for i in graph.inputs}
    nodes = tuple(_with_batch_target(node, batch) for node in graph.nodes)
    return _derive(replace(graph, nodes=nodes), inputs)


def batch_separable(graph: Graph) -> bool:
    """Whether axis 0 of every input and activation counts images that do not meet each other.

    Then a graph for n images computes, image by image, what the graph for one image does.
    """
    return _batch_obstacle(graph) is None


def _is_size(size: Any) -> bool:
    return (
        isinstance(size, tuple | list)
        and len(size) == 2
        and all(isinstance(length, int | np.integer) and length >= 1 for length in size)
    )


def _derive(graph: Graph, inputs: Mapping[int, Shape]) -> Graph:
    """The graph with other input shapes and every activation's shape derived from them."""
    shapes = {i: tensor.shape for i, tensor in enumerate(graph.tensors)} | dict(inputs)
    for node in graph.nodes:
        shapes[node.outputs[0]] = output_shape(graph, node, shapes)
        _keep_images(graph, node, shapes)
    tensors = (replace(t, shape=shapes[i]) for i, t in enumerate(graph.tensors))
    derived = replace(graph, tensors=tuple(tensors))
    check(derived)
    return derived


def _keep_images(graph: Graph, node: Node, shapes: Mapping[int, Shape]) -> None:
    """Refuse a bigger image that would come out of a fixed width as a bigger batch."""
    x, y = node.inputs[0], node.outputs[0]
    kept = graph.tensors[x].shape[:1] == graph.tensors[y].shape[:1]
    if node.op in ("reshape", "fully_connected") and kept and shapes[x][:1] != shapes[y][:1]:
        raise ModelError(
            f"{node.name}/{node.op}: output must keep axis 0 of the input {shapes[x]}, "
            f"got {shapes[y]}; a constant of the model fixes the width"
        )


def _with_batch_target(node: Node, batch: int) -> Node:
    """The node with the batch in a reshape's target."""
    if node.op != "reshape" or node.attributes["shape"][0] == -1:
        return node
    target = (batch, *node.attributes["shape"][1:])
    return replace(node, attributes={**node.attributes, "shape": target})


def _batch_obstacle(graph: Graph) -> str | None:
    """Why the images of a batch are not independent; None when they are."""
    batches = {graph.tensors[i].shape[:1] for i in graph.inputs}
    if len(batches) != 1 or () in batches:
        return f"graph inputs: must have one common axis 0, got {sorted(batches)}"
    batch = batches.pop()
    for node in graph.nodes:
        operands = [graph.tensors[i] for i in node.inputs if i != ABSENT]
        y = graph.tensors[node.outputs[0]].shape
        images = all(t.shape[:1] == batch for t in operands if t.data is None)
        rule = f"{node.name}/{node.op}: must treat axis 0 as {batch[0]} independent images"
        if not images or y[:1] != batch or _crosses_images(node, operands, y):
            return rule
        if _blocks_cross_images(graph, node, y):
            return f"{rule}, got blocks across them: {stated(graph, node)}"
    return None


def _crosses_images(node: Node, operands: list[Tensor], y: Shape) -> bool:
    """Whether the operator itself computes across axis 0, or moves it."""
    match node.op:
        case "add" | "mul":
            return any(_varies_by_image(t, len(y)) for t in operands)
        case "mean":
            return 0 in node.attributes["axes"]
        case "pad":
            return node.attributes["padding"][0] != (0, 0)
        case "transpose":
            return node.attributes["permutation"][0] != 0
        case "softmax":
            return len(y) == 1
        case "fully_connected":
            return node.attributes["keep_dims"] and len(y) == 1
    return False


_IN_ONE_ROW = ("quantize", "dequantize", "add")
"""Operators that may walk over a tensor as one row, through all images of a batch."""


def _blocks_cross_images(graph: Graph, node: Node, y: Shape) -> bool:
    """Whether elements are rounded by their place in blocks that end in the next image."""
    a, size = arithmetic(graph, node) if node.op in _IN_ONE_ROW else None, math.prod(y[1:])
    if a is None or a.rule != "add_x86":
        return a is not None and size % a.block != 0
    left, right = (graph.tensors[i].shape for i in node.inputs)
    row = innermost_row(left, right)
    return row.length > size and size % ADD_X86.get(row.moves, TWICE).block != 0


def _varies_by_image(operand: Tensor, rank: int) -> bool:
    """Whether an operand of a broadcast has its axis 0 elsewhere, or is a constant along it."""
    if operand.data is None:
        return len(operand.shape) != rank
    return len(operand.shape) == rank and operand.shape[0] != 1
