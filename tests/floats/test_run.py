"""Float operators and networks equal onnxruntime within the rounding of float32 sums.

Two sums of n products, added in any order, differ by at most 2 n u sum|x||w| with u = 2^-24, as
each is within n u sum|x||w| of the exact one (Higham, Accuracy and Stability, 3.5). Here that
bound is computed for every output with the operator itself, run on magnitudes.
"""

import numpy as np
import pytest
from floats.onnx_twin import onnx_outputs

from npusim import ModelError, floats
from npusim.floats.operators import linear

UNIT = 2.0**-24
WINDOWS = [
    {"stride": (1, 1), "dilation": (1, 1), "padding": "same"},
    {"stride": (2, 2), "dilation": (1, 1), "padding": "same"},
    {"stride": (2, 1), "dilation": (1, 1), "padding": "valid"},
    {"stride": (1, 2), "dilation": (2, 1), "padding": (1, 2, 0, 1)},
    {"stride": (2, 2), "dilation": (1, 1), "padding": (1, 1, 1, 1)},
]
ACTIVATIONS = ["none", "relu", "relu6", "relu_n1_to_1"]


def one_node(op, x, constants, attributes, inputs=1):
    draft = floats.Draft("one", (1, *x.shape[1:]))
    y = draft.add(op, "node", (0,) * inputs, constants, attributes)
    return draft.graph(y)


def bound(op, x, constants, attributes, terms):
    """2 (n + 2) u times the operator's value on magnitudes; 2 for bias and final rounding."""
    magnitudes = [np.abs(v.astype(np.float64)) for v in (x, *constants.values())]
    return 2 * (terms + 2) * UNIT * linear(op, magnitudes, attributes)


