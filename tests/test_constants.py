"""Constants a session may change: how they are found, and how changes become a graph again."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft

from npusim.check import check
from npusim.constants import find_constant, has_bias, with_biases, with_constants
from npusim.graph import ABSENT, Quantization
from npusim.requantization import weighted


def two_layers(bias=True, seed=2):
    draft = Draft(seed)
    x = draft.conv2d(draft.input((1, 4, 4, 2)), 3, bias=bias)
    return draft.graph(draft.conv2d(x, 4))


def shared_weights():
    """Two layers that read one weights and one bias tensor."""
    draft = Draft(3)
    first = draft.conv2d(draft.input((1, 4, 4, 2)), 2)
    node = draft.nodes[0]
    affine = {"scale": 0.1, "zero_point": 0}
    second = draft.node("conv2d", (first, *node.inputs[1:]), affine=affine, **node.attributes)
    return draft.graph(second)


def requantizations(graph):
    """Writable multipliers and shifts of every weighted node."""
    found = {}
    for node in graph.nodes:
        r = weighted(graph, node)
        found[node.name] = r._replace(multiplier=r.multiplier.copy(), shift=r.shift.copy())
    return found


def assert_requantizes(graph, expected):
    check(graph)
    for name, r in expected.items():
        actual = weighted(graph, graph.node(name))
        assert actual.multiplier.tolist() == r.multiplier.tolist()
        assert actual.shift.tolist() == r.shift.tolist()


def test_constant_is_found_by_its_name_its_nodes_and_its_bias():
    graph = two_layers()
    weights, bias = graph.nodes[1].inputs[1:]
    assert find_constant(graph, graph.tensors[weights].name) == weights
    assert find_constant(graph, "conv2d_1") == weights
    assert find_constant(graph, graph.tensors[bias].name) == bias
    assert find_constant(graph, "conv2d_1/bias") == bias


def test_a_tensors_own_name_comes_before_a_nodes():
    graph = two_layers()
    weights = graph.nodes[0].inputs[1]
    tensors = list(graph.tensors)
    tensors[weights] = replace(tensors[weights], name="conv2d_1")
    assert find_constant(replace(graph, tensors=tuple(tensors)), "conv2d_1") == weights


def test_unknown_constant_names_the_closest():
    with pytest.raises(KeyError) as caught:
        find_constant(two_layers(bias=False), "head")
    assert caught.value.args[0] == (
        "graph draft: no weights or bias are called 'head'; "
        "first of 6: conv2d_0, conv2d_1, conv2d_1/bias"
    )


def test_graph_without_weights_says_so():
    draft = Draft()
    graph = draft.graph(draft.node("relu", [draft.input((1, 4))]))
    with pytest.raises(KeyError, match="no weights or bias are called 'head'; there are none"):
        find_constant(graph, "head")


def test_with_biases_adds_zeros_where_there_are_none():
    graph = with_biases(two_layers(bias=False))
    check(graph)
    added = graph.tensors[-1]
    assert (added.name, added.dtype, added.kind) == ("conv2d_0/bias", "int32", "constant")
    assert added.data.tolist() == [0, 0, 0]
    assert graph.nodes[0].inputs[2] == len(graph.tensors) - 1
    streams = [tensor.stream for tensor in graph.tensors]
    assert len(set(streams)) == len(streams)


def test_with_biases_leaves_a_graph_that_has_them():
    graph = two_layers()
    assert with_biases(graph) == graph


def test_with_biases_is_idempotent():
    graph = with_biases(two_layers(bias=False))
    assert with_biases(graph) == graph


def test_with_biases_avoids_names_that_are_taken():
    graph = two_layers(bias=False)
    tensors = [replace(t, name=n) for t, n in zip(graph.tensors, ["conv2d_0/bias", *"abcde"],
                                                  strict=False)]  # fmt: skip
    completed = with_biases(replace(graph, tensors=tuple(tensors)))
    check(completed)
    assert completed.tensors[-1].name == "conv2d_0/bias#2"
    assert find_constant(completed, "conv2d_0/bias#2") == len(completed.tensors) - 1


def test_has_bias_sees_absent_ones():
    assert [has_bias(node) for node in two_layers(bias=False).nodes] == [False, True]
    node = replace(two_layers().nodes[0], inputs=(0, 1))
    assert not has_bias(node)
    assert not has_bias(replace(node, inputs=(0, 1, ABSENT)))


def test_with_constants_takes_new_values():
    graph = two_layers()
    weights, bias = graph.nodes[0].inputs[1:]
    values = {weights: np.full((3, 3, 3, 2), -7, np.int8), bias: np.array([1, 2, 3], np.int32)}
    changed = with_constants(graph, values, {})
    check(changed)
    assert (changed.tensors[weights].data == -7).all()
    assert changed.tensors[bias].data.tolist() == [1, 2, 3]
    back = with_constants(changed, {i: graph.tensors[i].data for i in values}, {})
    assert back == graph


def test_requantization_that_follows_from_the_scales_changes_nothing():
    graph = two_layers()
    assert with_constants(graph, {}, requantizations(graph)) == graph


def test_doubled_channels_double_their_scales():
    graph = two_layers()
    wanted = requantizations(graph)
    wanted["conv2d_0"].shift[:] += [1, 0, 3]
    changed = with_constants(graph, {}, wanted)
    assert_requantizes(changed, wanted)
    weights, bias = graph.nodes[0].inputs[1:]
    for i in (weights, bias):
        ratio = changed.tensors[i].quantization.scale / graph.tensors[i].quantization.scale
        assert ratio.tolist() == [2, 1, 8]
    assert not changed.nodes[0].given
    assert changed.tensors[0] == graph.tensors[0]


def test_halved_channels_halve_their_scales():
    graph = two_layers()
    wanted = requantizations(graph)
    wanted["conv2d_1"].shift[2] -= 2
    changed = with_constants(graph, {}, wanted)
    assert_requantizes(changed, wanted)
    assert not changed.nodes[1].given


def test_other_multipliers_are_stored_as_given():
    graph = two_layers()
    wanted = requantizations(graph)
    wanted["conv2d_0"].multiplier[1] ^= 1
    changed = with_constants(graph, {}, wanted)
    assert_requantizes(changed, wanted)
    assert set(changed.nodes[0].given) == {"multiplier", "shift"}
    assert [t.quantization for t in changed.tensors] == [t.quantization for t in graph.tensors]


def test_given_multipliers_stay_given():
    graph = two_layers()
    wanted = requantizations(graph)
    wanted["conv2d_0"].multiplier[:] = 2**30
    once = with_constants(graph, {}, wanted)
    wanted["conv2d_0"].shift[:] += 1
    twice = with_constants(once, {}, wanted)
    assert_requantizes(twice, wanted)
    assert set(twice.nodes[0].given) == {"multiplier", "shift"}


def test_unequal_doublings_of_one_scale_are_stored_as_given():
    graph = two_layers()
    weights = graph.nodes[0].inputs[1]
    tensors = list(graph.tensors)
    tensors[weights] = replace(tensors[weights], quantization=Quantization(0.01, 0))
    graph = replace(graph, tensors=tuple(tensors))
    wanted = requantizations(graph)
    wanted["conv2d_0"].shift[:] += [1, 0, 0]
    assert_requantizes(with_constants(graph, {}, wanted), wanted)
    wanted = requantizations(graph)
    wanted["conv2d_0"].shift[:] += 1
    changed = with_constants(graph, {}, wanted)
    assert_requantizes(changed, wanted)
    assert not changed.nodes[0].given


def test_weights_of_two_nodes_keep_their_scales():
    """A scale that served one node would change the other."""
    graph = shared_weights()
    wanted = requantizations(graph)
    wanted["conv2d_1"].shift[0] += 1
    assert_requantizes(with_constants(graph, {}, wanted), wanted)
    wanted["conv2d_0"].shift[:] -= 1
    assert_requantizes(with_constants(graph, {}, wanted), wanted)


def test_channel_of_scale_zero_that_gets_a_shift_is_given():
    graph = two_layers()
    weights = graph.nodes[0].inputs[1]
    tensors = list(graph.tensors)
    scale = tensors[weights].quantization.scale.copy()
    scale[0] = 0
    tensors[weights] = replace(tensors[weights], quantization=Quantization(scale, [0, 0, 0], 0))
    graph = replace(graph, tensors=tuple(tensors))
    wanted = requantizations(graph)
    wanted["conv2d_0"].shift[0] += 1
    assert_requantizes(with_constants(graph, {}, wanted), wanted)
