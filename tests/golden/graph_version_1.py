"""A graph with every kind of value that version 1 of the .h5 format holds, and its file.

`python tests/golden/graph_version_1.py` wrote graph_version_1.h5 when version 1 was new. The file
stays as it is: later versions must read it.
"""

from pathlib import Path

import numpy as np

import npusim
from npusim import Accumulator, Graph, Node, Quantization, Tensor

PATH = Path(__file__).with_suffix(".h5")


def graph() -> Graph:
    """A transposed uint8 image, a convolution with given multipliers, and probabilities."""
    image, codes, half = Quantization(0.5, 128), Quantization(0.25, -3), Quantization(0.5, 4)
    weights = np.arange(-9, 9, dtype=np.int8).reshape(2, 1, 3, 3)
    head = np.array([[1, -2], [127, -128], [0, 5]], np.int8)
    tensors = (
        Tensor("image", (1, 3, 6, 5), "uint8", "input", image, None, 11),
        Tensor("turned", (1, 6, 5, 3), "uint8", "activation", image, None, 12),
        Tensor("codes", (1, 6, 5, 3), "int8", "activation", codes, None, 13),
        Tensor("weights", (2, 1, 3, 3), "int8", "constant",
               Quantization([0.5, 0.125], [0, 0], 0), weights, 2**32 - 1),
        Tensor("conv", (1, 6, 6, 2), "int8", "activation", half, None, 15),
        Tensor("padded", (1, 7, 6, 5), "int8", "activation", half, None, 16),
        Tensor("means", (1, 5), "int8", "activation", half, None, 17),
        Tensor("r\N{LATIN SMALL LETTER E WITH ACUTE}seau", (1, 5), "int8", "activation",
               Quantization(1 / 256, -128), None, 18),
        Tensor("scalar", (), "float32", "input", None, None, 19),
        Tensor("whole", (), "int8", "activation", codes, None, 20),
        Tensor("unused", (3, 2), "int8", "constant", Quantization(0.25, 0), head, 21),
        Tensor("mask", (1, 2), "bool", "constant", None, np.array([[True, False]]), 22),
        Tensor("bias", (2,), "int32", "constant", None, np.array([-(2**31), 7], np.int32), 23),
    )  # fmt: skip
    given = {
        "multiplier": np.array([2**30, 2**31 - 1], np.int32),
        "shift": np.array([-31, 2], np.int32),
        "statistics_mean": np.array([-5, 5], np.int32),
        "statistics_deviation": np.array([0, 99], np.int32),
    }
    convolution = {
        "stride": (1, 1),
        "dilation": (1, 2),
        "padding": (0, 0, 2, 3),
        "activation": "relu",
    }
    nodes = (
        Node("transpose", "transpose_0", (0,), (1,), {"permutation": (0, 2, 3, 1)}),
        Node("quantize", "quantize_0", (1,), (2,)),
        Node("conv2d", "conv2d_0", (2, 3, 12), (4,), convolution, given),
        Node("pad", "pad_0", (4,), (5,), {"padding": ((0, 0), (1, 0), (0, 0), (1, 2))}),
        Node("mean", "mean_0", (5,), (6,), {"axes": (1, 2), "keep_dims": False}),
        Node("softmax", "softmax_0", (6,), (7,), {"beta": 0.1}),
        Node("quantize", "quantize_1", (8,), (9,)),
    )
    return Graph(
        "golden", tensors, nodes, (8, 0), (7, 9), "tflm", Accumulator(24, "saturate"), "NCHW",
        {"file": "golden.tflite", "format": "", "sha256": "0" * 64},
    )  # fmt: skip


if __name__ == "__main__":
    npusim.save(graph(), PATH)
