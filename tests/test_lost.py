"""Lost multipliers: each is told with the reason that holds for its kind of parameter."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft

from npusim import Accumulator, Quantization, Session
from npusim.lost import Lost, lost_multipliers
from npusim.neural_art.settle import settle

FIXED = "M is below 2^-32, where shift ends"


def weighted(scale, rule=None):
    """Two channels, the second with that M; no bias is in the way."""
    draft = Draft()
    draft.fully_connected(draft.input((1, 2), scale=1.0), 2)
    node = draft.nodes[0]
    for index, q in (
        (node.inputs[1], Quantization(np.array([1, scale], np.float32), np.zeros(2), 0)),
        (node.outputs[0], Quantization(np.ones(1), np.array([3]))),
    ):
        draft.tensors[index] = replace(draft.tensors[index], quantization=q)
    graph = draft.graph(node.outputs[0])
    return replace(graph, nodes=(replace(graph.nodes[0], rule=rule),))


def elementwise(op, scales, rule=None):
    """An operator whose inputs and output have these scales."""
    draft = Draft()
    inputs = [draft.input((1, 2, 2, 4), scale=scale) for scale in scales[:-1]]
    for k, index in enumerate(inputs):
        draft.tensors[index] = replace(draft.tensors[index], name="ab"[k])
    attributes = {"mean": {"axes": (1, 2), "keep_dims": True}, "softmax": {"beta": 1.0}}
    attributes |= {op: {"activation": "none"} for op in ("add", "mul")}
    affine = {"scale": scales[-1]}
    if op == "softmax":
        affine = {"scale": 1 / 256, "zero_point": -128}
    y = draft.node(op, inputs, affine=affine, **attributes.get(op, {}))
    graph = draft.graph(y)
    return replace(graph, nodes=(replace(graph.nodes[0], rule=rule),))


@pytest.mark.parametrize(
    ("graph", "expected"),
    [
        (weighted(2.0**-32), ()),
        (weighted(2.0**-33), (Lost(FIXED, (1,)),)),
        (weighted(2.0**-33, "single_rounding"), (Lost(FIXED, (1,)),)),
        (weighted(2.0**-32, "float64_away"), ()),
        (weighted(2.0**-33, "float64_away"),
         (Lost("M, a float, is below 2^-32, half a code at 32 bits", (1,)),)),
        (weighted(2.0**-33, "float32_even"),
         (Lost("M, a float, is below 2^-32, half a code at 32 bits", (1,)),)),
        (replace(weighted(2.0**-33, "float32_even"), accumulator=Accumulator(40)), ()),
        (replace(weighted(2.0**-41, "float32_even"), accumulator=Accumulator(40)),
         (Lost("M, a float, is below 2^-40, half a code at 40 bits", (1,)),)),
        (replace(weighted(2.0**-33, "xnnpack"), profile="neural-art"),
         (Lost("M, a float, is below 2^-32, half a code at 32 bits", (1,)),)),
        (elementwise("mul", (1e-9, 1e-9, 1.0)), (Lost(FIXED, (0,)),)),
        (elementwise("mul", (1e-9, 1e-9, 1.0), "float32_even"),
         (Lost("M, a float, is below 2^-32, half a code at 32 bits", (0,)),)),
        (elementwise("relu", (1e-9, 1e3)), (Lost(FIXED, (0,)),)),
        (elementwise("mean", (1e-9, 1e3)), (Lost(FIXED, (0,)),)),
        (elementwise("add", (1.0, 2.0**-31, 1.0)), ()),
        (elementwise("add", (1.0, 2.0**-32, 1.0)),
         (Lost("the scale of input 1 (b) is below 2^-31 of the other's", (0,)),)),
        (elementwise("add", (2.0**-32, 1.0, 1.0)),
         (Lost("the scale of input 0 (a) is below 2^-31 of the other's", (0,)),)),
        (elementwise("add", (2.0**-20, 1.0, 1.0), "add_xnnpack"), ()),
        (elementwise("add", (2.0**-22, 1.0, 1.0), "add_xnnpack"),
         (Lost("the scale of input 0 (a) rounds to 0 of 21 bits beside the other's", (0,)),)),
        (elementwise("quantize", (2.0**-8, 1.0), "rescale_xnnpack"), ()),
        (elementwise("quantize", (2.0**-9, 1.0), "rescale_xnnpack"),
         (Lost("s_x / s_y, an integer of 2^-8, rounds to 0", (0,)),)),
        (elementwise("mean", (1e-30, 1e30), "mean_xnnpack"),
         (Lost("s_x / s_y / cells is 0 in float32", (0,)),)),
        (elementwise("softmax", (2.0**-58, 1.0)), ()),
        (elementwise("softmax", (2.0**-59, 1.0)),
         (Lost("beta * s_x is below 2^-58, where shift ends", (0,)),)),
    ],
)  # fmt: skip
def test_the_reason_is_that_of_the_parameter(graph, expected):
    node = graph.nodes[0]
    assert lost_multipliers(graph, node) == expected
    ends = np.array([-128, 127, 0, 1], np.int8)
    inputs = {}
    for i in graph.inputs:
        tensor = graph.tensors[i]
        inputs[tensor.name] = np.resize(ends, (6, *tensor.shape[1:]))
    if expected and node.op not in ("add", "softmax"):
        y = Session(graph).run(inputs)[..., expected[0].channels[0]]
        assert len(np.unique(y)) == 1


@pytest.mark.parametrize("index", [0, 1])
@pytest.mark.parametrize("rule", [None, "add_xnnpack"])
def test_a_lost_input_of_add_counts_for_nothing(index, rule):
    scales = [1.0, 1.0, 1.0]
    scales[index] = 2.0**-32
    graph = elementwise("add", scales, rule)
    (found,) = lost_multipliers(graph, graph.nodes[0])
    assert f"input {index} ({'ab'[index]})" in found.reason
    session, rng = Session(graph), np.random.default_rng(1)
    a, b, other = (rng.integers(-128, 128, (3, 2, 2, 4)).astype(np.int8) for _ in range(3))
    before, after = {"a": a, "b": b}, {"a": a, "b": b} | {"ab"[index]: other}
    assert np.array_equal(session.run(before), session.run(after))


def test_a_given_multiplier_of_0_is_given():
    graph = weighted(1.0)
    given = {"multiplier": np.array([1 << 30, 0], np.int32), "shift": np.zeros(2, np.int32)}
    node = replace(graph.nodes[0], given=given)
    graph = replace(graph, nodes=(node,))
    assert lost_multipliers(graph, node) == (Lost("multiplier is given as 0", (1,)),)


@pytest.mark.parametrize(
    ("graph", "given", "expected"),
    [
        (weighted(2.0**-15), {}, ()),
        (weighted(2.0**-20), {}, (Lost("A_c rounds to 0", (1,)),)),
        (weighted(1.0), {"A_c": [0, 5]}, (Lost("A_c is given as 0", (0,)),)),
        (weighted(1.0), {"A2": 0}, (Lost("A2 is given as 0", (0, 1)),)),
        (elementwise("add", (1.0, 2.0**-33, 1.0)), {},
         (Lost("B rounds to 0, that of input 1 (b)", (0,)),)),
        (elementwise("add", (1.0, 1.0, 1.0)), {"A": 0},
         (Lost("A is given as 0, that of input 0 (a)", (0,)),)),
        (elementwise("mean", (1.0, 1.0)), {"mulval": 0, "A": 0},
         (Lost("mulval is given as 0", (0,)), Lost("A is given as 0", (0,)))),
    ],
)  # fmt: skip
def test_coefficients_of_neural_art_are_named(graph, given, expected):
    graph = settle(replace(graph, profile="neural-art"), {graph.nodes[0].name: given})
    assert lost_multipliers(graph, graph.nodes[0]) == expected
