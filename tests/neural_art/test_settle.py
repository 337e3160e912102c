"""Settled graphs: parameters are data, kept through files, sessions and training."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft, codes
from naive import neural_art as naive
from neural_art.test_given import sample, values

import npusim
from npusim.neural_art.settle import settle
from npusim.neural_art.stored import family, on_hardware, read
from npusim.profiles import PROFILES
from npusim.resize import resize


def test_operators_on_hardware():
    graph = sample()
    assert [family(graph, node) for node in graph.nodes] == [
        "weighted", "add", None, "mean", "weighted",
    ]  # fmt: skip
    assert not any(on_hardware(replace(graph, profile="tflm"), node) for node in graph.nodes)


def test_a_single_node_may_run_on_hardware():
    """The rule of a node goes before its profile's."""
    plain = sample("tflm")
    first = replace(plain.nodes[0], rule="neural_art")
    mixed = settle(replace(plain, nodes=(first, *plain.nodes[1:])), {"conv2d_0": {"s0": 6}})
    assert [family(mixed, node) for node in mixed.nodes] == ["weighted", None, None, None, None]
    x = codes(plain, 3)
    traces = {
        name: dict(npusim.Session(graph).trace(x))
        for name, graph in (("mixed", mixed), ("tflm", plain), ("all", settle(sample(), {
            "conv2d_0": {"s0": 6}})))
    }  # fmt: skip
    y = plain.tensors[plain.nodes[0].outputs[0]].name
    assert np.array_equal(traces["mixed"][y], traces["all"][y])
    assert not np.array_equal(traces["mixed"][y], traces["tflm"][y])
    session = npusim.Session(mixed)
    assert set(session.requantization) == {"fully_connected_0"}


def test_a_single_node_may_run_on_the_host():
    graph = sample()
    first = replace(graph.nodes[0], rule="double_rounding")
    hosted = settle(replace(graph, nodes=(first, *graph.nodes[1:])))
    assert hosted.nodes[0].given == {}
    x = codes(graph, 3)
    y = graph.tensors[graph.nodes[0].outputs[0]].name
    actual, expected = (dict(npusim.Session(g).trace(x))[y] for g in (hosted, sample("tflm")))
    assert np.array_equal(actual, expected)


def test_mean_of_other_axes_is_the_hosts():
    draft = Draft(1)
    x = draft.input((1, 4, 4, 3))
    graph = draft.graph(draft.node("mean", [x], axes=(3,), keep_dims=False), profile="neural-art")
    plain = replace(graph, profile="tflm")
    x = codes(graph, 3)
    assert np.array_equal(npusim.Session(graph).run(x), npusim.Session(plain).run(x))


def test_settling_again_changes_nothing():
    graph = settle(sample(), {"conv2d_0": {"s0": 2}})
    assert settle(graph) == graph


def test_graph_comes_back_from_a_file(tmp_path):
    graph = settle(sample(), {"conv2d_0": {"s0": 2}, "*": {"ties": "even"}})
    npusim.save(graph, tmp_path / "m.h5")
    assert npusim.load(tmp_path / "m.h5") == graph


def test_new_parameters_join_those_of_the_file(tmp_path):
    npusim.save(settle(sample(), {"conv2d_0": {"s0": 2}}), tmp_path / "m.h5")
    again = npusim.load(tmp_path / "m.h5", parameters={"conv2d_0": {"ties": "up"}})
    assert set(read(again.node("conv2d_0")).given) == {"s0", "ties"}
    assert values(again, "conv2d_0")["s0"] == (2,)


def test_another_profile_drops_what_was_derived(tmp_path):
    npusim.save(settle(sample(), {"conv2d_0": {"s0": 2}}), tmp_path / "m.h5")
    plain = npusim.load(tmp_path / "m.h5", profile="tflm")
    assert {name for node in plain.nodes for name in node.given} == {"s0"}
    x = codes(plain, 2)
    expected = npusim.Session(sample("tflm")).run(x)
    assert np.array_equal(npusim.Session(plain).run(x), expected)


def test_s0_stays_when_weights_are_trained():
    session = npusim.Session(sample(), trainable=["conv2d_0"])
    before = values(session.graph, "conv2d_0")
    session.weights["conv2d_0"][:] //= 16
    x = codes(session.graph, 4)
    trained = session.snapshot()
    assert values(trained, "conv2d_0") == before
    assert np.array_equal(npusim.Session(trained).run(x), session.run(x))
    fresh = replace(trained, nodes=tuple(replace(n, given={}) for n in trained.nodes))
    assert values(settle(fresh), "conv2d_0")["s0"] != before["s0"]


