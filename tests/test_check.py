"""Rules of a legal graph: every rule refuses a graph that breaks it and only it, and says how."""

import math
from dataclasses import replace

import numpy as np
import pytest
from broken_graphs import Change, graph, legal, node, scales, swapped, tensor

from npusim.check import check
from npusim.graph import ModelError

PROFILES = "litert-ref, litert-x86, neural-art, onnx, single-rounding, tflm, xnnpack"
CASES: dict[str, tuple[Change, str]] = {
    # the graph's own fields
    "profile": (graph(profile="none"), f"profile: must be one of {PROFILES}, got 'none'"),
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
}


@pytest.mark.parametrize("case", CASES)
def test_broken_graph_is_refused(case):
    change, expected = CASES[case]
    with pytest.raises(ModelError) as caught:
        check(change(legal()))
    assert str(caught.value) == expected


def test_message_starts_with_where():
    with pytest.raises(ModelError) as caught:
        check(graph(profile="none")(legal()), "m.h5")
    assert str(caught.value) == f"m.h5: profile: must be one of {PROFILES}, got 'none'"
