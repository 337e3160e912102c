"""The command under the profile neural-art: parameters from a file, their labels, raw sums."""

import json
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

import npusim
from npusim.cli import main
from npusim.describe import describe
from npusim.describe_page import page
from npusim.headroom import accumulator_bound, product_bound
from npusim.models import digits_cnn
from npusim.neural_art.settle import settle

HEAD = "fully_connected_0"


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "digits.h5"
    npusim.save(digits_cnn(), path)
    return path


@pytest.fixture
def command(capsys):
    """Runs the command: (exit code, standard output, standard error)."""

    def run(*arguments):
        code = main([str(argument) for argument in arguments])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def given(tmp_path, parameters):
    path = tmp_path / "p.json"
    path.write_text(json.dumps(parameters))
    return ("--profile", "neural-art", "--parameters", path)


def test_inspect_labels_what_is_given_and_what_derived(command, model, tmp_path):
    options = given(tmp_path, {HEAD: {"s0": 3}, "*": {"ties": "even"}})
    code, out, _ = command("inspect", model, *options)
    lines = {line.split(":")[0]: line for line in out.splitlines()}
    head = lines[HEAD]
    assert code == 0
    assert head.startswith(f"{HEAD}: given s0 3, ties even/even/even; derived stages 3, f ")
    assert "profile neural-art, accumulator exact sums" in out
    assert "bits; a board shows 24" in out
    assert lines["conv2d_0"].startswith("conv2d_0: given ties even/even/even; derived stages 3, s0")


def test_inspect_says_where_a_given_parameter_is_not_what_follows(command, model, tmp_path):
    graph = settle(replace(digits_cnn(), profile="neural-art"), {HEAD: {"s0": 3}})
    derived = graph.node(HEAD).given["derived_A_c"].tolist()
    other = [derived[0] + 1, *derived[1:]]
    low, high = min(other), max(other)
    for a_c, said in ((derived, ""), (other, f" (not as derived: {min(derived)}..{max(derived)}, "
                                             "1 of 10 differ)")):  # fmt: skip
        options = given(tmp_path, {HEAD: {"s0": 3, "A_c": a_c}})
        _, out, _ = command("inspect", model, *options)
        span = f"{min(derived)}..{max(derived)}" if a_c is derived else f"{low}..{high}"
        assert f"{HEAD}: given s0 3, A_c {span}{said}; derived" in out
    _, out, _ = command("inspect", model, *options, "--json")
    layers = {layer["node"]: layer for layer in json.loads(out)["layers"]}
    assert layers[HEAD]["neural_art"]["A_c"] == {
        "values": other, "origin": "given", "by_rule": derived,
    }  # fmt: skip
    assert "by_rule" not in layers[HEAD]["neural_art"]["s0"]


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"conv2d_0": {"f": 9}}, "A2 must be in -32768..32767, got 146335, with the f given, 9"),
        (
            {"conv2d_0": {"s0": 31}},
            "scales must give a coefficient below 2^15, got 4.53725e+08, with the s0 given, 31",
        ),
    ],
)
def test_refusal_names_what_was_given(command, model, tmp_path, parameters, message):
    code, out, err = command("inspect", model, *given(tmp_path, parameters))
    assert (code, out) == (2, "")
    assert err.endswith(f"{message}\n"), err


@pytest.mark.parametrize("width", [60, 80, 120])
def test_inspect_shows_every_parameter_in_any_terminal(width):
    graph = settle(
        replace(digits_cnn(), profile="neural-art"), {HEAD: {"s0": 3}, "*": {"ties": "up"}}
    )
    description = describe(graph)
    text = page(description, Console(width=width, color_system=None))
    assert all(len(line) <= width for line in text.splitlines())
    shown = " ".join(text.split())
    for layer in description.layers:
        if layer.neural_art:
            given, derived = shown.split(f"{layer.node}: given ")[1].split("; derived ", 1)
            for p in layer.neural_art:
                part = given if p.origin == "given" else derived
                assert f"{p.name} {p.values[0]}" in part or p.name in ("A_c", "BC_c")
    assert f"{HEAD}: given s0 3, ties up/up/up; derived stages 3, f 8, s1 14, A_c" in shown


