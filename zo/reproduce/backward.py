"""Backpropagation in float, from the deployed codes and back to codes.

    w = S_w q,  b = s_x S_w q          before
    quantize_network(w, b, ranges)     after: as the deployed network was made

The activations' ranges are those of unlabelled images under the shift. Counted are the forwards of
training, each with a gradient in weights and one in activations: three times its multiplications.
Letters: N images, H W C.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim import Graph, Session
from npusim.models.fine_tune import batch_of, fine_tune
from npusim.models.float_network import Network
from npusim.models.quantize_network import dequantize_network, quantize_network

from ..cost import Cost

PASSES = 3
"""Forward, gradient in the weights, gradient in what a layer reads."""
FLOAT_BYTES = 4
HEAD = "head"


class Given(NamedTuple):
    """What training may see: int8 codes (N, H, W, C) and labels int64 (N,); codes of any images."""

    images: NDArray[np.int8]
    labels: NDArray[np.int64]
    unlabelled: NDArray[np.int8]


def backpropagated(
    graph: Graph, net: Network, given: Given, trained: tuple[str, ...], seed: int
) -> tuple[Graph, Cost]:
    """The graph with the layers `trained` trained to convergence, see `fine_tune.Stop`.

    graph   as `quantize_network` makes it of `net`
    seed    of the order of images
    """
    start, data = dequantize_network(graph, net), (real(given.images), given.labels)
    tuned = fine_tune(start, data, trained, net, seed)
    made = quantize_network(tuned.parameters, real(given.unlabelled), graph.provenance, net)
    numbers = sum(part[name].size for part in start for name in trained)
    macs = PASSES * tuned.steps * batch_of(len(data[1])) * Session(graph, threads=1).macs
    return made, Cost(tuned.steps, macs, 0, FLOAT_BYTES * tuned.steps * numbers)


def layers_of(net: Network, between: bool) -> tuple[str, ...]:
    """The first layer and the head, with those between or without."""
    names = [layer.name for layer in net.layers]
    return (*(names if between else names[:1]), HEAD)


def real(codes: NDArray[np.int8]) -> NDArray[np.float64]:
    """What the input's codes stand for, 0..255/256: scale 1/256, zero point -128."""
    return (codes.astype(np.float64) + 128.0) / 256.0
