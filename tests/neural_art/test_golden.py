"""Golden files of runs on Neural-ART: every parameter, labelled given or derived, and read back."""

import json
from dataclasses import replace

import numpy as np
import pytest
from graphs import codes
from neural_art.test_given import sample

import npusim
from npusim import cli, golden
from npusim.golden.record import as_recorded, given_parameters, graph_hash
from npusim.neural_art.settle import settle
from npusim.neural_art.stored import labelled, read, rules

GIVEN = {
    "conv2d_0": {"s0": [2], "A_c": [5, 6, 7, 8], "rows": [3, 1, 1], "partial_bits": [24],
                 "ties": ["away", "even", "up"]},
    "add_0": {"operand_rounding": ["up"]},
    "mean_0": {"C": [-70000], "ties": ["up", "away"]},
}  # fmt: skip


def recorded(graph, count=2):
    return golden.record(graph, codes(graph, count), threads=1)


def test_every_parameter_is_recorded_with_its_label():
    graph = settle(sample(), GIVEN)
    for node, found in zip(graph.nodes, recorded(graph).nodes, strict=True):
        stored = read(node)
        for name in rules(graph, node):
            assert np.array_equal(found.parameters[name].values, stored.values[name])
        given = {name for name, p in found.parameters.items() if p.origin == "given"}
        assert given == set(GIVEN.get(node.name, {}))
    convolution = recorded(graph).nodes[0].parameters
    assert {"s0", "s1", "f", "A_c", "A2", "BC_c", "rows", "columns", "slabs", "partial_bits",
            "ties", "pad_top", "x_zero_point", "act_max"} <= set(convolution)  # fmt: skip
    assert (convolution["n"].values, convolution["n"].origin) == (2, "derived")


def test_file_keeps_labels(tmp_path):
    run = recorded(settle(sample(), GIVEN))
    golden.save(run, tmp_path / "g.h5")
    loaded = golden.load(tmp_path / "g.h5")
    for before, after in zip(run.nodes, loaded.nodes, strict=True):
        assert {k: p.origin for k, p in before.parameters.items()} == {
            k: p.origin for k, p in after.parameters.items()
        }
    assert given_parameters(loaded) == GIVEN
    assert loaded.nodes[0].parameters["ties"].values.tolist() == [0, 1, 2]


def test_graph_that_is_not_settled_gives_the_same_bytes():
    graph = sample()
    assert golden.to_bytes(recorded(graph)) == golden.to_bytes(recorded(settle(graph)))
    assert graph_hash(graph) == graph_hash(settle(graph))


def test_recorded_parameters_make_the_recorded_graph():
    graph = settle(sample(), GIVEN)
    run = recorded(graph)
    again = as_recorded(sample("tflm"), run)
    assert graph_hash(again) == run.graph_sha256
    assert [labelled(again, n) for n in again.nodes] == [labelled(graph, n) for n in graph.nodes]


def test_host_nodes_are_recorded_as_ever():
    graph = sample()
    first = replace(graph.nodes[0], rule="double_rounding")
    mixed = settle(replace(graph, nodes=(first, *graph.nodes[1:])))
    assert "multiplier" in recorded(mixed).nodes[0].parameters
    assert "s0" not in recorded(mixed).nodes[0].parameters


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    """Runs npusim in a folder with model.h5 and p.json: (exit code, output, error)."""
    monkeypatch.chdir(tmp_path)
    npusim.save(sample("tflm"), tmp_path / "model.h5")
    (tmp_path / "p.json").write_text('{"conv2d_0": {"s0": 6, "partial_bits": 24}}')

    def run(*arguments):
        code = cli.main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


ART = ("--profile", "neural-art")
P = ("--parameters", "p.json")


def test_golden_says_what_was_given(command):
    save = ("golden", "model.h5", "--random", 1, "--output", "g.h5", *ART)
    _, out, _ = command(*save, *P)
    assert out.splitlines()[2] == "given   conv2d_0 s0, partial_bits; all else is derived"
    assert "given" not in command(*save)[1]
    _, out, _ = command(*save, *P, "--json")
    assert json.loads(out)["given"] == {"conv2d_0": ["s0", "partial_bits"]}


def test_diff_judges_by_the_parameters_of_the_golden_file(command):
    assert command("golden", "model.h5", "--random", 1, "--output", "g.h5", *ART, *P)[0] == 0
    assert command("run", "model.h5", "--random", 1, "--trace", "board", *ART, *P)[0] == 0
    code, out, err = command("diff", "g.h5", "board", "--model", "model.h5")
    assert (code, err) == (0, "")
    assert "golden file, 6 tensors, profile neural-art, accumulator exact sums" in out
    assert command("run", "model.h5", "--random", 1, "--trace", "other", *ART)[0] == 0
    code, out, _ = command("diff", "g.h5", "other", "--model", "model.h5")
    assert code == 1
    assert "first departure: y_3, made by conv2d_0" in out


def test_diff_of_golden_files_says_which_parameters_were_given(command):
    for name, options in (("a", P), ("b", ())):
        assert command("golden", "model.h5", "--random", 1, "--output", f"{name}.h5",
                       *ART, *options)[0] == 0  # fmt: skip
    _, out, _ = command("diff", "a.h5", "b.h5", "--model", "model.h5")
    text = " ".join(out.split())
    assert (
        "stated parameters are not the same in A and B: partial_bits (given 24 and derived 16), "
        "s0 (given 6 and derived "
    ) in text


def test_rules_with_parameters_of_their_own_are_named_alone(command):
    command("golden", "model.h5", "--random", 1, "--output", "a.h5")
    command("golden", "model.h5", "--random", 1, "--output", "b.h5", *ART)
    _, out, _ = command("diff", "a.h5", "b.h5", "--model", "model.h5")
    assert "note: A's accumulator is 32 bits, wrap; B's exact sums" in out
    assert "stated    rounding is double_rounding in A, neural_art in B" in out
    assert "parameters are not the same" not in out


def test_model_with_other_parameters_is_another_model(command):
    command("golden", "model.h5", "--random", 1, "--output", "g.h5", *ART)
    command("run", "model.h5", "--random", 1, "--trace", "board", *ART)
    code, _, err = command("diff", "g.h5", "board", "--model", "model.h5", *P)
    assert code == 2
    assert err == ("npusim: model.h5: must be the model that g.h5 was recorded from, got another\n")
