"""A float graph for images of another size: every shape follows from the input's."""

from dataclasses import replace

from ..graph import Graph, ModelError
from .legal import check_floats, float_shape


def with_input_size(graph: Graph, size: tuple[int, int]) -> Graph:
    """The graph for images of (height, width).

    raises   ModelError when the input is no image, or naming the node that the size does not fit
    """
    x = graph.inputs[0]
    shape = graph.tensors[x].shape
    if len(shape) != 4:
        raise ModelError(f"input_size: graph must have an image input of rank 4, got {shape}")
    tensors = list(graph.tensors)
    tensors[x] = replace(tensors[x], shape=(shape[0], *size, shape[3]))
    for node in graph.nodes:
        found = float_shape(replace(graph, tensors=tuple(tensors)), node)
        y = node.outputs[0]
        tensors[y] = replace(tensors[y], shape=found)
    derived = replace(graph, tensors=tuple(tensors))
    try:
        check_floats(derived)
    except ModelError as error:
        raise ModelError(f"input_size {size[0]}x{size[1]}: {error}") from error
    return derived