def test_bound_of_sums_is_that_without_bias():
    graph = digits_cnn()
    plain, board = (describe(replace(graph, profile=p)).layers for p in ("tflm", "neural-art"))
    for node, before, after in zip(graph.nodes, plain, board, strict=True):
        if before.bound is not None:
            assert before.bound == accumulator_bound(graph, node) > after.bound
            assert after.bound == product_bound(graph, node).max()


def test_inspect_json_holds_every_value(command, model, tmp_path):
    _, out, _ = command("inspect", model, "--json", *given(tmp_path, {HEAD: {"s0": 3}}))
    layers = {layer["node"]: layer for layer in json.loads(out)["layers"]}
    head = layers[HEAD]["neural_art"]
    assert head["s0"] == {"values": [3], "origin": "given"}
    assert head["ties"] == {"values": ["away", "away", "away"], "origin": "derived"}
    assert len(head["A_c"]["values"]) == 10
    assert layers[HEAD]["rounding"] == "neural_art"
    assert list(layers["mean_0"]["neural_art"]) == [
        "cells", "mulval", "k", "A", "q", "C", "ties", "product_rounding",
    ]  # fmt: skip


def test_parameters_change_what_runs(command, model, tmp_path):
    digests = [
        command("run", model, "--random", 1, *given(tmp_path, {"*": {"s0": s0}}))[1]
        for s0 in (1, 6)
    ]
    assert digests[0] != digests[1]


def test_converted_model_keeps_its_parameters(command, model, tmp_path):
    options = given(tmp_path, {HEAD: {"s0": 3}})
    assert command("convert", model, tmp_path / "m.h5", *options)[0] == 0
    layers = {layer.node: layer for layer in describe(npusim.load(tmp_path / "m.h5")).layers}
    labels = {p.name: p for p in layers[HEAD].neural_art}
    assert labels["s0"][:3] == ("s0", (3,), "given")
    assert labels["s1"].origin == "derived"


def test_accumulator_is_the_profiles_own_or_refused(command, model):
    run = ("run", model, "--random", 1, "--profile", "neural-art")
    assert command(*run, "--accumulator", "64") == command(*run)
    assert command(*run, "--accumulator", "24:saturate") == (2, "", (
        "npusim: accumulator: must be 64 bits, wrap under profile neural-art, whose sums are "
        "exact, got 24 bits, saturate; name that one or another profile\n"))  # fmt: skip


def test_run_writes_raw_sums(command, model, tmp_path):
    folder = tmp_path / "sums"
    code, _, err = command("run", model, "--random", 1, "--raw-sums", folder,
                           "--profile", "neural-art")  # fmt: skip
    index = json.loads((folder / "index.json").read_text())
    names = [entry["node"] for entry in index["tensors"]]
    assert code == 0
    assert err.endswith(f"sums of {len(names)} nodes, listed in index.json\n")
    assert names[-1] == HEAD
    sums = np.load(folder / index["tensors"][-1]["file"])
    assert (sums.dtype, sums.shape) == (np.int32, (1, 10))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--profile", "tflm"), "npusim: parameters: profile must be neural-art to take any, "
         "got tflm"),
        (("--profile", "neural-art"), "npusim: parameters: nodes must be of *, conv2d_0, "),
    ],
)  # fmt: skip
def test_wrong_parameters_are_one_line(command, model, tmp_path, arguments, message):
    path = given(tmp_path, {"conv": {"s0": 3}})[-1]
    code, _, err = command("inspect", model, *arguments, "--parameters", path)
    assert code == 2
    assert err.startswith(message)
    assert err.count("\n") == 1
