"""An int8 network beside the float network it was made from, node by node.

    SQNR = 10 log10(sum f^2 / sum (f - y)^2)    f float, y int8 made real, over images and elements

`sqnr` is of the network as it runs, with all that earlier nodes did. `own` is of the node alone:
its inputs are the float network's, rounded to the codes' grid, its weights are those of the codes,
its bias is the float network's.
The node's noise is 10^(-own / 10), a part of its signal; those that make half of all noise hurt.
"""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import numpy as np

from .affine import quantization
from .calibrate.scales import output_axis, simulated, spread
from .engine import Session
from .floats.operators import WEIGHTED, activated, linear
from .floats.run import operands
from .graph import Graph, Node, Tensor
from .progress import Progress

BATCH = 32


class LayerError(NamedTuple):
    """One node: errors in dB and as the cosine between float and int8 output.

    sqnr, own   None where float and int8 are equal, or the float output is 0 throughout
    hurts       whether it is among the fewest nodes that make half of all nodes' noise
    """

    node: str
    op: str
    output: str
    sqnr: float | None
    cosine: float | None
    own: float | None
    hurts: bool


class _Sums(NamedTuple):
    """Over all elements: float squared, int8 squared, product, error squared, own error squared."""

    signal: float = 0.0
    power: float = 0.0
    product: float = 0.0
    error: float = 0.0
    own: float = 0.0


def layer_errors(
    floats: Graph,
    int8: Graph,
    images: np.ndarray,
    threads: int | None = None,
    progress: Progress | None = None,
) -> tuple[LayerError, ...]:
    """Errors of every node, in order.

    floats     the float graph, batch norms folded, tensors called as those of `int8`
    int8       what `calibrate.quantize_graph` made of it
    images     (N, ..) real
    progress   called with images done and in all
    """
    session = Session(int8, threads=threads)
    sums = {node.name: _Sums() for node in int8.nodes}
    for start in range(0, len(images), BATCH):
        batch = np.asarray(images[start : start + BATCH], np.float32)
        codes = session.trace(batch)
        real = {name: made_real(y, int8.tensor(name)) for name, y in codes}
        for node, exact, alone in _lockstep(floats, int8, batch):
            y = real[floats.tensors[node.outputs[0]].name]
            sums[node.name] = _added(sums[node.name], exact, y, alone)
        if progress is not None:
            progress(start + len(batch), len(images))
    hurting = _hurting(sums)
    return tuple(_layer(int8, node, sums[node.name], node.name in hurting) for node in int8.nodes)


def made_real(codes: np.ndarray, tensor: Tensor) -> np.ndarray:
    """The real numbers that a per-tensor quantised tensor's codes stand for, float32."""
    q = quantization(tensor)
    return (codes.astype(np.float32) - np.float32(q.zero_point[0])) * q.scale[0]


def _lockstep(
    floats: Graph, int8: Graph, batch: np.ndarray
) -> Iterator[tuple[Node, np.ndarray, np.ndarray]]:
    """Every node with its float output and what rounding in this node alone makes of it."""
    values: dict[int, np.ndarray] = {floats.inputs[0]: batch}
    for node in floats.nodes:
        y = activated(linear(node.op, operands(floats, node, values), node.attributes),
                      node.attributes)  # fmt: skip
        coarse = {i: simulated(values[i], quantization(int8.tensor(floats.tensors[i].name)))
                  for i in node.inputs if i in values}  # fmt: skip
        if node.op in WEIGHTED:
            weights = int8.tensor(floats.tensors[node.inputs[1]].name)
            coarse[node.inputs[1]] = _real_weights(weights, node)
        z = activated(linear(node.op, operands(floats, node, coarse), node.attributes),
                      node.attributes)  # fmt: skip
        output = quantization(int8.tensor(floats.tensors[node.outputs[0]].name))
        yield node, y, simulated(z, output)
        values[node.outputs[0]] = y


def _real_weights(weights: Tensor, node: Node) -> np.ndarray:
    assert weights.data is not None
    axis = output_axis(weights.data, node.op)
    scales = spread(quantization(weights).scale, weights.data.ndim, axis)
    return (weights.data * scales).astype(np.float32)


def _added(sums: _Sums, exact: np.ndarray, y: np.ndarray, alone: np.ndarray) -> _Sums:
    f, real, own = (v.astype(np.float64).ravel() for v in (exact, y, alone))
    new = (f @ f, real @ real, f @ real, (f - real) @ (f - real), (f - own) @ (f - own))
    return _Sums(*(float(a + b) for a, b in zip(sums, new, strict=True)))


def _hurting(sums: Mapping[str, _Sums]) -> set[str]:
    """The fewest nodes that make half of the noise, those with most of it first."""
    noise = {name: s.own / s.signal for name, s in sums.items() if s.signal > 0}
    total, made, found = sum(noise.values()), 0.0, set()
    for name in sorted(noise, key=lambda n: -noise[n]):
        if made >= total / 2:
            break
        made += noise[name]
        found.add(name)
    return found


def _layer(int8: Graph, node: Node, s: _Sums, hurts: bool) -> LayerError:
    norm = math.sqrt(s.signal * s.power)
    return LayerError(
        node.name,
        node.op,
        int8.tensors[node.outputs[0]].name,
        _decibel(s.signal, s.error),
        s.product / norm if norm > 0 else None,
        _decibel(s.signal, s.own),
        hurts,
    )


def _decibel(signal: float, error: float) -> float | None:
    return 10 * math.log10(signal / error) if signal > 0 and error > 0 else None
