"""Cross-layer equalisation: channels brought to like ranges, before one scale spans them all.

    W1'[c] = s[c] W1[c],   bias1'[c] = s[c] bias1[c],   W2'[.., c] = W2[.., c] / s[c]

computes what W1 and W2 do, as operators between them commute with s > 0. Tensors that additions,
pools and means tie together share one s. Per group

    s[c] = (limit / peak[c])^a,   a in 0, 1/8, .. 1

with the a of least expected noise in what reads the group: rounding of activations, which falls
with a, and of weights, whose largest grows with it. A ReLU6 stays what it is on values that
calibration saw: its limit is 6, so s >= 1 and s peak <= 6.
Source: Nagel et al., Data-Free Quantization through Weight Equalization and Bias Correction
(arXiv 1906.04721), there for weights of one scale.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from ..floats import trace
from ..floats.operators import WEIGHTED
from ..graph import Graph, Node

EXPONENTS = np.linspace(0.0, 1.0, 9)
LARGEST = 256.0
"""A channel is scaled by this much at most."""
MARGIN = 1.5
"""Room above what calibration saw, in channels that are scaled."""
CEILING = {"relu6": 6.0, "relu_n1_to_1": 1.0}
TIED = ("add", "max_pool2d", "average_pool2d", "mean", "pad", "relu", "relu6")


class Span(NamedTuple):
    """What the channels of one tensor held: float64 (C,) each.

    peak    largest magnitude
    power   mean square
    """

    peak: np.ndarray
    power: np.ndarray


def spans(graph: Graph, batches: Iterable[np.ndarray], seen: Callable[[], None]) -> dict[int, Span]:
    """By the tensors' indices, of the input and of every activation; `seen` after each batch."""
    index = {t.name: i for i, t in enumerate(graph.tensors)}
    found: dict[int, Span] = {}
    total = 0
    for batch in batches:
        total += len(batch)
        for name, y in trace(graph, batch):
            rows = y.reshape(-1, y.shape[-1])
            power = np.square(rows, dtype=np.float64).mean(0) * len(batch)
            new = Span(np.abs(rows).max(0).astype(np.float64), power)
            old = found.get(index[name], new._replace(power=np.zeros_like(power)))
            found[index[name]] = Span(np.maximum(old.peak, new.peak), old.power + power)
        seen()
    return {i: s._replace(power=s.power / total) for i, s in found.items()}


def equalized(graph: Graph, found: Mapping[int, Span]) -> Graph:
    """The graph with scaled weights and biases; what it gives out is what it was.

    graph   float, without batch norms, every weighted node with a bias
    """
    scales: dict[int, np.ndarray] = {}
    for members in _groups(graph):
        scale = _best(graph, members, found)
        if scale is not None:
            scales.update(dict.fromkeys(members, scale))
    data: dict[int, np.ndarray] = {}
    for node in graph.nodes:
        if node.op in WEIGHTED:
            data.update(_scaled(graph, node, scales))
    tensors = (replace(t, data=data[i]) if i in data else t for i, t in enumerate(graph.tensors))
    return replace(graph, tensors=tuple(tensors))


def _groups(graph: Graph) -> list[list[int]]:
    """Activations that share their channels' scales; without those that must stay as they are."""
    group = {i: [i] for i, t in enumerate(graph.tensors) if t.data is None}
    fixed = {*graph.inputs, *graph.outputs}
    for node in graph.nodes:
        ends = [i for i in (*node.inputs, *node.outputs) if i in group]
        if node.op in WEIGHTED:
            if _flattens(graph, node):
                fixed.add(node.inputs[0])
            continue
        if node.op not in TIED or not _keeps_channels(graph, node, ends):
            fixed.update(ends)
            continue
        joined = list(dict.fromkeys(i for end in ends for i in group[end]))
        group.update(dict.fromkeys(joined, joined))
    unique = {id(members): members for members in group.values()}.values()
    return [members for members in unique if fixed.isdisjoint(members)]


def _flattens(graph: Graph, node: Node) -> bool:
    """Whether a weight belongs to a place and not to a channel."""
    x, w = (graph.tensors[i].shape for i in node.inputs[:2])
    return node.op == "fully_connected" and x[-1] != w[-1]


