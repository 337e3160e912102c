"""Rules of a legal graph: every rule refuses a graph that breaks it and only it, and says how."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from graphs import Draft

from npusim.check import check
from npusim.graph import Graph, ModelError, Node, Quantization, Tensor

WINDOW = {"kernel": (2, 2), "stride": (2, 2), "padding": "valid", "activation": "none"}
PROBABILITIES = {"scale": 1 / 256, "zero_point": -128}
Change = Callable[[Graph], Graph]


def legal() -> Graph:
    """A graph of every kind of operator; the number in a tensor's name is its index."""
    draft = Draft(seed=1)
    x = draft.input((1, 6, 6, 4))
    a = draft.conv2d(x, 8)  # weights_1 bias_2 y_3
    b = draft.depthwise_conv2d(a)  # weights_4 bias_5 y_6
    c = draft.node("add", (a, b), activation="relu")  # y_7
    p = draft.node("average_pool2d", (c,), **WINDOW)  # y_8
    q = draft.node("pad", (p,), padding=((0, 0), (1, 1), (0, 0), (0, 0)))  # y_9
    t = draft.node("transpose", (q,), permutation=(0, 2, 1, 3))  # y_10
    m = draft.node("mean", (t,), axes=(1, 2), keep_dims=False)  # y_11
    r = draft.node("reshape", (m,), shape=(1, 8))  # y_12
    f = draft.fully_connected(r, 5)  # weights_13 bias_14 y_15
    s = draft.node("softmax", (f,), affine=PROBABILITIES, beta=1.0)  # y_16
    return draft.graph(draft.node("dequantize", (s,), dtype="float32"))  # y_17


def tensor(index: int, **changes: Any) -> Change:
    """Change fields of one tensor."""

    def change(graph: Graph) -> Graph:
        tensors = list(graph.tensors)
        tensors[index] = replace(tensors[index], **changes)
        return replace(graph, tensors=tuple(tensors))

    return change


def node(which: str, **changes: Any) -> Change:
    """Change fields of one node."""

    def change(graph: Graph) -> Graph:
        nodes = (replace(n, **changes) if n.name == which else n for n in graph.nodes)
        return replace(graph, nodes=tuple(nodes))

    return change


def attribute(which: str, **changes: Any) -> Change:
    """Change attributes of one node."""

    def change(graph: Graph) -> Graph:
        attributes = {**graph.node(which).attributes, **changes}
        return node(which, attributes=attributes)(graph)

    return change


def scales(index: int, scale: Any, zero_point: Any = 0, axis: int | None = None) -> Change:
    """Change a tensor's quantisation."""
    return tensor(index, quantization=Quantization(scale, zero_point, axis))


def graph(**changes: Any) -> Change:
    """Change fields of the graph."""
    return lambda legal_graph: replace(legal_graph, **changes)


def values(index: int, data: np.ndarray, axis: int | None = None) -> Change:
    """Change a constant's shape, type and values, with one scale or ones along `axis`."""
    count = 1 if axis is None else data.shape[axis]
    q = Quantization(np.full(count, 0.01), np.zeros(count), axis)
    return tensor(index, shape=data.shape, dtype=str(data.dtype), data=data, quantization=q)


def swapped(first: int, second: int) -> Change:
    """Exchange two nodes in the order of execution."""

    def change(legal_graph: Graph) -> Graph:
        nodes = list(legal_graph.nodes)
        nodes[first], nodes[second] = nodes[second], nodes[first]
        return replace(legal_graph, nodes=tuple(nodes))

    return change


def constant_only(legal_graph: Graph) -> Graph:
    """mul of two constants in front of everything."""
    q = Quantization(1.0, 0)
    shape = (1, 6, 6, 4)
    data = np.ones(shape, np.int8)
    first = len(legal_graph.tensors)
    added = (
        Tensor("a", shape, "int8", "constant", q, data),
        Tensor("b", shape, "int8", "constant", q, data),
        Tensor("product", shape, "int8", "activation", q),
    )
    product = Node("mul", "mul_0", (first, first + 1), (first + 2,), {"activation": "none"})
    return replace(
        legal_graph,
        tensors=legal_graph.tensors + added,
        nodes=(product, *legal_graph.nodes),
    )


