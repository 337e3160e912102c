"""The specification as a program: every operator in NumPy int64, and a graph walked node by node.

One function per operator, named as the operator, taking the structs the compiled kernels take.
Nothing here is compiled; it answers for the kernels in tests and runs where numba cannot.
"""

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import Any

import numpy as np

from ..graph import ABSENT, Graph, Node, Tensor
from ..headroom import AccumulatorError, accumulator, overflow_message
from ..kernels.structs import OVERFLOW, Accumulation, NeuralArtAdd, NeuralArtMean
from ..neural_art.stored import on_hardware
from ..parameters import scale, zero_point
from . import neural_art
from .elementwise import add, mul, rescale
from .layout import pad, reshape, transpose
from .mean import mean
from .pool import average_pool2d, max_pool2d
from .quantize import dequantize, quantize
from .softmax import softmax
from .weighted import conv2d, depthwise_conv2d, fully_connected

__all__ = [
    "accumulation",
    "add",
    "average_pool2d",
    "conv2d",
    "depthwise_conv2d",
    "dequantize",
    "execute",
    "fully_connected",
    "max_pool2d",
    "mean",
    "mul",
    "pad",
    "quantize",
    "rescale",
    "reshape",
    "softmax",
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
    "add": add,
    "mul": mul,
    "average_pool2d": average_pool2d,
    "max_pool2d": max_pool2d,
    "softmax": softmax,
}
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
    a = accumulation(graph)
    for index in nodes:
        node = graph.nodes[index]
        inputs = [values[i] for i in node.inputs if i != ABSENT]
        try:
            values[node.outputs[0]] = _run(graph, node, bound[index], inputs, a)
        except AccumulatorError as overflow:
            raise ArithmeticError(overflow_message(graph, node, overflow)) from None


def accumulation(graph: Graph) -> Accumulation | None:
    """The accumulator a graph runs with; None for 32 bits that wrap."""
    chosen = accumulator(graph)
    if (chosen.bits, chosen.overflow) == (32, "wrap"):
        return None
    return Accumulation(chosen.bits, OVERFLOW[chosen.overflow])


def _run(
    graph: Graph, node: Node, structs: Structs, inputs: list[np.ndarray], a: Accumulation | None
) -> np.ndarray:
    if node.op in _WEIGHTED:
        x, weights = inputs[:2]
        if on_hardware(graph, node):
            return _stacked(graph, node, neural_art.FUNCTIONS[node.op](x, weights, *structs))
        bias = inputs[2].reshape(-1) if len(inputs) > 2 else np.zeros(structs[1].shift.shape, int)
        return _stacked(graph, node, _WEIGHTED[node.op](x, weights, bias, *structs, a))
    if node.op in _MIXES_IMAGES:
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


def _stacked(graph: Graph, node: Node, y: np.ndarray) -> np.ndarray:
    """y under the shape of the node's output, axis 0 as long as needed."""
    return y.reshape(-1, *graph.tensors[node.outputs[0]].shape[1:])


def _unweighted(graph: Graph, node: Node, structs: Structs, inputs: list[np.ndarray]) -> np.ndarray:
    x, y = graph.tensors[node.inputs[0]], graph.tensors[node.outputs[0]]
    if structs and isinstance(structs[0], NeuralArtAdd):
        return neural_art.add(inputs[0], inputs[1], structs[0])
    attributes: Mapping[str, Any] = node.attributes
    match node.op:
        case "mean":
            over = neural_art.mean if isinstance(structs[0], NeuralArtMean) else mean
            return over(inputs[0], attributes["axes"], structs[0], attributes["keep_dims"])
        case "pad":
            return pad(inputs[0], attributes["padding"], _zero_point(x))
        case "transpose":
            return transpose(inputs[0], attributes["permutation"])
        case "reshape":
            return _stacked(graph, node, inputs[0])
        case "dequantize":
            return dequantize(inputs[0], scale(x), zero_point(x))
        case "quantize" if not structs:
            return quantize(inputs[0], scale(y), zero_point(y), y.dtype)
        case "quantize" | "relu" | "relu6":
            return rescale(inputs[0], structs[0], y.dtype)
    return _PLAIN[node.op](*inputs, *structs)


def _zero_point(tensor: Tensor) -> int:
    """The code of the real number 0."""
    return 0 if tensor.quantization is None else zero_point(tensor)
