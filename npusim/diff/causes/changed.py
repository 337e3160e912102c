"""The node itself, changed: run with other padding, bias, weights, scales, activation.

Where a changed node gives the very codes that were found, that change is the cause.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ...affine import quantization, zero_point
from ...graph import ABSENT, Graph, Node, Quantization, Tensor
from ...headroom import WEIGHTED
from ...neural_art.stored import underived
from ...shapes import window_2d
from ..case import SIMULATED, Alone, Case, Explanation
from ..ideal import windows
from ..replay import Part

WINDOWED = ("conv2d", "depthwise_conv2d", "average_pool2d", "max_pool2d")
ACTIVATIONS = ("none", "relu", "relu6", "relu_n1_to_1")
PAD_CODES = (0, -128, 127)


class Change(NamedTuple):
    """One way to change a node."""

    kind: str
    sentence: str
    part: Part


def changed(case: Case) -> Iterator[Explanation]:
    """Explanations by a changed node."""
    if case.alone is None:
        return
    part = case.alone.part
    for change in _changes(part):
        actual = case.alone.run(change.part)
        if actual is not None and actual.shape == case.actual.shape:
            consistent = actual == case.actual
            yield Explanation(change.kind, change.sentence, "", consistent, SIMULATED)
    yield from _other_padding_codes(case, part)
    yield from _counted_padding(case, part)


def _changes(part: Part) -> Iterator[Change]:
    node = part.last
    if node.op in WINDOWED:
        yield from _paddings(part)
        yield from _exchanged(part)
    if node.op in WEIGHTED:
        yield from _weights(part)
        yield from _one_scale(part)
        yield from _biases(part)
    if "activation" in node.attributes:
        yield from _activations(part)
    yield from _zero_points(part)
    if node.op in ("add", "mul"):
        yield from _operand_scales(part)


def _paddings(part: Part) -> Iterator[Change]:
    """The same number of padded cells on the other side, or as many on each."""
    graph, node = part.graph, part.last
    top, bottom, left, right = _padding(graph, node)
    rows, columns = (top + bottom + 1) // 2, (left + right + 1) // 2
    ways = {
        "exchanged: top with bottom, left with right": (bottom, top, right, left),
        "symmetric": (rows, rows, columns, columns),
        "absent: the image starts at the edge": (0, top + bottom, 0, left + right),
    }
    for name, padding in ways.items():
        if padding != (top, bottom, left, right):
            yield Change("padding", f"padding is {name}", _with(part, padding=padding))


def _padding(graph: Graph, node: Node) -> tuple[int, int, int, int]:
    """Cells that are padded: top, bottom, left, right."""
    _, h, w, _ = graph.tensors[node.inputs[0]].shape
    kernel = _kernel(graph, node)
    (oh, top), (ow, left) = window_2d(node.attributes, h, w, kernel)
    stride = node.attributes["stride"]
    dilation = node.attributes.get("dilation", (1, 1))
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilation, strict=True)]
    bottom = max((oh - 1) * stride[0] + reach[0] - top - h, 0)
    right = max((ow - 1) * stride[1] + reach[1] - left - w, 0)
    return top, bottom, left, right


def _kernel(graph: Graph, node: Node) -> tuple[int, int]:
    if node.op in WEIGHTED:
        _, kh, kw, _ = graph.tensors[node.inputs[1]].shape
        return kh, kw
    kh, kw = node.attributes["kernel"]
    return kh, kw


def _exchanged(part: Part) -> Iterator[Change]:
    """Height for width."""
    h, w = part.last.attributes.get("dilation", (1, 1))
    if h != w:
        sentence = f"dilation {h}x{w} is taken as {w}x{h}"
        yield Change("dilation", sentence, _with(part, dilation=(w, h)))


def _weights(part: Part) -> Iterator[Change]:
    """Kernels turned or transposed."""
    weights = _tensor(part, 1)
    assert weights.data is not None
    if weights.data.ndim != 4:
        return
    turned = weights.data[:, ::-1, ::-1]
    yield Change("weights", "kernels are turned by 180 degrees", _constant(part, 1, turned))
    if weights.shape[1] == weights.shape[2] > 1:
        across = weights.data.swapaxes(1, 2)
        sentence = "rows and columns of the kernels are exchanged"
        yield Change("weights", sentence, _constant(part, 1, across))


def _one_scale(part: Part) -> Iterator[Change]:
    """A scale per tensor where the weights have one per channel."""
    weights = _tensor(part, 1)
    q = quantization(weights)
    if q.scale.size == 1 or "multiplier" in part.last.given:
        return
    for name, value in (("first", q.scale[0]), ("largest", q.scale.max())):
        scales = np.full_like(q.scale, value)
        other = replace(weights, quantization=Quantization(scales, q.zero_point, q.axis))
        sentence = f"the {name} channel's weight scale is used for all channels"
        yield Change("scale", sentence, _tensors(part, {part.last.inputs[1]: other}))


def _biases(part: Part) -> Iterator[Change]:
    if len(part.last.inputs) < 3 or part.last.inputs[2] == ABSENT:
        return
    zeros = np.zeros(_tensor(part, 2).shape, np.int32)
    yield Change("bias", "the bias is not added", _constant(part, 2, zeros))


def _activations(part: Part) -> Iterator[Change]:
    own = part.last.attributes["activation"]
    for name in ACTIVATIONS:
        if name == own:
            continue
        sentence = f"activation is {name}, not {own}"
        if name == "none":
            sentence = f"the fused {own} is not applied"
        yield Change("clamp", sentence, _with(part, activation=name))


def _zero_points(part: Part) -> Iterator[Change]:
    """Zero points taken as 0."""
    for i in dict.fromkeys((*part.graph.inputs, *part.last.outputs)):
        tensor = part.graph.tensors[i]
        if tensor.quantization is None or not zero_point(tensor):
            continue
        q = Quantization(tensor.quantization.scale, np.zeros(1, np.int64))
        other = replace(tensor, quantization=q)
        verb = "added to the output" if tensor.kind == "activation" else "subtracted from the input"
        sentence = f"the zero point {zero_point(tensor)} is not {verb}"
        yield Change("zero point", sentence, _tensors(part, {i: other}))


def _operand_scales(part: Part) -> Iterator[Change]:
    """The quantisation of one operand taken for the other's."""
    a, b = part.last.inputs
    left, right = part.graph.tensors[a], part.graph.tensors[b]
    if left.quantization == right.quantization:
        return
    exchanged = {
        a: replace(left, quantization=right.quantization),
        b: replace(right, quantization=left.quantization),
    }
    sentence = "scales and zero points of the two operands are exchanged"
    yield Change("scale", sentence, _tensors(part, exchanged))


