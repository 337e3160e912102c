"""One graph for every operation of the table, by its name, each small and awkward."""

from dataclasses import replace

import numpy as np
from one_node import activation, constant, one_node

from npusim.graph import Accumulator, Quantization, Tensor
from npusim.kernels import table
from npusim.neural_art.settle import settle

IMAGE = activation((2, 5, 6, 4), 0.1, 3)
OTHER = activation((), 0.2, -4)
CONVOLUTION = {"stride": (1, 2), "dilation": (2, 1), "padding": "same", "activation": "relu"}
POOL = {"kernel": (2, 3), "stride": (1, 2), "padding": "same", "activation": "relu6"}
SCALES = {"int8": (0.1, 3), "uint8": (0.15, 120), "int16": (0.002, 0), "int32": (0.0007, -5),
          "float32": (1.0, 0)}  # fmt: skip


def weights(shape, axis):
    codes = np.random.default_rng(1).integers(-127, 128, shape)
    return constant(codes, np.geomspace(0.001, 0.01, shape[axis]), axis=axis)


def typed(dtype, kind, shape=(3, 17)):
    quantization = None if dtype == "float32" else Quantization(*SCALES[dtype])
    return Tensor("", shape, dtype, kind, quantization)


def conversion(op, x_type, y_type):
    return one_node(op, [typed(x_type, "input")], typed(y_type, "activation"))


def moved(op, dtype, **attributes):
    x = typed(dtype, "input", (3, 4, 2))
    return one_node(op, [x], x, **attributes)


def delegated(op, operands, **attributes):
    return replace(one_node(op, operands, OTHER, **attributes), profile="xnnpack")


ORDERED = Accumulator(12, "saturate")
PLAIN_GRAPHS = {
    "conv2d": one_node("conv2d", [IMAGE, weights((6, 3, 3, 2), 0)], OTHER, **CONVOLUTION),
    "depthwise_conv2d": one_node(
        "depthwise_conv2d", [IMAGE, weights((1, 3, 3, 8), 3)], OTHER, **CONVOLUTION
    ),
    "fully_connected": one_node("fully_connected", [activation((3, 7)), weights((5, 7), 0)], OTHER,
                                activation="none", keep_dims=False),
}  # fmt: skip
GRAPHS = {
    **PLAIN_GRAPHS,
    **{f"{op}_ordered": replace(g, accumulator=ORDERED) for op, g in PLAIN_GRAPHS.items()},
    "add": one_node("add", [IMAGE, activation((6, 1), 0.3, 5)], OTHER, activation="relu"),
    "mul": one_node("mul", [IMAGE, activation((5, 1, 4), 0.3, 5)], OTHER, activation="none"),
    "average_pool2d": one_node("average_pool2d", [IMAGE], IMAGE, **POOL),
    "max_pool2d": one_node("max_pool2d", [IMAGE], IMAGE, **POOL),
    "mean": one_node("mean", [IMAGE], OTHER, axes=(1, 3), keep_dims=False),
    "softmax": one_node("softmax", [IMAGE], activation((), 1 / 256, -128), beta=1.0),
    "pad": one_node("pad", [IMAGE], IMAGE, padding=((0, 0), (1, 2), (0, 1), (0, 0))),
    "transpose": one_node("transpose", [IMAGE], IMAGE, permutation=(0, 3, 1, 2)),
    "move": one_node("reshape", [IMAGE], IMAGE, shape=(2, -1)),
    **{f"quantize_{code}": conversion("quantize", "float32", code) for code in table.CODE_TYPES},
    **{
        f"dequantize_{code}": conversion("dequantize", code, "float32") for code in table.CODE_TYPES
    },
    **{f"rescale_{x}_{y}": conversion("quantize", x, y) for x, y in table.RESCALES},
    "softmax_x86": replace(
        one_node("softmax", [IMAGE], activation((), 1 / 256, -128), beta=1.0), profile="litert-x86"
    ),
    "add_xnnpack": delegated("add", [IMAGE, activation((6, 1), 0.3, 5)], activation="relu"),
    "mean_xnnpack": delegated("mean", [IMAGE], axes=(1, 3), keep_dims=False),
    "rescale_xnnpack": delegated("quantize", [IMAGE]),
}
AVERAGE = one_node("mean", [IMAGE], OTHER, axes=(1, 2), keep_dims=True)
GRAPHS |= {
    f"neural_art_{name}": settle(replace(g, profile="neural-art"))
    for name, g in {**PLAIN_GRAPHS, "add": GRAPHS["add"], "mean": AVERAGE}.items()
}


def inputs(graph):
    """Values of every size in every input's type."""
    rng = np.random.default_rng(3)
    drawn = []
    for tensor in (graph.tensors[i] for i in graph.inputs):
        if tensor.dtype == "float32":
            drawn.append(rng.normal(0, 30, tensor.shape).astype(np.float32))
            continue
        limits = np.iinfo(tensor.dtype)
        codes = rng.integers(limits.min, limits.max, tensor.shape, tensor.dtype, endpoint=True)
        drawn.append(codes >> rng.integers(0, limits.bits - 1, tensor.shape, tensor.dtype))
    return drawn
