"""Shapes: what every operator makes of its inputs' shapes, and padding in cells.

The same functions check a loaded graph, resize it and change its batch.
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from .graph import Graph, ModelError, Node
from .plurals import counted

Shape = tuple[int, ...]
Attributes = Mapping[str, Any]


def window(size: int, kernel: int, stride: int, dilation: int, padding: Any) -> tuple[int, int]:
    """Output length and cells padded before, along one dimension.

    padding   "same", "valid" or (before, after)
    SAME pads the extra cell after; its kernel length is the dilated one.
    """
    reach = (kernel - 1) * dilation + 1
    if padding == "same":
        out = -(-size // stride)
        return out, max((out - 1) * stride + reach - size, 0) // 2
    before, after = (0, 0) if padding == "valid" else padding
    return (size + before + after - reach) // stride + 1, before


def window_2d(
    attributes: Attributes, height: int, width: int, kernel: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """((OH, pad_top), (OW, pad_left)) of a convolution or pool with these attributes."""
    stride_h, stride_w = attributes["stride"]
    dilation_h, dilation_w = attributes.get("dilation", (1, 1))
    padding = attributes["padding"]
    rows, columns = padding, padding
    if isinstance(padding, tuple):
        top, bottom, left, right = padding
        rows, columns = (top, bottom), (left, right)
    return (
        window(height, kernel[0], stride_h, dilation_h, rows),
        window(width, kernel[1], stride_w, dilation_w, columns),
    )


def broadcast(a: Shape, b: Shape) -> Shape:
    """The shape of an elementwise result; ValueError where two lengths differ and none is 1."""
    rank = max(len(a), len(b))
    padded = [(1,) * (rank - len(s)) + s for s in (a, b)]
    out = []
    for left, right in zip(*padded, strict=True):
        if left != right and 1 not in (left, right):
            raise ValueError(f"shapes must broadcast, got {a} and {b}")
        out.append(right if left == 1 else left)
    return tuple(out)


def _conv2d(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    x, weights = shapes[0], shapes[1]
    (oh, _), (ow, _) = window_2d(attributes, x[1], x[2], (weights[1], weights[2]))
    return (x[0], oh, ow, weights[0])


def _depthwise_conv2d(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    x, weights = shapes[0], shapes[1]
    (oh, _), (ow, _) = window_2d(attributes, x[1], x[2], (weights[1], weights[2]))
    return (x[0], oh, ow, weights[3])


def _fully_connected(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    x, weights = shapes[0], shapes[1]
    if attributes.get("keep_dims", False):
        return (*x[:-1], weights[0])
    return (prod(x) // weights[1], weights[0])


def _pool2d(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    n, h, w, c = shapes[0]
    kernel = attributes["kernel"]
    (oh, _), (ow, _) = window_2d(attributes, h, w, kernel)
    return (n, oh, ow, c)


def _mean(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    axes = attributes["axes"]
    if attributes["keep_dims"]:
        return tuple(1 if i in axes else d for i, d in enumerate(shapes[0]))
    return tuple(d for i, d in enumerate(shapes[0]) if i not in axes)


def _pad(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    padding = attributes["padding"]
    pairs = zip(shapes[0], padding, strict=True)
    return tuple(d + before + after for d, (before, after) in pairs)


def _reshape(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    wanted = attributes["shape"]
    known = prod(d for d in wanted if d != -1)
    total = prod(shapes[0])
    out = tuple(total // known if d == -1 and known else d for d in wanted)
    if prod(out) != total:
        raise ValueError(f"shape must hold {counted(total, 'element')}, got {wanted}")
    return out


def _transpose(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    permutation = attributes["permutation"]
    return tuple(shapes[0][axis] for axis in permutation)


def _elementwise(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    return broadcast(shapes[0], shapes[1])


def _unary(shapes: Sequence[Shape], attributes: Attributes) -> Shape:
    return shapes[0]


OUTPUT_SHAPE: Mapping[str, Callable[[Sequence[Shape], Attributes], Shape]] = {
    "conv2d": _conv2d,
    "depthwise_conv2d": _depthwise_conv2d,
    "fully_connected": _fully_connected,
    "add": _elementwise,
    "mul": _elementwise,
    "average_pool2d": _pool2d,
    "max_pool2d": _pool2d,
    "mean": _mean,
    "pad": _pad,
    "reshape": _reshape,
    "transpose": _transpose,
    "softmax": _unary,
    "quantize": _unary,
    "dequantize": _unary,
    "relu": _unary,
    "relu6": _unary,
}


def output_shape(graph: Graph, node: Node, shapes: Mapping[int, Shape] | None = None) -> Shape:
    """Shape of the node's first output.

    shapes   overrides of tensor shapes by index; the graph's own otherwise
    raises   ModelError when the shapes do not fit the operator
    """
    overrides = shapes or {}
    inputs = [overrides.get(i, graph.tensors[i].shape) for i in node.inputs if i >= 0]
    try:
        out = OUTPUT_SHAPE[node.op](inputs, node.attributes)
    except (ValueError, IndexError, ZeroDivisionError) as error:
        raise ModelError(f"{node.name}/{node.op}: {error}") from error
    if any(d < 1 for d in out):
        raise ModelError(
            f"{node.name}/{node.op}: the kernel must fit into the padded input, "
            f"got input {inputs[0]} and output {out}"
        )
    return out