def _keeps_channels(graph: Graph, node: Node, ends: list[int]) -> bool:
    """Whether channel c of the output depends on channel c of the inputs alone, whole tensors."""
    channels = {graph.tensors[i].shape[-1] for i in ends}
    rank = len(graph.tensors[node.inputs[0]].shape)
    padded = node.attributes.get("padding") if node.op == "pad" else None
    return (
        len(channels) == 1
        and all(i in ends for i in node.inputs)
        and rank - 1 not in node.attributes.get("axes", ())
        and (padded is None or padded[-1] == (0, 0))
    )


def _best(graph: Graph, members: list[int], found: Mapping[int, Span]) -> np.ndarray | None:
    """s of a group; None where nothing reads it through weights."""
    readers = [n for n in graph.nodes if n.op in WEIGHTED and n.inputs[0] in members]
    writers = [n for n in graph.nodes if n.outputs[0] in members]
    if not readers:
        return None
    peak = np.max([found[i].peak for i in members], axis=0)
    ceilings = [CEILING[kind] for n in writers if (kind := _activation(n)) in CEILING]
    limit = min(ceilings, default=peak.max())
    if not limit:
        return None
    ratio = np.clip(limit / np.maximum(MARGIN * peak, limit / LARGEST), 1.0, LARGEST)
    tries = [ratio**a for a in EXPONENTS]
    noise = [sum(_noise(graph, n, s, members, found) for n in readers) for s in tries]
    return tries[int(np.argmin(noise))]


def _activation(node: Node) -> str:
    return node.op if node.op in CEILING else str(node.attributes.get("activation", "none"))


def _noise(
    graph: Graph, node: Node, s: np.ndarray, members: list[int], found: Mapping[int, Span]
) -> float:
    """Expected noise of a reader's outputs, each as a part of its signal, in the mean."""
    w = np.square(_by_input(graph, node) / s)  # (O, K, C): columns of channels a row reads
    power = found[node.inputs[0]].power * s**2
    step = sum((found[i].peak * s).max() ** 2 for i in members) / 255**2
    rounded_x = w.sum((1, 2)) * step
    reads = (w > 0).any(1)
    rounded_w = w.max((1, 2)) / 127**2 * (reads * power).sum(1) * w.shape[1]
    signal = (w.sum(1) * power).sum(1)
    return float(((rounded_x + rounded_w) / np.maximum(signal, 1e-30)).mean())


def _by_input(graph: Graph, node: Node) -> np.ndarray:
    """Weights as (O, K, C): zero where an output does not read a channel."""
    w, channels = _values(graph, node.inputs[1]), graph.tensors[node.inputs[0]].shape[-1]
    if node.op == "depthwise_conv2d":
        outputs = w.shape[3]
        full = np.zeros((outputs, w.shape[1] * w.shape[2], channels))
        places = np.arange(outputs)
        full[places, :, places // (outputs // channels)] = w.reshape(-1, outputs).T
        return full
    rows = w.reshape(len(w), -1, w.shape[-1])
    groups = channels // w.shape[-1]
    if groups == 1:
        return rows.astype(np.float64)
    full = np.zeros((len(w), rows.shape[1], channels))
    for group, part in enumerate(np.split(np.arange(len(w)), groups)):
        full[part, :, group * w.shape[-1] : (group + 1) * w.shape[-1]] = rows[part]
    return full


def _scaled(graph: Graph, node: Node, scales: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """A weighted node's constants, in float64, rounded once."""
    w, bias = (_values(graph, i).astype(np.float64) for i in node.inputs[1:3])
    x, y = scales.get(node.inputs[0]), scales.get(node.outputs[0])
    depthwise = node.op == "depthwise_conv2d"
    if x is not None:
        if depthwise:
            w = w / np.repeat(x, w.shape[3] // len(x))
        else:
            groups = len(x) // w.shape[-1]
            own = np.repeat(x.reshape(groups, -1), len(w) // groups, axis=0)
            w = w / own.reshape(len(w), *(1,) * (w.ndim - 2), -1)
    if y is not None:
        w = w * (y if depthwise else y.reshape(-1, *(1,) * (w.ndim - 1)))
        bias = bias * y
    pairs = zip(node.inputs[1:3], (w, bias), strict=True)
    return {i: values.astype(np.float32) for i, values in pairs}


def _values(graph: Graph, index: int) -> np.ndarray:
    data = graph.tensors[index].data
    assert data is not None
    return data
