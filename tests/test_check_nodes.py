"""Rules of single nodes: every rule refuses a graph that breaks it and only it, and says how."""

import math

import numpy as np
import pytest
from broken_graphs import (
    Change,
    attribute,
    constant_only,
    given,
    legal,
    node,
    scales,
    tensor,
    values,
)

from npusim.check import check
from npusim.graph import ModelError, Quantization

INT32 = np.zeros(8, np.int32)
CASES: dict[str, tuple[Change, str]] = {
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
    "relu6 that would rescale": (
        lambda g: node("conv2d_0", op="relu6", inputs=(0,), attributes={})(
            tensor(3, shape=(1, 8, 8, 3))(scales(3, 0.7, -3)(g))
        ),
        "conv2d_0/relu6: input and output must have one quantisation, "
        "got (scale 0.05000000074505806, zero point -3) and "
        "(scale 0.699999988079071, zero point -3)",
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
        "conv2d_0/conv2d: conv2d under tflm rounds by double_rounding: multiplier: must be below "
        "2^31, got 2147483648.0; raise the output scale",
    ),
    "activation out of reach": (
        lambda g: attribute("conv2d_0", activation="relu6")(scales(3, 1e-45)(g)),
        "conv2d_0/conv2d: conv2d under tflm rounds by double_rounding: output scale must leave the "
        "bounds of relu6 finite, got 1.401298464324817e-45",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_broken_graph_is_refused(case):
    change, expected = CASES[case]
    with pytest.raises(ModelError) as caught:
        check(change(legal()))
    assert str(caught.value) == expected


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
