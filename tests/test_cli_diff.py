"""`npusim golden`, `diff` and `demo`: what they write and print, exit codes, one-line errors."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from graphs import Draft
from rich.console import Console

import npusim
from npusim import cli, golden, models
from npusim.diff.table import _print
from npusim.tensor_files import write_trace

MODEL = Path(models.__file__).parent / "digits_cnn.h5"
CLONE = Path(__file__).resolve().parents[1]
NARROW = npusim.Accumulator(16, "saturate")


@pytest.fixture
def command(capsys):
    """Runs npusim in this process: (exit code, standard output, standard error)."""

    def run(*arguments):
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as error:
            code = error.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture(scope="module")
def images():
    return models.to_int8(models.digits().test.images[:2])


@pytest.fixture
def work(tmp_path, images, monkeypatch):
    """A folder with x.npy, golden.h5, and dumps of a right and of a narrow device."""
    graph = models.digits_cnn()
    np.save(tmp_path / "x.npy", images)
    golden.save(golden.record(graph, {"image": images}), tmp_path / "golden.h5")
    for name, device in (("right", graph), ("narrow", replace(graph, accumulator=NARROW))):
        write_trace(tmp_path / name, dict(npusim.Session(device).trace(images)), graph)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_golden_writes_the_recorded_run(command, work):
    code, out, err = command("golden", MODEL, "--input", "x.npy", "--output", "g.h5")
    data = (work / "g.h5").read_bytes()
    assert (code, err) == (0, "")
    assert data == (work / "golden.h5").read_bytes()
    assert out == (
        f"g.h5: 7 tensors of 6 nodes, profile tflm, {len(data):,} bytes\n"
        f"sha256  {sha256(data).hexdigest()}\n"
    )


def test_golden_writes_vectors_in_c(command, work):
    code, out, _ = command("golden", MODEL, "--random", 1, "--c-header", "vectors")
    names = {path.name for path in (work / "vectors").iterdir()}
    assert code == 0
    assert out == "vectors: vectors.h, main.c and 5 layers; main.c says how to build\n"
    assert {"vectors.h", "main.c", "conv2d_0.h", "fully_connected_0.h"} <= names


def test_golden_says_which_layers_have_no_vectors_under_a_profile(command, work):
    _, out, _ = command("golden", MODEL, "--random", 1, "--c-header", "vectors",
                        "--profile", "neural-art")  # fmt: skip
    assert out == (
        "vectors: vectors.h, main.c and 0 layers; main.c says how to build\n"
        "left out, without multiplier and shift under profile neural-art: conv2d_0, conv2d_1, "
        "depthwise_conv2d_0, conv2d_2, fully_connected_0\n"
    )


def test_golden_tells_programs_what_it_wrote(command, work):
    arguments = ("--random", 1, "--output", "g.h5", "--c-header", "v", "--accumulator", "20")
    code, out, _ = command("golden", MODEL, *arguments, "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["sha256"] == sha256((work / "g.h5").read_bytes()).hexdigest()
    assert (facts["profile"], len(facts["layers"]), facts["left_out"]) == ("tflm", 5, [])
    assert golden.load(work / "g.h5").accumulator == npusim.Accumulator(20, "wrap")


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["--output", "g.h5"], "inputs: must be named by --input or --random, one of them"),
        (["--input", "x.npy", "--random", "1", "--output", "g.h5"],
         "inputs: must be named by --input or --random, one of them"),
        (["--random", "1"], "output: must be named by --output, --c-header or both, got neither"),
        (["--random", "1", "--output", "g.npz"], "g.npz: golden file must be .h5, got .npz"),
        (["--random", "1", "--output", "absent/g.h5"], "absent/g.h5: no such file or directory"),
        (["--random", "1", "--c-header", "right"],
         "right: folder must be empty; remove its files or name another"),
    ],
)  # fmt: skip
def test_golden_refuses(command, work, arguments, expected):
    code, out, err = command("golden", MODEL, *arguments)
    assert (code, out, err) == (2, "", f"npusim: {expected}\n")


SIDES = {
    "model and dumps": ([MODEL, "{}"], "B's image"),
    "golden file and dumps": (["golden.h5", "{}", "--model", MODEL], "B's image"),
    "golden file and dumps, no model": (["golden.h5", "{}"], ""),
    "model and dumps, given the input": ([MODEL, "{}", "--input", "x.npy"], "B's image"),
    "dumps and dumps": (["right", "{}"], ""),
    "dumps and dumps, judged by a model": (["right", "{}", "--model", MODEL], "B's image"),
}


@pytest.mark.parametrize("sides", SIDES)
def test_diff_of_every_kind_of_side(command, work, sides):
    arguments, judged_from = SIDES[sides]
    for device, status in (("right", 0), ("narrow", 1)):
        filled = [str(a).format(device) for a in arguments]
        code, out, err = command("diff", *filled, "--json")
        facts = json.loads(out)
        assert (code, err, facts["equal"]) == (status, "", device == "right")
        assert facts["first"] == (None if device == "right" else "stem/relu")
    first = next(t for t in facts["tensors"] if t["name"] == "stem/relu")
    assert first["judged_from"] == judged_from
    assert (first["cause"]["kind"] == "accumulator") == bool(judged_from)


def test_diff_of_a_golden_file_and_a_model_runs_the_model(command, work):
    assert command("diff", "golden.h5", MODEL)[0] == 0
    code, out, _ = command("diff", "golden.h5", MODEL, "--accumulator", "16:saturate")
    assert code == 1
    assert "note: digits_cnn was run on side A's image" in out
    assert "note: A's accumulator is 32 bits, wrap; B's 16 bits, saturate" in out
    assert "the accumulator saturates at 16 bits" in out


def test_diff_of_two_models_needs_an_input(command, work):
    assert command("diff", MODEL, MODEL, "--random", 1)[0] == 0
    code, _, err = command("diff", MODEL, MODEL)
    assert (code, err) == (2, "npusim: inputs: must be named by --input or --random where A and B "
                              "are models\n")  # fmt: skip


def test_diff_reads_raw_dumps_in_the_models_terms(command, work):
    folder = work / "raw"
    folder.mkdir()
    tensors = dict(npusim.Session(models.digits_cnn()).trace(np.load("x.npy")))
    for k, (name, values) in enumerate(tensors.items()):
        planes = np.moveaxis(values, 3, 1) if values.ndim == 4 else values
        data = np.ascontiguousarray(planes).tobytes()
        (folder / f"{k}_{name.replace('/', '_')}.bin").write_bytes(data)
    code, out, _ = command("diff", "golden.h5", "raw", "--model", MODEL, "--dump-layout", "NCHW")
    assert code == 0
    assert "note: B: read as NCHW: 0_image.bin, 1_stem_relu.bin" in " ".join(out.split())
    code, out, _ = command("diff", "golden.h5", "raw", "--model", MODEL, "--json")
    found = {t["name"]: t["cause"] and t["cause"]["kind"] for t in json.loads(out)["tensors"]}
    assert code == 1
    assert {found[n] for n in ("stem/relu", "down/relu", "pointwise/relu")} == {"layout"}
    assert {found[n] for n in ("image", "features", "logits")} == {None}


def test_diff_takes_files_in_a_given_order(command, work):
    entries = json.loads((work / "narrow" / "index.json").read_text())["tensors"]
    lines = [f"{e['file']} {e['tensor']}" for e in entries if e["tensor"] != "image"]
    (work / "order.txt").write_text("\n".join(lines))
    arguments = ("golden.h5", "narrow", "--model", MODEL, "--order", "order.txt")
    code, out, _ = command("diff", *arguments)
    assert code == 1
    assert "\nnot in B: image\n" in out
    assert "judged from A's image" in " ".join(out.split())


def test_diff_says_what_it_matched_by_order(command, work):
    folder = work / "nameless"
    folder.mkdir()
    for k, path in enumerate(sorted((work / "narrow").glob("*.npy"))):
        (folder / f"dump{k}.npy").write_bytes(path.read_bytes())
    _, out, _ = command("diff", "golden.h5", "nameless", "--model", MODEL)
    said = " ".join(out.split())
    assert "B: matched by order and shape: dump0.npy is image, dump1.npy is stem/relu" in said
    assert "first departure: stem/relu" in said


def test_diff_writes_csv_and_page(command, work):
    code, _, _ = command("diff", MODEL, "narrow", "--csv", "r.csv", "--html", "r.html")
    assert code == 1
    assert (work / "r.csv").read_text().count("\n") == 8
    assert "<h1>stem/relu departs first</h1>" in (work / "r.html").read_text()


@pytest.mark.parametrize(
    ("gate", "status"),
    [("max_lsb=255", 0), ("max_lsb=1", 1), ("share=0.5,max_lsb=200", 0), ("share=0.01", 1)],
)
def test_diff_exit_status_follows_the_gate(command, work, gate, status):
    code, out, _ = command("diff", MODEL, "narrow", "--gate", gate)
    assert code == status
    assert f"{'out' if status else 'with'}" in out.splitlines()[-1] + out
    assert ("outside the gate" in out, "within the gate" in out) == (status == 1, status == 0)


def test_diff_within_the_gate_is_equal_enough_for_programs(command, work):
    _, out, _ = command("diff", MODEL, "narrow", "--gate", "max_lsb=255", "--json")
    facts = json.loads(out)
    assert (facts["equal"], facts["within"], facts["stopped"]) == (False, True, [])


def test_diff_finds_an_input_that_is_not_the_same(command, work, images):
    np.save(work / "right" / "000_image.npy", images[::-1])
    _, out, _ = command("diff", "golden.h5", "right", "--model", MODEL, "--json")
    facts = json.loads(out)
    first = facts["tensors"][0]
    assert (facts["first"], first["verdict"]) == ("image", "departs")
    assert first["cause"]["kind"] == "image order"
    assert {t["verdict"] for t in facts["tensors"][1:]} == {"equal"}


def test_diff_names_a_tensor_of_another_shape(command, work, images):
    np.save(work / "right" / "001_stem_relu.npy", np.zeros((2, 3), np.int8))
    code, out, _ = command("diff", "golden.h5", "right", "--model", MODEL)
    assert code == 1
    assert "reason    shape must be (2, 8, 8, 24), got (2, 3)" in out


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (["right", "golden.h5"], "right: side A must be the reference, got a folder; swap the two"),
        (["right", MODEL], "right: side A must be the reference, got a folder; swap the two"),
        (["golden.h5", "absent"], "absent: no such file or folder"),
        (["golden.h5", "right", "--random", "1"],
         "inputs: must be for a model that is run now, got no model among A and B"),
        ([MODEL, "right", "--random", "1", "--input", "x.npy"],
         "inputs: must be named by --input or --random, one of them"),
        ([MODEL, "right", "--random", "1"], "--random: must give 2 images, as right has, got 1"),
        ([MODEL, "right", "--model", MODEL],
         f"{MODEL}: must be a golden file or dumps to be judged by --model, got a model"),
        (["golden.h5", "right", "--model", "other.h5"],
         "other.h5: must be the model that golden.h5 was recorded from, got another"),
        (["golden.h5", "right", "--model", "flat.h5"],
         "flat.h5: must be the model that golden.h5 was recorded from, got another"),
        *((["golden.h5", "right", *model, option, value],
           "golden.h5: must be judged by the arithmetic it was recorded in, got "
           f"{option}; to judge by another, give the model itself as A")
          for model in ((), ("--model", MODEL))
          for option, value in (("--profile", "neural-art"), ("--accumulator", "24"),
                                ("--node-rule", "conv2d_0=single_rounding"))),
        (["golden.h5", "other"], "other: must hold a tensor of golden.h5, got none that has its "
                                 "name or its shape"),
        ([MODEL, "other"], "other: must hold the input image of digits_cnn, got q.npy; "
                           "name it with --input or --random"),
        (["golden.h5", "right", "--gate", "max=1"],
         "gate: must be figures with limits from 0, such as max_lsb=1,share=0.04, got 'max=1'; "
         "figures are share, differing, max_lsb, mean_lsb, cosine, rmse, mae, rmse_lsb, mae_lsb, "
         "and each with total_ in front"),
        (["golden.h5", "right", "--order", "absent.txt"],
         "absent.txt: no such file or directory"),
        (["golden.h5", MODEL, "--order", "x.txt"],
         f"{MODEL}: must be a folder to be read in the order of x.txt"),
        (["golden.h5", "right", "--csv", "absent/r.csv"],
         "absent/r.csv: no such file or directory"),
    ],
)  # fmt: skip
def test_diff_refuses(command, work, arguments, expected):
    graph = models.digits_cnn()
    npusim.save(replace(graph, outputs=(graph.nodes[0].outputs[0],)), work / "other.h5")
    draft = Draft()
    x = draft.input((1, 8))
    draft.tensors[x] = replace(draft.tensors[x], name=graph.tensors[graph.inputs[0]].name)
    npusim.save(draft.graph(draft.fully_connected(x, 3)), work / "flat.h5")
    (work / "other").mkdir()
    np.save(work / "other" / "q.npy", np.zeros((3, 3), np.int8))
    code, out, err = command("diff", *arguments)
    assert (code, out, err) == (2, "", f"npusim: {expected}\n")


def test_diff_brings_a_model_to_the_recorded_settings(command, work):
    options = ("--accumulator", "18:saturate")
    command("golden", MODEL, "--random", 3, "--output", "g.h5", *options)
    command("run", MODEL, "--random", 3, "--trace", "dev", *options)
    code, out, _ = command("diff", "g.h5", "dev", "--model", MODEL)
    assert (code, out.splitlines()[-1]) == (0, "equal: 7 tensors, 4,234 elements")


def test_demo_names_the_layer_and_the_reason(command, work):
    code, out, err = command("demo", "--output", "out")
    assert (code, err) == (0, "")
    first = re.search(r"first departure: (\S+), made by (\S+)\n  cause     (.*)\n", out)
    assert first is not None
    page = (work / "out" / "report.html").read_text()
    assert f"<h1>{first[1]} departs first</h1>" in page
    assert sorted(p.name for p in (work / "out").iterdir()) == [
        "device", "golden.h5", "model.h5", "report.html",
    ]  # fmt: skip


def test_demo_shows_a_command_that_repeats_it(command, work):
    _, out, _ = command("demo")
    lines = out.replace("\\\n", " ").splitlines()
    line = next(line for line in lines if line.startswith("  npusim diff "))
    before = (work / "npusim-demo" / "report.html").read_text()
    code, again, _ = command(*shlex.split(line)[1:])
    assert code == 1
    assert again in out
    assert (work / "npusim-demo" / "report.html").read_text() == before


def test_demo_tells_programs(command, work):
    code, out, _ = command("demo", "--json")
    assert (code, json.loads(out)["equal"]) == (0, False)
    code, _, err = command("demo")
    assert (code, err) == (2, "npusim: npusim-demo: folder must be empty; remove its files or name "
                              "another\n")  # fmt: skip


def test_long_words_are_not_broken():
    console = Console(width=80)
    name = "a/" * 50
    with console.capture() as captured:
        _print(console, [f"note: {name} is left out"])
    assert f"{name} is" in captured.get() or f"{name}\n" in captured.get()