def test_bias_cannot_be_trained():
    with pytest.raises(ValueError) as caught:
        npusim.Session(sample(), trainable=["conv2d_0", "fully_connected_0/bias"])
    assert str(caught.value) == (
        "fully_connected_0/fully_connected: fully_connected under neural-art rounds by neural_art: "
        "its bias cannot be trained, being part of BC_c, a coefficient frozen in the compiled "
        "stream; train weights"
    )


def test_frozen_coefficients_are_not_shown_as_live():
    session = npusim.Session(sample())
    assert dict(session.requantization) == {}
    assert dict(session.biases) == {}


@pytest.mark.parametrize("chosen", [(24, "saturate"), (32, "wrap"), (64, "error")])
def test_no_accumulator_but_its_own_can_be_named(chosen):
    with pytest.raises(npusim.ModelError) as caught:
        npusim.Session(sample(), accumulator=npusim.Accumulator(*chosen))
    assert str(caught.value) == (
        "accumulator: must be 64 bits, wrap under profile neural-art, whose sums are exact, "
        f"got {chosen[0]} bits, {chosen[1]}; name that one or another profile"
    )


def test_its_own_accumulator_may_be_named(tmp_path):
    own = PROFILES["neural-art"].accumulator
    graph = replace(sample(), accumulator=own)
    x = codes(graph, 3)
    expected = npusim.Session(sample()).run(x)
    assert np.array_equal(npusim.Session(sample(), accumulator=own).run(x), expected)
    npusim.save(graph, tmp_path / "m.h5")
    assert npusim.load(tmp_path / "m.h5").accumulator == own


def test_resized_maps_have_another_average():
    draft = Draft(2)
    x = draft.input((1, 6, 6, 3))
    y = draft.node("mean", [draft.conv2d(x, 3)], axes=(1, 2), keep_dims=True)
    graph = settle(draft.graph(y, profile="neural-art"))
    assert values(graph, "mean_0")["cells"] == (36,)
    wide = settle(resize(graph, (8, 12)))
    assert values(wide, "mean_0")["mulval"] == ((1 << naive_k(96)) // 96,)
    assert values(npusim.Session(resize(graph, (8, 12))).graph, "mean_0") == values(wide, "mean_0")
    assert values(wide, "conv2d_0") == values(graph, "conv2d_0")


def naive_k(cells):
    return naive.derived_average((1.0, 0), (1.0, 0), cells).k


def test_scale_that_neural_art_cannot_hold_is_refused():
    graph = sample()
    y = graph.nodes[0].outputs[0]
    tiny = replace(graph.tensors[y], quantization=npusim.Quantization(1e-9, 0))
    tensors = (*graph.tensors[:y], tiny, *graph.tensors[y + 1 :])
    with pytest.raises(npusim.ModelError) as caught:
        npusim.Session(replace(graph, tensors=tensors))
    assert str(caught.value) == (
        "conv2d_0/conv2d: conv2d under neural-art rounds by neural_art: scales must give a "
        "coefficient below 2^15, got 6.15411e+07"
    )


def test_two_stages_are_one_multiplication():
    """Compiler 1.1.3: y = sat8(RND((r0*A + C_c) / 2^s2))."""
    draft = Draft(7)
    x = draft.input((1, 40), zero_point=-128)
    graph = draft.graph(draft.fully_connected(x, 6), profile="neural-art")
    weights = graph.nodes[0].inputs[1]
    one_scale = npusim.Quantization(graph.tensors[weights].quantization.scale[:1], 0)
    tensors = list(graph.tensors)
    tensors[weights] = replace(tensors[weights], quantization=one_scale)
    graph = settle(replace(graph, tensors=tuple(tensors)), {"*": {"stages": 2}})
    v = values(graph, "fully_connected_0")
    assert (v["A_c"], v["s1"]) == ((1,) * 6, (0,))
    assert 2**14 <= v["A2"][0] < 2**15
    inputs = codes(graph, 5)
    y = npusim.Session(graph).run(inputs)
    rows = next(iter(inputs.values())).astype(int) + 128
    sums = rows @ graph.tensors[weights].data.astype(int).T
    expected = [
        [
            naive.saturate(
                naive.quotient(
                    naive.saturate(naive.quotient(int(acc), v["s0"][0], "away"), 16) * v["A2"][0]
                    + v["BC_c"][c],
                    v["s2"][0],
                    "away",
                ),
                8,
            )
            for c, acc in enumerate(row)
        ]
        for row in sums
    ]
    assert y.tolist() == expected
