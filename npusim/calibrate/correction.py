"""Bias correction: what weights and activations lose to rounding on average, given back.

    bias'[o] = bias[o] - mean(y_int8[o] - y[o]),   y before the activation, over images and places

Node by node, so that later layers are corrected for what earlier ones still do. The int8 network
is simulated: float operators on rounded weights and activations.
Source: Nagel et al., Data-Free Quantization through Weight Equalization and Bias Correction
(arXiv 1906.04721), appendix D, "empirical".
"""

from collections.abc import Mapping

import numpy as np

from ..floats.operators import WEIGHTED, activated, linear
from ..floats.run import operands
from ..graph import Graph, Quantization
from .scales import simulated

Biases = dict[int, np.ndarray]


def corrected_biases(
    graph: Graph,
    rounded: Mapping[int, np.ndarray],
    quantizations: Mapping[int, Quantization],
    images: np.ndarray,
) -> Biases:
    """New biases, float64 (O,), by their tensors' indices.

    graph           float, without batch norms; every weighted node has a bias
    rounded         weights as their codes stand for them, by index
    quantizations   of the input and of all activations, by index
    images          (N, ..) real
    """
    source = graph.inputs[0]
    exact = {source: images}
    coarse = {source: simulated(images, quantizations[source])}
    biases: Biases = {}
    for node in graph.nodes:
        index = node.outputs[0]
        y = linear(node.op, operands(graph, node, exact), node.attributes)
        z = linear(node.op, operands(graph, node, {**coarse, **rounded}), node.attributes)
        if node.op in WEIGHTED:
            shift = _mean_by_channel(z - y)
            bias = graph.tensors[node.inputs[2]].data
            assert bias is not None
            biases[node.inputs[2]] = bias.astype(np.float64) - shift
            z = z - shift.astype(np.float32)
        exact[index] = activated(y, node.attributes)
        coarse[index] = simulated(activated(z, node.attributes), quantizations[index])
    return biases


def _mean_by_channel(x: np.ndarray) -> np.ndarray:
    """float64 (C,): over all axes but the last."""
    return x.mean(axis=tuple(range(x.ndim - 1)), dtype=np.float64)
