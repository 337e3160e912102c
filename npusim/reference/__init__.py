"""The specification as a program: every operator in NumPy int64, and a graph walked node by node.

One function per operator, named as the operator, taking the structs the compiled kernels take.
Nothing here is compiled; it answers for the kernels in tests and runs where numba cannot.
"""

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from ..affine import zero_point
from ..graph import ABSENT, Graph, Node, Tensor
from ..headroom import AccumulatorError, accumulator_of, overflow_message
from ..kernels.structs import (
    OVERFLOW,
    Accumulation,
    Add,
    AddXnnpack,
    Mean,
    MeanXnnpack,
    NeuralArtAdd,
    NeuralArtMean,
    Quantize,
    Rescale,
    RescaleXnnpack,
    Softmax,
    SoftmaxX86,
)
from ..neural_art.stored import on_hardware
from . import neural_art
from .elementwise import add, mul, rescale
from .layout import pad, reshape, transpose
from .mean import mean
from .pool import average_pool2d, max_pool2d
from .quantize import dequantize, quantize
from .softmax import softmax
from .softmax_x86 import softmax_x86
from .weighted import conv2d, depthwise_conv2d, fully_connected
from .xnnpack import add_xnnpack, mean_xnnpack, rescale_xnnpack

__all__ = [
    "accumulation",
    "add",
    "add_xnnpack",
    "average_pool2d",
    "conv2d",
    "depthwise_conv2d",
    "dequantize",
    "execute",
    "fully_connected",
    "max_pool2d",
    "mean",
    "mean_xnnpack",
    "mul",
    "pad",
    "quantize",
    "rescale",
    "rescale_xnnpack",
    "reshape",
    "softmax",
    "softmax_x86",
    "transpose",
]

Values = MutableMapping[int, np.ndarray]
Structs = tuple[Any, ...]

_WEIGHTED: Mapping[str, Callable[..., np.ndarray]] = {
    "conv2d": conv2d,
    "depthwise_conv2d": depthwise_conv2d,
    "fully_connected": fully_connected,
}
_PLAIN: Mapping[str, Callable[..., np.ndarray]] = {
    "mul": mul,
    "average_pool2d": average_pool2d,
    "max_pool2d": max_pool2d,
}
_BY_STRUCT: Mapping[type, Callable[..., np.ndarray]] = {
    Add: add,
    AddXnnpack: add_xnnpack,
    Mean: mean,
    MeanXnnpack: mean_xnnpack,
    NeuralArtAdd: neural_art.add,
    NeuralArtMean: neural_art.mean,
    Quantize: quantize,
    Rescale: rescale,
    RescaleXnnpack: rescale_xnnpack,
    Softmax: softmax,
    SoftmaxX86: softmax_x86,
}
"""Operators with more than one arithmetic: the first struct says which."""
_MIXES_IMAGES = ("add", "mul", "mean", "pad", "transpose")


def execute(
    graph: Graph,
    nodes: Iterable[int],
    bound: Sequence[Structs],
    values: Values,
) -> None:
    """Run nodes one after the other.

    nodes         indices into graph.nodes, in order
    bound         `parameters.bind` of every node of the graph; its arrays are read at this moment
    values        tensor index -> array; constants and inputs are there already, every output is
                  stored. Activations hold one batch of the graph or several, along axis 0
    raises        ArithmeticError when the accumulator's overflow is "error" and a sum leaves it
    """
    for index in nodes:
        node = graph.nodes[index]
        inputs = [values[i] for i in node.inputs if i != ABSENT]
        try:
            values[node.outputs[0]] = _run(graph, node, bound[index], inputs)
        except AccumulatorError as overflow:
            raise ArithmeticError(overflow_message(graph, node, overflow)) from None


def accumulation(graph: Graph, node: Node) -> Accumulation | None:
    """The accumulator a weighted node runs with; None for 32 bits that wrap."""
    chosen = accumulator_of(graph, node)
    if (chosen.bits, chosen.overflow) == (32, "wrap"):
        return None
    return Accumulation(chosen.bits, OVERFLOW[chosen.overflow])


def _run(graph: Graph, node: Node, structs: Structs, inputs: list[np.ndarray]) -> np.ndarray:
    if node.op in _WEIGHTED:
        x, weights = inputs[:2]
        if on_hardware(graph, node):
            return _stacked(graph, node, neural_art.FUNCTIONS[node.op](x, weights, *structs))
        bias = inputs[2].reshape(-1) if len(inputs) > 2 else np.zeros(structs[1].shift.shape, int)
        a = accumulation(graph, node)
        return _stacked(graph, node, _WEIGHTED[node.op](x, weights, bias, *structs, a))
    if node.op in _MIXES_IMAGES or _has_blocks(structs):
        return _image_by_image(graph, node, structs, inputs)
    return _unweighted(graph, node, structs, inputs)


def _image_by_image(
    graph: Graph, node: Node, structs: Structs, inputs: list[np.ndarray]
) -> np.ndarray:
    """Operators that may touch axis 0: each batch by itself; constants serve every batch."""
    tensors = [graph.tensors[i] for i in node.inputs]
    counts = [
        len(x) // (t.shape[0] if t.shape else 1)
        for x, t in zip(inputs, tensors, strict=True)
        if t.data is None
    ]
    count = max([1, *counts])
    parts = [
        np.split(x, count) if t.data is None else [x] * count
        for x, t in zip(inputs, tensors, strict=True)
    ]
    batches = [_unweighted(graph, node, structs, list(p)) for p in zip(*parts, strict=True)]
    return np.concatenate([np.atleast_1d(y) for y in batches])


def _has_blocks(structs: Structs) -> bool:
    """Whether the place of an element in its image decides how it is rounded."""
    return any(s.rounding.block > 1 for s in structs if hasattr(s, "rounding"))


def _stacked(graph: Graph, node: Node, y: np.ndarray) -> np.ndarray:
    """y under the shape of the node's output, axis 0 as long as needed."""
    return y.reshape(-1, *graph.tensors[node.outputs[0]].shape[1:])


def _unweighted(graph: Graph, node: Node, structs: Structs, inputs: list[np.ndarray]) -> np.ndarray:
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    attributes: Mapping[str, Any] = node.attributes
    match node.op:
        case "mean":
            axes, keep_dims = attributes["axes"], attributes["keep_dims"]
            return _BY_STRUCT[type(structs[0])](inputs[0], axes, *structs, keep_dims)
        case "pad":
            return pad(inputs[0], attributes["padding"], _zero_point(x))
        case "transpose":
            return transpose(inputs[0], attributes["permutation"])
        case "reshape":
            return _stacked(graph, node, inputs[0])
        case "dequantize":
            return dequantize(inputs[0], *structs)
        case "quantize" | "relu" | "relu6":
            return _BY_STRUCT[type(structs[0])](inputs[0], *structs, y.dtype)
        case "add" | "softmax":
            return _BY_STRUCT[type(structs[0])](*inputs, *structs)
    return _PLAIN[node.op](*inputs, *structs)


def _zero_point(tensor: Tensor) -> int:
    """The code of the real number 0."""
    return 0 if tensor.quantization is None else zero_point(tensor)
