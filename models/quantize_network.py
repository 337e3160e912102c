"""Post-training quantisation of a small network: float parameters -> int8 graph, and back.

    weights      symmetric per output channel, S_w = max|w| / 127; the head's S_w = 2 max|w| / 126
    biases       int32, scale s_x * S_w
    activations  min-max over the training images, zero point -128 after relu
    logits       zero point 0, s_y such that one code of one head weight moves a logit by one code

The head's room of 2 and the scale of its logits are what training it on the device asks for:
codes that may grow, and outputs that show a single step.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from npusim import Graph, Node, Quantization, Tensor
from npusim.calibrate.scales import (
    bias_codes,
    bias_scale,
    channel_scales,
    output_axis,
    per_tensor,
    spread,
    weight_codes,
)

from .float_network import DIGITS, Layer, Network, Parameters, forward

INPUT_SCALE = 1.0 / 256.0
ZERO_POINT = -128
HEAD_ROOM = 2


class Step(NamedTuple):
    """A node to be: what it reads besides the output of the one before, and what it writes."""

    op: str
    constants: tuple[Tensor, ...]
    output: Tensor
    attributes: Mapping[str, Any]


def quantize_network(
    p: Parameters, x: np.ndarray, provenance: Mapping[str, str], net: Network = DIGITS
) -> Graph:
    """The int8 graph of a network.

    p            float parameters
    x            (N, H, W, C) in 0..1, the images whose activations set the ranges
    provenance   recorded in the graph
    returns      a graph with input "image" (1, H, W, C) and output "logits" (1, classes); its
                 weights are constants named as the layers, "stem" ... "head", biases "stem/bias"
    """
    image = Tensor("image", (1, *net.image), "int8", "input", per_tensor(INPUT_SCALE, ZERO_POINT))
    tensors, nodes = [image], []
    ordinals: Counter[str] = Counter()
    for step in steps(p, x, net):
        before = len(tensors) - 1
        tensors += [*step.constants, step.output]
        last = len(tensors) - 1
        inputs = (before, *range(before + 1, last))
        name = f"{step.op}_{ordinals[step.op]}"
        ordinals[step.op] += 1
        nodes.append(Node(step.op, name, inputs, (last,), step.attributes))
    known = tuple(replace(tensor, stream=i) for i, tensor in enumerate(tensors))
    return Graph(net.name, known, tuple(nodes), (0,), (len(known) - 1,), provenance=provenance)


def dequantize_network(graph: Graph, net: Network = DIGITS) -> Parameters:
    """The float parameters that the codes of `quantize_network`'s graph stand for.

    raises   KeyError for a graph without the network's constants
    """
    names = [*(layer.name for layer in net.layers), "head"]
    weights, biases = (
        {name: dequantized(graph.tensor(name + end)) for name in names} for end in ("", "/bias")
    )
    return Parameters(weights, biases)


def dequantized(tensor: Tensor) -> np.ndarray:
    """scale * code of a constant whose zero points are 0, float64."""
    q = tensor.quantization
    return tensor.data * spread(q.scale, len(tensor.shape), q.axis)


def steps(p: Parameters, x: np.ndarray, net: Network = DIGITS) -> Iterator[Step]:
    """The network's nodes in order, each scaled to what it puts out for the images x."""
    values, mean, _ = forward(p, x, net)
    s_x = INPUT_SCALE
    for layer, value in zip(net.layers, values[1:], strict=True):
        s_y = float(value.max()) / 255.0
        attributes: dict[str, Any] = {"stride": (layer.stride, layer.stride)}
        attributes |= {"dilation": (1, 1), "padding": "same", "activation": "relu"}
        output = activation(f"{layer.name}/relu", (1, *value.shape[1:]), s_y)
        yield Step(layer.op, weighted(p, layer, s_x), output, attributes)
        s_x = s_y
    s_x = float(mean.max()) / 255.0
    output = activation("features", (1, mean.shape[1]), s_x)
    yield Step("mean", (), output, {"axes": (1, 2), "keep_dims": False})
    head = Layer("head", "fully_connected", p.weights["head"].shape, 1)
    logits = Tensor("logits", (1, net.classes), "int8", "activation", logits_scale(p, mean))
    constants = weighted(p, head, s_x, HEAD_ROOM)
    yield Step("fully_connected", constants, logits, {"activation": "none", "keep_dims": False})


def activation(name: str, shape: tuple[int, ...], scale: float) -> Tensor:
    """An int8 tensor behind a relu: real values 0 .. 255 * scale."""
    return Tensor(name, shape, "int8", "activation", per_tensor(scale, ZERO_POINT))


def weighted(p: Parameters, layer: Layer, s_x: float, room: int = 1) -> tuple[Tensor, Tensor]:
    """The constants of a layer: int8 weights and int32 bias."""
    name, w = layer.name, p.weights[layer.name]
    axis = output_axis(w, layer.op)
    scale = channel_scales(w, axis, room)
    codes, bias = weight_codes(w, axis, scale), bias_codes(p.biases[name], np.float32(s_x), scale)
    zeros = np.zeros(len(scale))
    return (
        Tensor(name, w.shape, "int8", "constant", Quantization(scale, zeros, axis), codes),
        Tensor(f"{name}/bias", bias.shape, "int32", "constant",
               Quantization(bias_scale(np.float32(s_x), scale), zeros, 0), bias),
    )  # fmt: skip


def logits_scale(p: Parameters, mean: np.ndarray) -> Quantization:
    """s_y = S_w * rms||x||, S_w the mean scale of the head's channels: delta = 1 (zo's rule)."""
    norm = np.sqrt((mean**2).sum(1).mean())
    return per_tensor(float(channel_scales(p.weights["head"], 0, HEAD_ROOM).mean() * norm), 0)
