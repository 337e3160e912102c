"""Sessions that are made or asked wrongly say what they want."""

import re

import numpy as np
import pytest
from graphs import Draft

import npusim
from npusim import Quantization, Tensor


def small_graph():
    draft = Draft()
    return draft.graph(draft.conv2d(draft.input((1, 4, 4, 2)), 3))


CALLS = {
    "a path for a graph": (
        lambda graph: npusim.Session("m.tflite"),
        TypeError("graph: must be an npusim.Graph, got 'm.tflite'; npusim.load reads a file"),
    ),
    "bits for an accumulator": (
        lambda graph: npusim.Session(graph, accumulator=18),
        TypeError("accumulator: must be an npusim.Accumulator, got 18"),
    ),
    "weights of a session without trainable ones": (
        lambda graph: npusim.Session(graph).weights["conv2d_0"],
        KeyError(
            "weights: 'conv2d_0' must be trainable, got none; "
            "name it in Session(graph, trainable=[...])"
        ),
    ),
    "weights that are not trainable": (
        lambda graph: npusim.Session(graph, trainable=["conv2d_0/bias"]).weights["weights_1"],
        KeyError(
            "weights: 'weights_1' must be trainable, got bias_2; "
            "name it in Session(graph, trainable=[...])"
        ),
    ),
}


@pytest.mark.parametrize(("name", "label"), [("input", "input"), ("x", "input x")])
def test_input_is_named_once(name, label):
    q = Quantization(0.5, 0)
    tensors = (
        Tensor(name, (1, 4), "int8", "input", q),
        Tensor("y", (1, 4), "int8", "activation", q),
    )
    graph = npusim.Graph("g", tensors, (npusim.Node("relu", "relu_0", (0,), (1,)),), (0,), (1,))
    message = f"{label}: type must be int8 (codes) or floating (real numbers), got int32"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
        npusim.Session(graph).run(np.zeros((1, 4), np.int32))
    message = f"{label}: shape must be (batch, 4), got (1, 5)"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        npusim.Session(graph).run(np.zeros((1, 5), np.int8))


@pytest.mark.parametrize("case", CALLS)
def test_wrong_call_is_refused(case):
    call, expected = CALLS[case]
    with pytest.raises(type(expected), match=f"^{re.escape(str(expected))}$"):
        call(small_graph())