def given(**arrays: Any) -> Change:
    return node("conv2d_0", given=arrays)


INT32 = np.zeros(8, np.int32)
CASES: dict[str, tuple[Change, str]] = {
    # the graph's own fields
    "profile": (graph(profile="none"), "profile: must be one of tflm, got 'none'"),
    "layout": (graph(layout="CHWN"), "layout: must be NHWC or NCHW, got 'CHWN'"),
    "provenance key": (
        graph(provenance={"a/b": "c"}),
        "provenance a/b: must be an identifier with printable text, got 'c'",
    ),
    "provenance text": (
        graph(provenance={"file": "a\0"}),
        "provenance file: must be an identifier with printable text, got 'a\\x00'",
    ),
    "graph name": (
        graph(name=""),
        "graph: name must have 1..4096 printable characters, got ''",
    ),
    # names
    "empty name": (
        tensor(3, name=""),
        "tensor: name must have 1..4096 printable characters, got ''",
    ),
    "long name": (
        tensor(3, name="x" * 4097),
        f"tensor: name must have 1..4096 printable characters, got '{'x' * 80}'",
    ),
    "unprintable name": (
        node("add_0", name="a\nb"),
        "node: name must have 1..4096 printable characters, got 'a\\nb'",
    ),
    "tensors of one name": (
        tensor(3, name="x_0"),
        "tensor x_0: name must be unique, got 2 of them",
    ),
    "nodes of one name": (
        node("conv2d_0", name="add_0"),
        "node add_0: name must be unique, got 2 of them",
    ),
    # tensors
    "type": (
        tensor(3, dtype="float16"),
        "tensor y_3: type must be one of int8, int16, int32, int64, uint8, float32, bool, "
        "got float16",
    ),
    "kind": (
        tensor(3, kind="state"),
        "tensor y_3: kind must be constant, input or activation, got state",
    ),
    "rank": (
        tensor(3, shape=(1,) * 9),
        "tensor y_3: rank must be at most 8, got 9",
    ),
    "no cells": (
        tensor(3, shape=(1, 6, 0, 8)),
        "tensor y_3: dimensions must be 1..2^31 - 1, got (1, 6, 0, 8)",
    ),
    "dimension too long": (
        tensor(3, shape=(1, 6, 2**31, 8)),
        "tensor y_3: dimensions must be 1..2^31 - 1, got (1, 6, 2147483648, 8)",
    ),
    "constant without values": (
        tensor(1, data=None),
        "tensor weights_1: values must be those of a constant, got constant without values",
    ),
    "activation with values": (
        tensor(3, data=np.zeros((1, 6, 6, 8), np.int8)),
        "tensor y_3: values must be those of a constant, got activation with values",
    ),
    "values of another shape": (
        tensor(2, shape=(4,)),
        "tensor bias_2: values must have the shape (4,), got (8,)",
    ),
    "negative stream": (
        tensor(1, stream=-1),
        "tensor weights_1: stream must be 0..2^32 - 1, got -1",
    ),
    "stream of 33 bits": (
        tensor(1, stream=2**32),
        "tensor weights_1: stream must be 0..2^32 - 1, got 4294967296",
    ),
    # quantisation
    "scale of real numbers": (
        scales(17, 1.0),
        "tensor y_17: only integers have a scale and zero point, got float32",
    ),
    "fewer zero points": (
        scales(1, np.ones(8), np.zeros(7), 0),
        "tensor weights_1: scales and zero points must be equally many, got (8,) and (7,)",
    ),
    "scales of rank 2": (
        scales(1, np.ones((8, 1)), np.zeros((8, 1)), 0),
        "tensor weights_1: scales and zero points must be equally many, got (8, 1) and (8, 1)",
    ),
    "scales without an axis": (
        scales(1, np.ones(8), np.zeros(8)),
        "tensor weights_1: one scale must serve the whole tensor, got 8",
    ),
    "axis that is not there": (
        scales(1, np.ones(8), np.zeros(8), 4),
        "tensor weights_1: axis 4 of (8, 3, 3, 4) must be as long as the scales, got 8",
    ),
    "axis of another length": (
        scales(1, np.ones(8), np.zeros(8), 3),
        "tensor weights_1: axis 3 of (8, 3, 3, 4) must be as long as the scales, got 8",
    ),
    "scale zero": (
        scales(3, 0.0),
        "tensor y_3: scales must be finite and positive, got 0.0",
    ),
    "negative scale": (
        scales(2, -1.0),
        "tensor bias_2: scales must be finite and positive, got -1.0",
    ),
    "scale nan": (
        scales(3, math.nan),
        "tensor y_3: scales must be finite and positive, got nan",
    ),
    "scale infinite": (
        scales(3, math.inf),
        "tensor y_3: scales must be finite and positive, got inf",
    ),
    "zero point too high": (
        scales(3, 1.0, 128),
        "tensor y_3: zero point must be in -128..127, got 128",
    ),
    "zero point too low": (
        scales(0, 1.0, -129),
        "tensor x_0: zero point must be in -128..127, got -129",
    ),
    # ends
    "no inputs": (graph(inputs=()), "graph inputs: must be at least one, got none"),
    "no outputs": (graph(outputs=()), "graph outputs: must be at least one, got none"),
    "input that is not there": (
        graph(inputs=(18,)),
        "graph inputs: tensors must be 0..17, got 18",
    ),
    "output that is absent": (
        graph(outputs=(-1,)),
        "graph outputs: tensors must be 0..17, got -1",
    ),
    "input twice": (graph(inputs=(0, 0)), "graph inputs: must differ, got x_0 2 times"),
    "output twice": (graph(outputs=(17, 17)), "graph outputs: must differ, got y_17 2 times"),
    "input that a node makes": (
        graph(inputs=(0, 3)),
        "graph inputs: must be of kind input, got the activation y_3",
    ),
    "output that is a constant": (
        graph(outputs=(1,)),
        "graph outputs: must be of kind activation, got the constant weights_1",
    ),
    "output that is an input": (
        graph(outputs=(0,)),
        "graph outputs: must be of kind activation, got the input x_0",
    ),
    "input that is not listed": (
        tensor(3, kind="input"),
        "tensor y_3: must be one of the graph's inputs, got none",
    ),
    # order
    "operator": (
        node("mean_0", op="lstm"),
        "mean_0/lstm: operator must be one of conv2d, depthwise_conv2d, fully_connected, add, "
        "mul, average_pool2d, max_pool2d, mean, pad, reshape, transpose, softmax, quantize, "
        "dequantize, relu, relu6, got lstm",
    ),
    "operand missing": (
        node("add_0", inputs=(3,)),
        "add_0/add: must read a, b and write one tensor, got 1 and 1",
    ),
    "operand too many": (
        node("conv2d_0", inputs=(0, 1, 2, 2)),
        "conv2d_0/conv2d: must read x, weights, bias and write one tensor, got 4 and 1",
    ),
    "two results": (
        node("mean_0", outputs=(11, 12)),
        "mean_0/mean: must read x and write one tensor, got 1 and 2",
    ),
    "operand absent": (
        node("add_0", inputs=(3, -1)),
        "add_0/add: b must be given, got none",
    ),
    "operand that is not there": (
        node("add_0", inputs=(3, 18)),
        "add_0/add: tensors must be 0..17, got 18",
    ),
    "operand below absent": (
        node("conv2d_0", inputs=(0, 1, -2)),
        "conv2d_0/conv2d: tensors must be 0..17, got -2",
    ),
    "result that is absent": (
        node("mean_0", outputs=(-1,)),
        "mean_0/mean: tensors must be 0..17, got -1",
    ),
    "own output": (
        node("add_0", inputs=(3, 7)),
        "add_0/add: inputs must be made by earlier nodes, got y_7",
    ),
    "later output": (
        node("conv2d_0", inputs=(8, 1, 2)),
        "conv2d_0/conv2d: inputs must be made by earlier nodes, got y_8",
    ),
    "wrong order": (
        swapped(1, 2),
        "add_0/add: inputs must be made by earlier nodes, got y_6",
    ),
    "constant overwritten": (
        node("mean_0", outputs=(1,)),
        "mean_0/mean: output must be an activation, got the constant weights_1",
    ),
    "input overwritten": (
        node("mean_0", outputs=(0,)),
        "mean_0/mean: output must be an activation, got the input x_0",
    ),
    "tensor made twice": (
        node("depthwise_conv2d_0", outputs=(3,)),
        "depthwise_conv2d_0/depthwise_conv2d: output must be written by one node only, "
        "got y_3 again",
    ),
    "tensor that nobody makes": (
        lambda g: replace(g, nodes=g.nodes[:-1], outputs=(16,)),
        "tensor y_17: must be made by a node, got none that does",
    ),
    "memory": (
        tensor(3, shape=(1, 2**15, 2**15, 1)),
        "tensor y_3: activations must fit in 1073741824 bytes together, "
        "got 1073741968 with its (1, 32768, 32768, 1)",
    ),
    # types and ranks of operands
    "real numbers": (
        tensor(0, dtype="float32", quantization=None),
        "conv2d_0/conv2d: x must be int8, got float32; quantise the model to int8",
    ),
    "uint8": (
        tensor(0, dtype="uint8", quantization=Quantization(1.0, 0)),
        "conv2d_0/conv2d: x must be int8, got uint8; convert the model to int8",
    ),
    "type of the result": (
        tensor(7, dtype="int16"),
        "add_0/add: output must be int8, got int16",
    ),
    "type that is not kept": (
        tensor(12, dtype="uint8", quantization=Quantization(0.05, 4)),
        "reshape_0/reshape: output must be int8, got uint8",
    ),
    "real result": (
        tensor(17, dtype="int16", quantization=Quantization(1.0, 0)),
        "dequantize_0/dequantize: output must be float32, got int16",
    ),
    "no image": (
        tensor(0, shape=(1, 36, 4)),
        "conv2d_0/conv2d: x must have rank 4, got (1, 36, 4)",
    ),
    "constants only": (
        constant_only,
        "mul_0/mul: must read a tensor that is not a constant, got constants only",
    ),
    "no scale": (
        tensor(7, quantization=None),
        "add_0/add: output must have a scale and zero point, got none",
    ),
    "no scale of weights": (
        tensor(1, quantization=None),
        "conv2d_0/conv2d: weights must have a scale and zero point, got none",
    ),
    "activation with scales per channel": (
        scales(7, np.ones(8), np.zeros(8), 3),
        "add_0/add: output must be quantised per tensor, got 8 scales",
    ),
    # attributes
    "attribute missing": (
        node("mean_0", attributes={"axes": (1, 2)}),
        "mean_0/mean: attributes must be axes, keep_dims, got axes",
    ),
    "attribute too many": (
        node("dequantize_0", attributes={"scale": 1}),
        "dequantize_0/dequantize: attributes must be none, got scale",
    ),
    "stride": (
        attribute("conv2d_0", stride=(0, 1)),
        "conv2d_0/conv2d: stride must be two integers from 1, got (0, 1)",
    ),
    "stride of one number": (
        attribute("conv2d_0", stride=(1,)),
        "conv2d_0/conv2d: stride must be two integers from 1, got (1,)",
    ),
    "dilation": (
        attribute("conv2d_0", dilation=(1, 1.0)),
        "conv2d_0/conv2d: dilation must be two integers from 1, got (1, 1.0)",
    ),
    "kernel": (
        attribute("average_pool2d_0", kernel=(2, -2)),
        "average_pool2d_0/average_pool2d: kernel must be two integers from 1, got (2, -2)",
    ),
    "padding of a window": (
        attribute("conv2d_0", padding="full"),
        "conv2d_0/conv2d: padding must be same, valid or (top, bottom, left, right) from 0, "
        "got full",
    ),
    "negative padding of a window": (
        attribute("conv2d_0", padding=(0, 0, -1, 1)),
        "conv2d_0/conv2d: padding must be same, valid or (top, bottom, left, right) from 0, "
        "got (0, 0, -1, 1)",
    ),
    "activation": (
        attribute("add_0", activation="tanh"),
        "add_0/add: activation must be one of none, relu, relu6, relu_n1_to_1, got tanh",
    ),
    "flag": (
        attribute("mean_0", keep_dims=1),
        "mean_0/mean: keep_dims must be true or false, got 1",
    ),
    "axes out of order": (
        attribute("mean_0", axes=(2, 1)),
        "mean_0/mean: axes must be different axes of the input, ascending, got (2, 1)",
    ),
    "axis twice": (
        attribute("mean_0", axes=(1, 1)),
        "mean_0/mean: axes must be different axes of the input, ascending, got (1, 1)",
    ),
    "axis outside": (
        attribute("mean_0", axes=(1, 4)),
        "mean_0/mean: axes must be different axes of the input, ascending, got (1, 4)",
    ),
    "padding of three axes": (
        attribute("pad_0", padding=((0, 0), (1, 1), (0, 0))),
        "pad_0/pad: padding must be a pair (before, after) from 0 for each axis, "
        "got ((0, 0), (1, 1), (0, 0))",
    ),
    "negative padding": (
        attribute("pad_0", padding=((0, 0), (1, 1), (0, -1), (0, 0))),
        "pad_0/pad: padding must be a pair (before, after) from 0 for each axis, "
        "got ((0, 0), (1, 1), (0, -1), (0, 0))",
    ),
    "two open dimensions": (
        attribute("reshape_0", shape=(-1, -1)),
        "reshape_0/reshape: shape must be dimensions from 1, at most one of them -1, got (-1, -1)",
    ),
    "negative dimension": (
        attribute("reshape_0", shape=(1, -8)),
        "reshape_0/reshape: shape must be dimensions from 1, at most one of them -1, got (1, -8)",
    ),
    "permutation": (
        attribute("transpose_0", permutation=(0, 2, 2, 3)),
        "transpose_0/transpose: permutation must be every axis of the input once, got (0, 2, 2, 3)",
    ),
    "beta": (
        attribute("softmax_0", beta=math.inf),
        "softmax_0/softmax: beta must be finite, from 0, got inf",
    ),
    # weights
    "weights of another depth": (
        values(1, np.ones((8, 3, 3, 3), np.int8)),
        "conv2d_0/conv2d: weights must be (O, KH, KW, I), I a divisor of 4, got (8, 3, 3, 3)",
    ),
    "groups": (
        values(1, np.ones((7, 3, 3, 2), np.int8)),
        "conv2d_0/conv2d: output channels must be a multiple of the 2 groups, got 7",
    ),
    "depthwise weights": (
        values(4, np.ones((1, 3, 3, 12), np.int8)),
        "depthwise_conv2d_0/depthwise_conv2d: weights must be (1, KH, KW, C*M) with C = 8, "
        "got (1, 3, 3, 12)",
    ),
    "width": (
        values(13, np.ones((5, 3), np.int8)),
        "fully_connected_0/fully_connected: weights must be (O, I), I a divisor of 8, got (5, 3)",
    ),
    "width with dimensions kept": (
        lambda g: attribute("fully_connected_0", keep_dims=True)(
            values(13, np.ones((5, 4), np.int8))(g)
        ),
        "fully_connected_0/fully_connected: weights must be (O, I) with I = 8, got (5, 4)",
    ),
    "weights that a caller feeds": (
        node("conv2d_0", inputs=(0, 0, 2)),
        "conv2d_0/conv2d: weights must be a constant, got the input x_0",
    ),
    "weights of 16 bits": (
        values(1, np.ones((8, 3, 3, 4), np.int16)),
        "conv2d_0/conv2d: weights must be int8, got int16",
    ),
    "weights of uint8": (
        values(1, np.ones((8, 3, 3, 4), np.uint8)),
        "conv2d_0/conv2d: weights must be int8, got uint8; convert the model to int8",
    ),
    "scales along another axis": (
        values(1, np.ones((8, 3, 3, 4), np.int8), axis=3),
        "conv2d_0/conv2d: weights must be quantised along axis 0, got 3",
    ),
    "depthwise scales along another axis": (
        values(4, np.ones((1, 3, 3, 8), np.int8), axis=1),
        "depthwise_conv2d_0/depthwise_conv2d: weights must be quantised along axis 3, got 1",
    ),
    "zero point of weights": (
        scales(1, 1.0, 3),
        "conv2d_0/conv2d: weights must have zero point 0, got 3; quantise them symmetrically",
    ),
    "bias of 64 bits": (
        lambda g: tensor(
            2, dtype="int64", data=g.tensors[2].data.astype(np.int64), quantization=None
        )(g),
        "conv2d_0/conv2d: bias must be int32, got int64",
    ),
    "short bias": (
        values(2, np.ones(4, np.int32)),
        "conv2d_0/conv2d: bias must be (8,), got (4,)",
    ),
    # what single operators ask for
    "operands of two types": (
        lambda g: node("add_0", inputs=(3, 2))(scales(2, 1.0)(g)),
        "add_0/add: b must be int8, got int32",
    ),
    "codes that are not requantised": (
        lambda g: tensor(3, dtype="int32")(
            node("conv2d_0", op="quantize", inputs=(0,), attributes={})(
                tensor(0, dtype="uint8")(scales(0, 1.0)(g))
            )
        ),
        "conv2d_0/quantize: types must be a pair that TFLite Micro has, got uint8 to int32",
    ),
    "padding that fills a window": (
        attribute("average_pool2d_0", padding=(2, 0, 0, 0)),
        "average_pool2d_0/average_pool2d: padding must be less than the kernel (2, 2), "
        "got (2, 0, 0, 0)",
    ),
    "softmax": (
        scales(16, 1 / 128, -128),
        "softmax_0/softmax: output must have scale 1/256 and zero point -128, "
        "got 0.0078125 and -128",
    ),
    "quantisation that is not kept": (
        scales(8, 0.06, 4),
        "average_pool2d_0/average_pool2d: input and output must have one quantisation, "
        "got (scale 0.05000000074505806, zero point 4) and "
        "(scale 0.05999999865889549, zero point 4)",
    ),
    "scale that is not kept": (
        tensor(12, quantization=None),
        "reshape_0/reshape: input and output must have one quantisation, "
        "got (scale 0.05000000074505806, zero point 4) and none",
    ),
    "output shape": (
        tensor(3, shape=(1, 6, 6, 7)),
        "conv2d_0/conv2d: output must be (1, 6, 6, 8), got (1, 6, 6, 7)",
    ),
    "kernel larger than the image": (
        attribute("average_pool2d_0", kernel=(7, 7)),
        "average_pool2d_0/average_pool2d: the kernel must fit into the padded input, "
        "got input (1, 6, 6, 8) and output (1, 0, 0, 8)",
    ),
    "shapes that do not broadcast": (
        node("add_0", inputs=(3, 0)),
        "add_0/add: shapes must broadcast, got (1, 6, 6, 8) and (1, 6, 6, 4)",
    ),
    "elements": (
        attribute("reshape_0", shape=(3, -1)),
        "reshape_0/reshape: shape must hold 8 elements, got (3, -1)",
    ),
    # parameters
    "given to another operator": (
        node("add_0", given={"multiplier": INT32, "shift": INT32}),
        "add_0/add: given parameters must be multiplier and shift of a weighted node, "
        "or statistics_mean and statistics_deviation, got multiplier, shift",
    ),
    "given by half": (
        given(multiplier=INT32),
        "conv2d_0/conv2d: given parameters must be multiplier and shift of a weighted node, "
        "or statistics_mean and statistics_deviation, got multiplier",
    ),
    "statistics by half": (
        given(statistics_mean=INT32, multiplier=INT32, shift=INT32),
        "conv2d_0/conv2d: given parameters must be multiplier and shift of a weighted node, "
        "or statistics_mean and statistics_deviation, got multiplier, shift, statistics_mean",
    ),
    "negative deviation": (
        given(statistics_mean=INT32, statistics_deviation=INT32 - 1),
        "conv2d_0/conv2d: statistics_deviation must be in 0..16711680, got -1",
    ),
    "given of another type": (
        given(multiplier=INT32.astype(np.int64), shift=INT32),
        "conv2d_0/conv2d: multiplier must be int32 (8,), got int64 (8,)",
    ),
    "given of another shape": (
        given(multiplier=INT32, shift=INT32[:7]),
        "conv2d_0/conv2d: shift must be int32 (8,), got int32 (7,)",
    ),
    "negative multiplier": (
        given(multiplier=INT32 - 1, shift=INT32),
        "conv2d_0/conv2d: multiplier must be in 0..2147483647, got -1",
    ),
    "shift": (
        given(multiplier=INT32, shift=INT32 + 32),
        "conv2d_0/conv2d: shift must be in -31..31, got 32",
    ),
    "scales too far apart": (
        lambda g: scales(0, 2.0**20)(scales(1, 2.0**10)(scales(3, 2.0**-1)(g))),
        "conv2d_0/conv2d: multiplier: must be below 2^31, got 2147483648.0; raise the output scale",
    ),
    "activation out of reach": (
        lambda g: attribute("conv2d_0", activation="relu6")(scales(3, 1e-45)(g)),
        "conv2d_0/conv2d: output scale must leave the bounds of relu6 finite, "
        "got 1.401298464324817e-45",
    ),
}