def _other_padding_codes(case: Case, part: Part) -> Iterator[Explanation]:
    """The padding filled with a fixed code where it should be the zero point."""
    node = part.last
    if node.op not in ("conv2d", "depthwise_conv2d"):
        return
    assert case.alone is not None
    x = part.graph.tensors[node.inputs[0]]
    top, bottom, left, right = _padding(part.graph, node)
    if not any((top, bottom, left, right)):
        return
    n, h, w, c = x.shape
    larger = replace(x, shape=(n, h + top + bottom, w + left + right, c))
    valid = _with(_tensors(part, {node.inputs[0]: larger}), padding="valid")
    for code in PAD_CODES:
        if code == zero_point(x):
            continue
        cells = ((0, 0), (top, bottom), (left, right), (0, 0))
        field = np.pad(case.alone.inputs[x.name], cells, constant_values=code)
        predicted = Alone(valid, {x.name: field}).run(valid)
        if predicted is None or predicted.shape != case.actual.shape:
            continue
        sentence = f"padding holds the code {code}, not the zero point {zero_point(x)}"
        yield Explanation("padding", sentence, "", predicted == case.actual, SIMULATED)


def _counted_padding(case: Case, part: Part) -> Iterator[Explanation]:
    """An average that counts the padding's cells."""
    node = part.last
    if node.op != "average_pool2d" or not any(_padding(part.graph, node)):
        return
    assert case.alone is not None
    x = part.graph.tensors[node.inputs[0]]
    zero, kernel = zero_point(x), node.attributes["kernel"]
    sums = windows(node, case.alone.inputs[x.name].astype(np.float64) - zero)
    ideal = case.alone.ideal
    if ideal is None:
        return
    steps = sums / (kernel[0] * kernel[1])
    near = np.abs(np.clip(steps + zero, ideal.low, ideal.high) - case.actual) <= 0.5
    yield Explanation("padding", "the average counts the padding's cells", "", near, SIMULATED)


def _tensor(part: Part, operand: int) -> Tensor:
    return part.graph.tensors[part.last.inputs[operand]]


def _with(part: Part, **attributes: Any) -> Part:
    """The part with other attributes of its node."""
    node = replace(part.last, attributes={**part.last.attributes, **attributes})
    return Part(replace(part.graph, nodes=(node,)))


def _constant(part: Part, operand: int, data: np.ndarray) -> Part:
    """The part with other values of an operand."""
    tensor = replace(_tensor(part, operand), data=data)
    return _tensors(part, {part.last.inputs[operand]: tensor})


def _tensors(part: Part, others: Mapping[int, Tensor]) -> Part:
    """The part with other tensors; what followed from their scales follows from the new ones."""
    tensors = tuple(others.get(i, t) for i, t in enumerate(part.graph.tensors))
    nodes = tuple(map(underived, part.graph.nodes))
    return Part(replace(part.graph, tensors=tensors, nodes=nodes))
