"""Fused graphs compute what they did, and only what fits is fused."""

import numpy as np

from npusim import floats
from npusim.floats.fuse import fuse

CONV = {"stride": (1, 1), "dilation": (1, 1), "padding": "valid", "activation": "none"}
POOL = {"kernel": (2, 2), "stride": (1, 1), "padding": "valid", "activation": "none"}
PAD = {"padding": ((0, 0), (1, 2), (0, 1), (0, 0))}


def weight():
    w = np.random.default_rng(1).standard_normal((3, 3, 3, 3)).astype(np.float32)
    return {"weight": w, "bias": np.float32([0.5, -0.5, 0])}


def fused(build):
    """(nodes before, nodes after): the outputs of both are compared."""
    draft = floats.Draft("net", (1, 7, 7, 3))
    graph = draft.graph(build(draft))
    short = fuse(graph)
    x = np.random.default_rng(2).standard_normal((2, 7, 7, 3)).astype(np.float32)
    np.testing.assert_array_equal(floats.run(short, x), floats.run(graph, x))
    floats.check_floats(short)
    return [n.op for n in short.nodes], short


def test_activation_and_padding_join_a_convolution():
    def build(draft):
        y = draft.add("pad", "pad", (0,), {}, PAD)
        y = draft.add("conv2d", "conv", (y,), weight(), {**CONV, "padding": (1, 0, 0, 1)})
        return draft.add("relu6", "six", (y,), {}, {})

    ops, graph = fused(build)
    assert ops == ["conv2d"]
    assert graph.nodes[0].attributes["padding"] == (2, 2, 0, 2)
    assert graph.nodes[0].attributes["activation"] == "relu6"
    assert graph.tensors[graph.outputs[0]].name == "six/relu6"


def test_second_activation_stays():
    def build(draft):
        y = draft.add("conv2d", "conv", (0,), weight(), {**CONV, "activation": "relu"})
        return draft.add("relu6", "six", (y,), {}, {})

    assert fused(build)[0] == ["conv2d", "relu6"]


def test_output_that_is_read_twice_stays():
    def build(draft):
        y = draft.add("conv2d", "conv", (0,), weight(), CONV)
        z = draft.add("relu", "relu", (y,), {}, {})
        return draft.add("add", "sum", (y, z), {}, {"activation": "none"})

    assert fused(build)[0] == ["conv2d", "relu", "add"]


def test_padding_of_pools_and_of_two_readers_stays():
    def pool(draft):
        y = draft.add("pad", "pad", (0,), {}, PAD)
        return draft.add("max_pool2d", "pool", (y,), {}, POOL)

    def two(draft):
        y = draft.add("pad", "pad", (0,), {}, PAD)
        a = draft.add("conv2d", "a", (y,), weight(), CONV)
        b = draft.add("conv2d", "b", (y,), weight(), CONV)
        return draft.add("add", "sum", (a, b), {}, {"activation": "none"})

    def same(draft):
        y = draft.add("pad", "pad", (0,), {}, PAD)
        return draft.add("conv2d", "a", (y,), weight(), {**CONV, "padding": "same"})

    assert fused(pool)[0] == ["pad", "max_pool2d"]
    assert fused(two)[0] == ["pad", "conv2d", "conv2d", "add"]
    assert fused(same)[0] == ["pad", "conv2d"]


def test_activation_of_the_graphs_input_stays():
    assert fused(lambda draft: draft.add("relu", "relu", (0,), {}, {}))[0] == ["relu"]
