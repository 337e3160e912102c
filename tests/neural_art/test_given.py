"""Parameters that a user gives: what they reach, and what is refused by name."""

from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft

import npusim
from npusim.check_nodes import GIVEN
from npusim.neural_art.given import read_parameters
from npusim.neural_art.settle import settle
from npusim.neural_art.stored import NAMES, labelled, read

RULE = "conv2d_0/conv2d: conv2d under neural-art rounds by neural_art: "


def sample(profile="neural-art"):
    """A convolution, an add, a global average, a pool and a classifier."""
    draft = Draft(5)
    x = draft.input((1, 6, 6, 4), zero_point=-128)
    y = draft.conv2d(x, 4, (5, 5), activation="relu")
    y = draft.node("add", [y, x], activation="none")
    y = draft.node("max_pool2d", [y], kernel=(2, 2), stride=(2, 2), padding="valid",
                   activation="none")  # fmt: skip
    y = draft.node("mean", [y], axes=(1, 2), keep_dims=False)
    return draft.graph(draft.fully_connected(y, 3), profile=profile)


def values(graph, node):
    return {label.name: label.values for label in labelled(graph, graph.node(node))}


def origins(graph, node):
    return {p.name for p in labelled(graph, graph.node(node)) if p.origin == "given"}


def test_own_values_go_before_those_for_all():
    graph = settle(sample(), {"*": {"s0": 5, "ties": "up"},
                              "conv2d_0": {"s0": 2, "ties": ["away", "even", "up"]}})  # fmt: skip
    convolution, head = values(graph, "conv2d_0"), values(graph, "fully_connected_0")
    assert (convolution["s0"], head["s0"]) == ((2,), (5,))
    assert (convolution["ties"], head["ties"]) == (("away", "even", "up"), ("up",) * 3)
    assert values(graph, "add_0")["ties"] == ("up",)
    assert values(graph, "mean_0")["ties"] == ("up", "up")


def test_a_list_of_ties_for_all_reaches_nodes_with_as_many_stages():
    graph = settle(sample(), {"*": {"ties": ["even", "up"]}})
    assert values(graph, "mean_0")["ties"] == ("even", "up")
    assert values(graph, "conv2d_0")["ties"] == ("away", "away", "away")


def test_labels_say_what_was_given():
    graph = settle(sample(), {"conv2d_0": {"s0": 3, "A_c": [5, 6, 7, 8], "rows": [3, 1, 1]}})
    assert origins(graph, "conv2d_0") == {"s0", "A_c", "rows"}
    assert origins(graph, "add_0") == set()
    assert set(read(graph.node("conv2d_0")).derived) == {
        "stages", "f", "s1", "s2", "A2", "BC_c", "columns", "slabs", "partial_bits", "ties",
    }  # fmt: skip


def test_one_number_serves_all_channels():
    given = {"A_c": 77, "BC_c": np.int64(-5)}
    graph = settle(sample(), {"conv2d_0": given})
    assert values(graph, "conv2d_0")["A_c"] == (77,) * 4
    assert values(graph, "conv2d_0")["BC_c"] == (-5,) * 4


