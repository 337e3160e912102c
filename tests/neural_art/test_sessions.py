"""Sessions under neural-art: raw sums, live weights, equal bits everywhere."""

import numpy as np
import pytest
from fuzz.agreement import EXECUTORS, open_session
from graphs import Draft, codes
from naive import operators

import npusim
from npusim.affine import zero_point


def layers(profile="neural-art"):
    """Every weighted operator, grouped and strided ones too."""
    draft = Draft(11)
    x = draft.input((1, 7, 6, 4))
    y = draft.conv2d(x, 6, groups=2, stride=(2, 1))
    y = draft.depthwise_conv2d(y, (3, 3), multiplier=2, dilation=(1, 2))
    flat = draft.node("reshape", [y], shape=(1, 4 * 6 * 12))
    return draft.graph(draft.fully_connected(flat, 5), profile=profile)


@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("profile", ["neural-art", "tflm"])
def test_raw_sums_match_naive(executor, profile):
    graph = layers(profile)
    session = open_session(graph, executor)
    x = codes(graph, 3)
    trace, sums = dict(session.trace(x)), dict(session.raw_sums(x))
    assert list(sums) == ["conv2d_0", "depthwise_conv2d_0", "fully_connected_0"]
    for name, actual in sums.items():
        node = graph.node(name)
        source, weights = (graph.tensors[i] for i in node.inputs[:2])
        a = node.attributes
        walk = [(a["stride"], a["dilation"], "SAME")] if "stride" in a else []
        expected = getattr(operators, f"{node.op}_accumulators")(
            trace[source.name], weights.data, None, zero_point(source), *walk
        )
        assert actual.dtype == np.int32
        assert actual.shape == trace[graph.tensors[node.outputs[0]].name].shape
        assert np.array_equal(actual.reshape(expected.shape), expected)


def test_raw_sums_that_leave_24_bits_are_clamped():
    draft = Draft(1)
    x = draft.input((1, 600), zero_point=-128)
    weights = draft.constant("w", np.full((2, 600), [[127], [-128]], np.int8), [0.01, 0.01], 0)
    y = draft.node("fully_connected", [x, weights, -1], activation="none", keep_dims=False)
    session = npusim.Session(draft.graph(y, profile="neural-art"))
    x = np.stack([np.full(600, 127, np.int8), np.full(600, -127, np.int8)])
    ((_, sums),) = session.raw_sums(x)
    assert sums.tolist() == [[2**23 - 1, -(2**23)], [600 * 127, -600 * 128]]


@pytest.mark.parametrize("executor", EXECUTORS)
def test_weights_are_live(executor):
    graph = layers()
    names = ["conv2d_0", "depthwise_conv2d_0", "fully_connected_0"]
    session = open_session(graph, executor)
    x = codes(graph, 2)
    expected = session.run(x)
    changing = npusim.Session(graph, trainable=names)
    for name in names:
        changing.weights[name][:] = -changing.weights[name]
        assert not np.array_equal(changing.run(x), expected)
        changing.weights[name][:] = -changing.weights[name]
        assert np.array_equal(changing.run(x), expected)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_prefix_continues_to_the_same_bits(executor):
    graph = layers()
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("NPUSIM_ISA", executor)
        session = npusim.Session(graph, trainable=["fully_connected_0"], threads=2)
    x = codes(graph, 5)
    assert np.array_equal(session.run_from(session.prefix(x)), session.run(x))


def test_relu_clamps_where_zero_is_not_the_lowest_code():
    draft = Draft(3)
    x = draft.input((1, 3, 3, 2))
    graph = draft.graph(draft.conv2d(x, 4, activation="relu"), profile="neural-art")
    y = npusim.Session(graph).run(codes(graph, 20))
    zero = zero_point(graph.tensors[graph.outputs[0]])
    assert (int(y.min()), zero > -128) == (zero, True)