def agree(op, x, constants, attributes, terms):
    graph = one_node(op, x, constants, attributes)
    (expected,) = onnx_outputs(graph, x, [graph.tensors[graph.outputs[0]].name])
    actual = floats.run(graph, x)
    assert actual.dtype == np.float32
    assert actual.shape == expected.shape
    limit = bound(op, x, constants, attributes, terms)
    assert (np.abs(actual.astype(np.float64) - expected) <= limit).all()
    assert limit.max() < 1e-3 * np.abs(actual).max()  # a wrong cell would be seen


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_conv2d_matches_onnxruntime(window, seed):
    rng = np.random.default_rng(seed)
    groups = int(rng.choice([1, 2]))
    kernel = tuple(int(k) for k in rng.integers(1, 4, 2))
    x = rng.standard_normal((3, 9, 10, 4 * groups), np.float32)
    constants = {"weight": rng.standard_normal((6, *kernel, 4), np.float32)}
    if seed % 2:
        constants["bias"] = rng.standard_normal(6, np.float32)
    attributes = {**window, "activation": ACTIVATIONS[seed]}
    agree("conv2d", x, constants, attributes, kernel[0] * kernel[1] * 4)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_depthwise_conv2d_matches_onnxruntime(window, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((2, 8, 9, 5), np.float32)
    repeats = 1 + seed % 3
    constants = {
        "weight": rng.standard_normal((1, 3, 3, 5 * repeats), np.float32),
        "bias": rng.standard_normal(5 * repeats, np.float32),
    }
    agree("depthwise_conv2d", x, constants, {**window, "activation": ACTIVATIONS[seed]}, 9)


def test_fully_connected_matches_onnxruntime():
    rng = np.random.default_rng(5)
    x = rng.standard_normal((7, 33), np.float32)
    constants = {"weight": rng.standard_normal((10, 33), np.float32),
                 "bias": rng.standard_normal(10, np.float32)}  # fmt: skip
    agree("fully_connected", x, constants, {"activation": "relu", "keep_dims": False}, 33)


@pytest.mark.parametrize("op", ["max_pool2d", "average_pool2d"])
@pytest.mark.parametrize("padding", ["same", "valid", (1, 1, 1, 1), (0, 1, 1, 0)])
def test_pool_matches_onnxruntime(op, padding):
    x = np.random.default_rng(2).standard_normal((2, 9, 8, 3), np.float32) - 3
    attributes = {"kernel": (3, 3), "stride": (2, 2), "padding": padding, "activation": "none"}
    if op == "max_pool2d":
        graph = one_node(op, x, {}, attributes)
        (expected,) = onnx_outputs(graph, x, ["node/max_pool2d"])
        np.testing.assert_array_equal(floats.run(graph, x), expected)
    else:
        agree(op, x, {}, attributes, 9)


@pytest.mark.parametrize("axes", [(1, 2), (3,), (1, 2, 3)])
def test_mean_matches_onnxruntime(axes):
    x = np.random.default_rng(3).random((2, 5, 6, 4), np.float32)
    agree("mean", x, {}, {"axes": axes, "keep_dims": False}, 120)


def test_add_matches_onnxruntime():
    x = np.random.default_rng(4).standard_normal((2, 5, 6, 4), np.float32)
    draft = floats.Draft("sum", (1, 5, 6, 4))
    y = draft.add("max_pool2d", "pool", (0,), {}, {"kernel": (3, 3), "stride": (1, 1),
                  "padding": "same", "activation": "none"})  # fmt: skip
    graph = draft.graph(draft.add("add", "add", (0, y), {}, {"activation": "relu"}))
    (expected,) = onnx_outputs(graph, x, ["add/relu"])
    np.testing.assert_array_equal(floats.run(graph, x), expected)


def test_softmax_matches_onnxruntime():
    """exp is within 2 units in the last place, a sum of 9 and a division add 10 roundings."""
    x = np.random.default_rng(8).normal(0, 5, (20, 9)).astype(np.float32)
    graph = one_node("softmax", x, {}, {"beta": 1.0})
    (expected,) = onnx_outputs(graph, x, ["node/softmax"])
    np.testing.assert_allclose(floats.run(graph, x), expected, rtol=16 * 2 * UNIT, atol=0)


def norm_constants(rng, channels):
    return {"gamma": rng.standard_normal(channels, np.float32),
            "beta": rng.standard_normal(channels, np.float32),
            "mean": rng.standard_normal(channels, np.float32),
            "variance": rng.random(channels, np.float32)}  # fmt: skip


def test_batch_norm_matches_onnxruntime():
    """Three roundings of factor * x and shift, whichever way they are formed."""
    rng = np.random.default_rng(6)
    x, constants = rng.standard_normal((2, 4, 5, 7), np.float32), norm_constants(rng, 7)
    graph = one_node("batch_norm", x, constants, {"epsilon": 1e-5, "activation": "none"})
    (expected,) = onnx_outputs(graph, x, ["node/batch_norm"])
    gamma, beta, mean, variance = constants.values()
    limit = 16 * UNIT * (
        (np.abs(x) + np.abs(mean)) * np.abs(gamma) / np.sqrt(variance + 1e-5) + np.abs(beta)
    )  # fmt: skip
    assert (np.abs(floats.run(graph, x) - expected) <= limit).all()


@pytest.mark.parametrize("op", ["conv2d", "depthwise_conv2d"])
@pytest.mark.parametrize("with_bias", [False, True])
def test_folding_keeps_what_is_computed(op, with_bias):
    rng = np.random.default_rng(7)
    x = rng.standard_normal((2, 6, 6, 4), np.float32)
    shape = (4, 3, 3, 4) if op == "conv2d" else (1, 3, 3, 4)
    constants = {"weight": rng.standard_normal(shape, np.float32)}
    if with_bias:
        constants["bias"] = rng.standard_normal(4, np.float32)
    draft = floats.Draft("net", (1, 6, 6, 4))
    y = draft.add(op, "conv", (0,), constants, {**WINDOWS[0], "activation": "none"})
    y = draft.add("batch_norm", "norm", (y,), norm_constants(rng, 4),
                  {"epsilon": 1e-3, "activation": "relu"})  # fmt: skip
    graph = draft.graph(y)
    folded = floats.fold_batch_norms(graph)
    floats.check_floats(folded)
    assert [(n.op, n.attributes["activation"]) for n in folded.nodes] == [(op, "relu")]
    assert [t.name for t in folded.tensors] == ["image", "conv.weight", "conv.bias", "norm/relu"]
    np.testing.assert_allclose(floats.run(folded, x), floats.run(graph, x), rtol=1e-5, atol=1e-5)


def test_folding_refuses_what_it_would_change():
    rng = np.random.default_rng(8)
    options = {"epsilon": 1e-5, "activation": "none"}
    draft = floats.Draft("net", (1, 4, 4, 3))
    y = draft.add("batch_norm", "norm", (0,), norm_constants(rng, 3), options)
    with pytest.raises(ModelError) as caught:
        floats.fold_batch_norms(draft.graph(y))
    assert str(caught.value) == (
        "norm/batch_norm: must follow a convolution or fully connected layer without activation "
        "to be folded, got the graph's input"
    )
    draft = floats.Draft("net", (1, 4, 4, 3))
    weight = {"weight": rng.standard_normal((3, 1, 1, 3), np.float32)}
    x = draft.add("conv2d", "conv", (0,), weight, {**WINDOWS[0], "activation": "none"})
    y = draft.add("batch_norm", "norm", (x,), norm_constants(rng, 3), options)
    y = draft.add("add", "add", (x, y), {}, {"activation": "none"})
    with pytest.raises(ModelError) as caught:
        floats.fold_batch_norms(draft.graph(y))
    assert str(caught.value) == (
        "norm/batch_norm: its input must be read by nothing else to be folded, got 2 readers of "
        "conv/conv2d"
    )


def test_run_refuses_other_shapes():
    graph = one_node("mean", np.zeros((1, 4, 4, 3)), {}, {"axes": (1, 2), "keep_dims": False})
    with pytest.raises(ValueError) as caught:
        floats.run(graph, np.zeros((2, 5, 4, 3)))
    assert str(caught.value) == "image: input must be (images, 4, 4, 3), got (2, 5, 4, 3)"


def test_several_outputs_come_by_name():
    x = np.ones((1, 4, 4, 3), np.float32)
    draft = floats.Draft("two", (1, 4, 4, 3))
    a = draft.add("mean", "rows", (0,), {}, {"axes": (1, 2), "keep_dims": False})
    b = draft.add("mean", "all", (0,), {}, {"axes": (1, 2, 3), "keep_dims": False})
    found = floats.run(draft.graph(a, b), x)
    assert {name: y.shape for name, y in found.items()} == {"rows/mean": (1, 3), "all/mean": (1,)}


def test_check_refuses_what_is_not_finite():
    weight = np.full((3, 1, 1, 3), np.nan, np.float32)
    with pytest.raises(ModelError) as caught:
        one_node("conv2d", np.zeros((1, 4, 4, 3)), {"weight": weight},
                 {**WINDOWS[0], "activation": "none"})  # fmt: skip
    assert str(caught.value) == "tensor node.weight: values must be finite, got nan"


def test_check_refuses_operators_without_float_rule():
    draft = floats.Draft("net", (1, 4))
    with pytest.raises(ModelError) as caught:
        draft.graph(draft.add("mul", "product", (0, 0), {}, {"activation": "none"}))
    assert str(caught.value) == (
        "product/mul: operator must be one of conv2d, depthwise_conv2d, fully_connected, add, "
        "max_pool2d, average_pool2d, mean, pad, reshape, softmax, relu, relu6, batch_norm, got mul"
    )


def test_check_refuses_weights_that_do_not_fit():
    with pytest.raises(ModelError) as caught:
        one_node("conv2d", np.zeros((1, 4, 4, 3)), {"weight": np.zeros((3, 1, 1, 2), np.float32)},
                 {**WINDOWS[0], "activation": "none"})  # fmt: skip
    assert str(caught.value) == (
        "node/conv2d: weights must be (O, KH, KW, I), I a divisor of 3, got (3, 1, 1, 2)"
    )


def test_check_refuses_negative_variance():
    constants = norm_constants(np.random.default_rng(1), 3)
    constants["variance"][1] = -0.5
    with pytest.raises(ModelError) as caught:
        one_node("batch_norm", np.zeros((1, 4, 4, 3)), constants,
                 {"epsilon": 1e-5, "activation": "none"})  # fmt: skip
    assert str(caught.value) == "node/batch_norm: variance must be 0 or more, got -0.5"


def test_check_refuses_constants_that_are_no_weights():
    draft = floats.Draft("net", (1, 4))
    with pytest.raises(ModelError) as caught:
        draft.graph(draft.add("add", "sum", (0,), {"b": np.ones(4, np.float32)},
                              {"activation": "none"}))  # fmt: skip
    assert str(caught.value) == "sum/add: b must be made by a node, got the constant sum.b"