def test_what_follows_from_a_given_value_is_derived_from_it():
    plain, given = (settle(sample(), p) for p in ({}, {"conv2d_0": {"s0": 0}}))
    before, after = values(plain, "conv2d_0"), values(given, "conv2d_0")
    moved = before["s0"][0] + before["s1"][0]
    assert after["s1"] == (moved,)
    assert after["A_c"] == before["A_c"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"conv2d_9": {"s0": 3}}, "parameters: nodes must be of *, conv2d_0, add_0, mean_0, "
         "fully_connected_0, got 'conv2d_9'"),
        ({"max_pool2d_0": {"s0": 3}}, "parameters: nodes must be of *, conv2d_0, add_0, mean_0, "
         "fully_connected_0, got 'max_pool2d_0'; max_pool2d under neural-art rounds by exact and "
         "takes none"),
        ({"conv2d_0": {"S0": 3}}, "parameters: conv2d_0: must be of stages, s0, f, s1, A_c, s2, "
         "A2, BC_c, rows, columns, slabs, partial_bits, ties, got 'S0'"),
        ({"mean_0": {"cells": 9}}, "parameters: mean_0: must be of mulval, k, A, q, C, ties, "
         "product_rounding, got 'cells'"),
        ({"*": {"mulvel": 3}}, "parameters: *: must be parameters of some node, got 'mulvel': 3"),
        ({"*": {"ties": ["up"] * 4}}, "parameters: *: must be parameters of some node, "
         "got 'ties': ['up', 'up', 'up', 'up']"),
        ({"conv2d_0": {"s0": 32}}, "parameters: conv2d_0: s0 must be in 0..31, got 32"),
        ({"conv2d_0": {"s0": 2.0}}, "parameters: conv2d_0: s0 must be integers, got 2.0"),
        ({"conv2d_0": {"s0": True}}, "parameters: conv2d_0: s0 must be integers, got True"),
        ({"conv2d_0": {"s0": [1, 2]}}, "parameters: conv2d_0: s0 must hold 1 number, got 2"),
        ({"conv2d_0": {"A_c": [1, 2]}}, "parameters: conv2d_0: A_c must hold 4 numbers, got 2"),
        ({"conv2d_0": {"A_c": 2**15}}, "parameters: conv2d_0: A_c must be in -32768..32767, "
         "got 32768"),
        ({"conv2d_0": {"BC_c": 10**30}}, "parameters: conv2d_0: BC_c must be in "
         f"-2147483648..2147483647, got {10**30}"),
        ({"conv2d_0": {"rows": [3, 3]}}, "parameters: conv2d_0: rows must add up to 5, got [3, 3]"),
        ({"conv2d_0": {"slabs": [4, 0]}}, "parameters: conv2d_0: slabs must be in 1..2147483647, "
         "got 0"),
        ({"conv2d_0": {"partial_bits": 20}}, "parameters: conv2d_0: partial_bits must be 16 or "
         "24, got 20"),
        ({"conv2d_0": {"ties": "floor"}}, "parameters: conv2d_0: ties must be of away, even, up, "
         "got 'floor'"),
        ({"conv2d_0": {"ties": 1}}, "parameters: conv2d_0: ties must be of away, even, up, got 1"),
        ({"conv2d_0": {"ties": ["up", "up"]}}, "parameters: conv2d_0: ties must hold 3 numbers, "
         "got 2"),
        ({"mean_0": {"product_rounding": "down"}}, "parameters: mean_0: product_rounding must be "
         "of away, even, up, floor, got 'down'"),
    ],
)  # fmt: skip
def test_wrong_parameters_are_refused(parameters, message):
    with pytest.raises(ValueError) as caught:
        settle(sample(), parameters)
    assert str(caught.value) == message


def test_derived_parameter_that_does_not_fit_is_refused():
    with pytest.raises(npusim.ModelError) as caught:
        settle(sample(), {"conv2d_0": {"f": -60}})
    assert str(caught.value).startswith(f"{RULE}A2 must fit 32 bits, got ")


def test_stages_must_be_three_for_scales_per_channel():
    with pytest.raises(npusim.ModelError) as caught:
        settle(sample(), {"conv2d_0": {"stages": 2}})
    assert str(caught.value) == (
        f"{RULE}stages must be 3 for weights with a scale per channel, got 2"
    )


def test_other_profiles_take_none():
    with pytest.raises(ValueError, match="parameters: profile must be neural-art to take any, got"):
        settle(sample("tflm"), {"*": {"s0": 3}})


def test_parameters_come_from_json(tmp_path):
    path = tmp_path / "p.json"
    path.write_text('{"*": {"ties": "even"}, "conv2d_0": {"s0": 1}}')
    graph = settle(sample(), read_parameters(path))
    assert (values(graph, "conv2d_0")["s0"], values(graph, "add_0")["ties"]) == ((1,), ("even",))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": ', "must be JSON, got Expecting value"),
        ('{"a": ' * 100_000, "must be JSON of three levels, got far more"),
        ('{"a": {}, "b": {}, "a": {}}',
         "must be JSON, got the name 'a' 2 times in one object"),
        ('{"a": {"s0": 1, "s0": 2}}', "must be JSON, got the name 's0' 2 times in one object"),
        ("[1]", 'must be like {"conv2d_0": {"s0": 3}}, got something else'),
        ('{"conv2d_0": 3}', 'must be like {"conv2d_0": {"s0": 3}}, got something else'),
    ],
)  # fmt: skip
def test_files_that_hold_no_parameters_are_refused(tmp_path, text, message):
    path = tmp_path / "p.json"
    path.write_text(text)
    with pytest.raises(npusim.ModelError) as caught:
        read_parameters(path)
    assert str(caught.value).startswith(f"{path}: {message}")


def test_names_are_no_other_given_parameters():
    assert NAMES.isdisjoint(GIVEN)


def test_file_with_a_wrong_parameter_is_refused():
    graph = settle(sample())
    node = graph.nodes[0]
    wrong = replace(node, given={**node.given, "derived_s0": np.array([40], np.int32)})
    with pytest.raises(npusim.ModelError) as caught:
        npusim.Session(replace(graph, nodes=(wrong, *graph.nodes[1:])))
    assert str(caught.value) == f"{RULE}s0 must be in 0..31, got 40"
