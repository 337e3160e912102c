"""`npusim diff` leads from the wrong profile to the right one, and to a board's parameters."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace

import numpy as np
import pytest

import npusim
from npusim import golden, models
from npusim.cli import main
from npusim.diff import Dump, Side, diff, of_golden
from npusim.diff.likelier import Likelier
from npusim.neural_art.settle import settle
from npusim.tensor_files import write_trace

GIVEN = {"conv2d_0": {"s0": 4}, "conv2d_1": {"s0": 4}}


def images(count=4):
    return models.to_int8(models.digits().test.images[:count])


def board():
    return settle(replace(models.digits_cnn(), profile="neural-art"), GIVEN)


def report(device, **settings):
    """What is said of a device where the digit reader is judged by some settings."""
    graph = replace(models.digits_cnn(), **settings)
    a = of_golden("A", golden.record(graph, {"image": images()}, threads=1), graph)
    dumped = dict(npusim.Session(device, threads=1).trace(images()))
    return diff(a, Side("B", "folder", tuple(Dump(k, "", v) for k, v in dumped.items())))


@pytest.fixture
def work(tmp_path, monkeypatch, capsys):
    """A golden file of tflm and a board's dump; runs the command there."""
    monkeypatch.chdir(tmp_path)
    graph = models.digits_cnn()
    npusim.save(graph, "digits.h5")
    golden.save(golden.record(graph, {"image": images()}, threads=1), "golden.h5")
    write_trace(tmp_path / "board", dict(npusim.Session(board()).trace(images())), graph)

    def run(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_profile_of_a_board_is_found():
    found = report(board()).likelier
    assert (found.profiles, found.explained, found.departing) == (("neural-art",), 6, 6)
    assert found.left == 0 < found.differing


@pytest.mark.parametrize("profile", ["xnnpack", "litert-x86", "tflm"])
def test_profile_of_a_program_is_found(profile):
    own = "tflm" if profile != "tflm" else "xnnpack"
    found = report(replace(models.digits_cnn(), profile=profile), profile=own).likelier
    assert found is None or profile in found.profiles
    assert (found is None) == (profile == "litert-x86")  # equal to tflm on this network


def test_one_odd_node_is_no_other_profile():
    graph = models.digits_cnn()
    rules = {"depthwise_conv2d_0": "single_rounding"}
    nodes = tuple(replace(n, rule=rules.get(n.name, n.rule)) for n in graph.nodes)
    found = report(replace(graph, nodes=nodes))
    assert len(found.departures) == 1
    assert found.likelier is None


def test_fault_is_no_other_profile():
    narrow = npusim.Accumulator(16, "saturate")
    assert report(replace(models.digits_cnn(), accumulator=narrow)).likelier is None


def test_command_leads_to_the_parameters(work):
    code, out, _ = work("diff", "golden.h5", "board", "--model", "digits.h5")
    assert code == 1
    line = next(x for x in out.splitlines() if x.startswith("  npusim diff "))
    assert "likelier: profile neural-art, s0 tried for each layer," in out
    code, out, _ = work(*shlex.split(line)[1:])
    assert code == 1
    assert out.endswith("parameters.json: parameters of 2 nodes; give them with --parameters "
                        "parameters.json\n")  # fmt: skip
    with open("parameters.json", encoding="utf-8") as file:
        assert json.load(file) == GIVEN
    code, out, _ = work("diff", "digits.h5", "board", "--profile", "neural-art",
                        "--parameters", "parameters.json")  # fmt: skip
    assert (code, out.splitlines()[-1][:5]) == (0, "equal")


def test_command_keeps_what_was_given(work):
    with open("one.json", "w", encoding="utf-8") as file:
        json.dump({"conv2d_0": GIVEN["conv2d_0"]}, file)
    work("diff", "digits.h5", "board", "--profile", "neural-art", "--parameters", "one.json",
         "--write-parameters", "both.json")  # fmt: skip
    with open("both.json", encoding="utf-8") as file:
        assert json.load(file) == GIVEN


def test_json_and_page_name_the_profile(work):
    _, out, _ = work("diff", "golden.h5", "board", "--model", "digits.h5", "--json", "--html",
                     "r.html")  # fmt: skip
    found = json.loads(out)["likelier"]
    assert found["profiles"] == ["neural-art"]
    assert found["command"].startswith("npusim diff digits.h5 board --profile neural-art")
    with open("r.html", encoding="utf-8") as file:
        assert found["command"] in file.read()


def test_input_that_the_dump_lacks_is_to_be_named(work, tmp_path):
    (tmp_path / "board" / "000_image.npy").unlink()
    index = json.loads((tmp_path / "board" / "index.json").read_text())
    index["tensors"] = [t for t in index["tensors"] if t["tensor"] != "image"]
    (tmp_path / "board" / "index.json").write_text(json.dumps(index))
    _, out, _ = work("diff", "golden.h5", "board", "--model", "digits.h5")
    assert "--profile neural-art --input A_INPUT.npy" in out
    np.save("x.npy", images())
    _, out, _ = work("diff", "digits.h5", "board", "--input", "x.npy")
    assert "--profile neural-art --input x.npy" in out


def test_parameters_are_of_neural_art_alone(work):
    assert work("diff", "digits.h5", "board", "--write-parameters", "p.json") == (
        2, "", "npusim: --write-parameters: B must be judged by a model with profile neural-art, "
               "got profile tflm\n",
    )  # fmt: skip


def test_identify_leads_to_the_parameters(work):
    code, out, _ = work("identify", "board", "--model", "digits.h5")
    assert code == 0
    line = out.splitlines()[-1]
    assert line == ("  npusim diff digits.h5 board --profile neural-art --write-parameters "
                    "parameters.json")  # fmt: skip
    work(*shlex.split(line)[1:])
    with open("parameters.json", encoding="utf-8") as file:
        assert json.load(file) == GIVEN


def test_identify_leads_there_with_ties_that_no_device_has_throughout(work, tmp_path):
    given = {"*": {"ties": ["up", "even", "away"]}, **GIVEN, "mean_0": {"ties": "even"}}
    graph = settle(replace(models.digits_cnn(), profile="neural-art"), given)
    traced = dict(npusim.Session(graph).trace(images(40)))
    write_trace(tmp_path / "odd", traced, models.digits_cnn())
    _, out, _ = work("identify", "odd", "--model", "digits.h5")
    line = out.splitlines()[-1]
    assert line.startswith("  npusim diff digits.h5 odd --profile neural-art")
    work(*shlex.split(line)[1:])
    code, out, _ = work("diff", "digits.h5", "odd", "--profile", "neural-art", "--parameters",
                        "parameters.json")  # fmt: skip
    assert (code, out.splitlines()[-1][:5]) == (0, "equal")


def test_identify_of_another_device_has_no_such_hint(work, tmp_path):
    graph = models.digits_cnn()
    write_trace(tmp_path / "same", dict(npusim.Session(graph).trace(images())), graph)
    _, out, _ = work("identify", "same", "--model", "digits.h5")
    assert "npusim diff" not in out


def test_tensors_that_were_not_tried_are_counted():
    some = Likelier(("xnnpack",), 8, 8, 342, 0, 10)
    assert str(some) == ("xnnpack explains 8 of the 8 departing tensors tried, of 10: 0 elements "
                         "differ, not 342")  # fmt: skip
    assert "8 of 8 departing tensors:" in str(some._replace(departed=8))