LEGAL: dict[str, Change] = {
    "as it is": lambda g: g,
    "bias absent": node("conv2d_0", inputs=(0, 1, -1)),
    "bias left out": node("conv2d_0", inputs=(0, 1)),
    "bias without scale": tensor(2, quantization=None),
    "channel of scale zero": scales(1, np.array([0.0] + [0.01] * 7), np.zeros(8), 0),
    "multiplier instead of scales": lambda g: tensor(1, quantization=None)(
        given(multiplier=INT32, shift=INT32)(g)
    ),
    "statistics": given(statistics_mean=INT32, statistics_deviation=INT32),
    "groups": values(1, np.ones((8, 3, 3, 2), np.int8)),
    "widest stream": tensor(1, stream=2**32 - 1),
}


@pytest.mark.parametrize("case", LEGAL)
def test_legal_graph_passes(case):
    assert check(LEGAL[case](legal())) is None


def test_message_starts_with_where():
    with pytest.raises(ModelError) as caught:
        check(graph(profile="none")(legal()), "m.h5")
    assert str(caught.value) == "m.h5: profile: must be one of tflm, got 'none'"


@pytest.mark.parametrize("case", CASES)
def test_broken_graph_is_refused(case):
    change, expected = CASES[case]
    with pytest.raises(ModelError) as caught:
        check(change(legal()))
    assert str(caught.value) == expected
