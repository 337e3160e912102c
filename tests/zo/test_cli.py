"""The `zo` command: what it prints and writes, its exit codes, its one-line errors."""

import csv
import json
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from training_tasks import head_task

import npusim
import zo
from npusim import models
from npusim.head import until_features

MODEL = Path(models.__file__).parent / "digits_cnn.h5"


def train(zo_command, data, folder, *more):
    return zo_command("train", "--model", MODEL, "--data", data, "--output", folder, "--threads", 1,
                      "--batch", 20, "--epochs", 3, "--features", "none", *more)  # fmt: skip


def test_train_writes_what_evaluate_repeats(zo_command, inverted_digits, tmp_path):
    folder = tmp_path / "run"
    code, out, err = train(zo_command, inverted_digits, folder, "--q", 4)
    assert (code, err) == (0, "")
    assert sorted(p.name for p in folder.iterdir()) == [
        "checkpoint.npz", "curves.png", "history.csv", "history.jsonl", "model.h5",
    ]  # fmt: skip
    assert out.splitlines()[0].startswith("epoch   0          accuracy 0.")
    assert "q            4 from epoch 1\n" in out
    with (folder / "history.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["q"] for row in rows] == ["0", "4", "4", "4"]
    assert int(rows[-1]["forwards"]) == 3 * 12 * 5
    _, text, _ = zo_command("evaluate", folder / "model.h5", "--data", inverted_digits, "--json")
    report = json.loads(text)
    assert report["total"] == 60
    assert f"{report['accuracy']:.6f}" == rows[-1]["accuracy"]
    _, text, _ = zo_command("evaluate", folder / "model.h5", "--data", inverted_digits, "--part",
                            "all")  # fmt: skip
    assert "all: accuracy 0." in text
    assert "of 300)" in text
    with Image.open(folder / "curves.png") as picture:
        assert min(picture.size) > 400


def test_picture_is_called_after_the_data(zo_command, inverted_digits, tmp_path, monkeypatch):
    titles = []
    monkeypatch.setattr(
        "zo.commands.train.save_run", lambda history, title, path: titles.append(title)
    )
    train(zo_command, inverted_digits, tmp_path / "run", "--q", 1)
    train(zo_command, "digits", tmp_path / "b", "--q", 1, "--train", 20, "--validation", 5)
    assert titles == ["inverted.npz", "digits"]


def test_train_reports_json(zo_command, inverted_digits, tmp_path):
    code, out, _ = train(zo_command, inverted_digits, tmp_path / "run", "--exact-head", "--json")
    report = json.loads(out)
    assert code == 0
    assert report["stopped"] == "epochs"
    assert report["cost"]["forwards"] == 3 * 12
    assert report["images"] == 60
    assert report["accuracy"]["end"] == report["correct"] / 60
    assert report["q"] == []


def test_train_is_reproducible_and_resumes(zo_command, inverted_digits, tmp_path):
    models_written = []
    for folder, more in (("a", ()), ("b", ("--threads", 2)), ("a", ("--resume",))):
        train(zo_command, inverted_digits, tmp_path / folder, "--q0", 2, "--patience", 1, *more)
        models_written.append((tmp_path / folder / "model.h5").read_bytes())
    assert models_written[0] == models_written[1] == models_written[2]


def test_train_replaces_the_head(zo_command, colours, tmp_path):
    folder, features = tmp_path / "run", tmp_path / "features"
    code, out, _ = train(
        zo_command, colours, folder, "--classes", 3, "--mean", 0.5, "--std", 0.25,
        "--input-size", "16x12", "--train", 40, "--validation", 20, "--features", features,
    )  # fmt: skip
    assert code == 0
    assert out.startswith("new head: 3 classes, float warm-up to ")
    graph = npusim.load(folder / "model.h5")
    assert graph.tensor("head").shape == (3, 64)
    assert graph.tensors[graph.inputs[0]].shape == (1, 16, 12, 1)
    assert len(list(features.iterdir())) == 2
    _, text, _ = zo_command("evaluate", folder / "model.h5", "--data", colours)
    correct = int(out.split(" of 20)")[0].rsplit("(", 1)[1])
    assert f"({correct} of 20)" in text


def test_ctrl_c_writes_what_was_done(zo_command, tmp_path, inverted_digits):
    folder = tmp_path / "run"
    arguments = ["train", "--model", MODEL, "--data", inverted_digits, "--output", folder,
                 "--batch", 20, "--epochs", 100000, "--stop-after", 0, "--features",
                 "none"]  # fmt: skip
    program = "import sys; from zo.cli import main; sys.exit(main(sys.argv[1:]))"
    with subprocess.Popen(
        [sys.executable, "-c", program, *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        for line in process.stdout:
            if line.startswith("epoch   2"):
                break
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    said = [line for line in err.splitlines() if not line.startswith("npusim: compiling kernels")]
    assert (process.returncode, said) == (1, [])
    assert "interrupted" in out
    graph = npusim.load(folder / "model.h5")
    assert graph.tensor("head").shape == (10, 64)
    assert "of the model as written; the history has whole epochs only" in out
    said = out.split(" of 60)")[0].rsplit("(", 1)[1]
    _, text, _ = zo_command("evaluate", folder / "model.h5", "--data", inverted_digits)
    assert f"({said} of 60)" in text
    assert zo_command("report", folder)[0] == 0
    page = (folder / "report.html").read_text("utf-8")
    assert f"written classifies {said} of 60 right" in page


def test_adapt_writes_a_model(zo_command, inverted_digits, tmp_path):
    adapted = tmp_path / "adapted.h5"
    code, out, _ = zo_command("adapt", MODEL, "--data", inverted_digits, "--source", "digits",
                              "--output", adapted, "--images", 100)  # fmt: skip
    assert code == 0
    assert "conv2d_0: " in out
    before, after = npusim.load(MODEL), npusim.load(adapted)
    assert not np.array_equal(before.tensor("stem/bias").data, after.tensor("stem/bias").data)
    assert before.tensor("stem") != after.tensor("stem") or before.nodes != after.nodes
    code, out, _ = zo_command(
        "adapt", adapted, "--data", "digits", "--output", tmp_path / "back.h5"
    )
    assert code == 0
    assert "conv2d_0: " in out


def test_bench_times_every_part(zo_command):
    code, out, _ = zo_command("bench", MODEL, "--q", 1, 4, "--batch", 8, "--threads", 1, "--json")
    report = json.loads(out)
    assert code == 0
    assert list(report["reuse"]) == ["none", "prefix", "prefix and signs"]
    for times in report["reuse"].values():
        assert [t["q"] for t in times] == [1, 4]
        for t in times:
            assert t["measured"] > 0
            assert t["paper"] > 0
    code, out, _ = zo_command("bench", MODEL, "--q", 2, "--batch", 8, "--trainable", "stem")
    assert code == 0
    assert "reuse: none" in out
    assert "reuse: prefix and signs" not in out
    assert out.endswith(
        "forward .. update  each part alone, for all samples\n"
        "sum                of these parts\n"
        "measured           the whole step; blank where it would outlast --limit\n"
        "paper              (q+1)*C_fwd + q*C_perturb, without reuse of signs\n"
    )


def test_bench_takes_inputs_that_are_no_images(zo_command, tmp_path):
    npusim.save(head_task(seed=1).graph, tmp_path / "m.h5")
    graph = npusim.load(tmp_path / "m.h5")
    flat = [replace(t, shape=(1, 24)) if t.name == "x" else t for t in graph.tensors]
    npusim.save(replace(graph, tensors=tuple(flat)), tmp_path / "m.h5")
    code, out, err = zo_command("bench", tmp_path / "m.h5", "--q", 1, "--batch", 4, "--json")
    assert (code, err) == (0, "")
    assert list(json.loads(out)["reuse"]) == ["none", "prefix", "prefix and signs"]


def test_demo_writes_its_table_and_picture(zo_command, tmp_path, monkeypatch):
    monkeypatch.setattr("zo.demo.WAYS", zo.demo.WAYS[:2])
    monkeypatch.setattr("zo.commands.demo.METHODS", zo.demo.METHODS[:4])
    folder = tmp_path / "demo"
    code, out, _ = zo_command("demo", "--epochs", 1, "--output", folder, "--threads", 1)
    assert code == 0
    assert "low contrast" in out
    with (folder / "demo.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["method"] for row in rows] == [
        "nothing", "channel statistics", "exact head", "ZO head, q = 4",
    ] * 3  # fmt: skip
    assert sorted(path.name for path in (folder / "curves").iterdir()) == [
        f"{shift}-{way}.csv"
        for shift in ("inverted", "low-contrast", "moved-one-pixel")
        for way in ("exact-head", "zo-head-q-4")
    ]
    again, text, _ = zo_command("demo", "--epochs", 1, "--output", folder, "--json")
    assert again == 0
    assert [f"{row['after']:.6f}" for row in json.loads(text)] == [row["after"] for row in rows]


@pytest.mark.parametrize("at", [1, 2, 17], ids=["compiling", "first step", "last step"])
def test_demo_interrupted_shows_and_writes_nothing(zo_command, tmp_path, monkeypatch, at):
    """One step compiles, 16 make the first row that trains."""
    monkeypatch.setattr("zo.demo.WAYS", zo.demo.WAYS[:1])
    calls = []

    def step(self, *given):
        calls.append(given)
        if len(calls) == at:
            signal.raise_signal(signal.SIGINT)
        return inner(self, *given)

    inner = zo.step.Step.__call__
    monkeypatch.setattr("zo.step.Step.__call__", step)
    code, out, err = zo_command("demo", "--epochs", 1, "--output", tmp_path, "--threads", 1)
    assert (code, out) == (130, "")
    assert err == "zo: interrupted by Ctrl-C, nothing more is written\n"
    assert list(tmp_path.iterdir()) == []
    assert len(calls) == at


@pytest.mark.parametrize(
    ("command", "left"),
    [("search", "finished runs are kept; the same command goes on"),
     ("reproduce", "finished runs are kept; the same command goes on"),
     ("train", "nothing more is written")],
)  # fmt: skip
def test_ctrl_c_says_what_is_left(zo_command, monkeypatch, command, left):
    monkeypatch.setattr("zo.cli.execute", lambda parser, argv: 130)
    assert zo_command(command) == (130, "", f"zo: interrupted by Ctrl-C, {left}\n")


@pytest.mark.parametrize("command", ["", "demo", "train", "evaluate", "adapt", "bench"])
def test_help_reads_like_a_manual(zo_command, command):
    code, out, err = zo_command(*filter(None, [command]), "--help")
    assert (code, err) == (0, "")
    assert out.startswith("usage: zo")
    assert "exit status:" in out if command else "commands:" in out
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train", "--model", MODEL, "--data", "missing.zip", "--output", "r"],
         "missing.zip: data must be a folder or .zip of class folders"),
        (["train", "--model", "missing.h5", "--data", "digits", "--output", "r"], "missing.h5: "),
        (["train", "--model", MODEL, "--data", "digits", "--output", "r", "--classes", "7"],
         "--classes must be the 10 of the data, got 7"),
        (["train", "--model", MODEL, "--data", "digits", "--output", "r", "--mean", "0.5"],
         "--mean and --std: must be given together, got one of them"),
        (["train", "--model", MODEL, "--data", "digits", "--output", "r", "--trainable", "tail"],
         "no weights or bias are called 'tail'"),
        (["train", "--model", MODEL, "--data", "digits", "--output", "r", "--train", "2000"],
         "parts must be positive and hold 1,078 images at most, got 2000 + 215"),
        (["train", "--model", MODEL, "--data", "digits", "--output", "r", "--q", "0"],
         "argument --q: must be a whole number of 1 or more, got '0'; try zo train --help"),
        (["evaluate", MODEL, "--data", "digits", "--part", "train"],
         "--part train: needs a model that zo train made"),
        (["adapt", MODEL, "--data", "digits", "--output", "a.h5"], "with --source"),
        (["bench", MODEL, "--trainable", "tail"], "no weights or bias are called 'tail'"),
        (["walk"], "try zo --help"),
    ],
)  # fmt: skip
def test_errors_are_one_line_and_exit_2(zo_command, arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    code, out, err = zo_command(*arguments)
    assert (code, out) == (2, "")
    assert err.startswith("zo")
    assert message in err
    assert err.count("\n") == 1


def test_truncated_zip_is_one_line(zo_command, colours, tmp_path):
    colours.write_bytes(colours.read_bytes()[:-30])
    code, out, err = train(zo_command, colours, tmp_path / "run")
    assert (code, out) == (2, "")
    assert "colours.zip: must be a whole zip archive, got" in err
    assert err.count("\n") == 1


def test_missing_matplotlib_is_found_before_training(zo_command, inverted_digits, tmp_path,
                                                     monkeypatch):  # fmt: skip
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = train(zo_command, inverted_digits, tmp_path / "run")
    assert (code, out) == (2, "")
    assert err == (
        "zo: curves: matplotlib must be installed to draw them, got none; "
        'pip install "npusim[plot]"\n'
    )


def test_damaged_origin_is_named(zo_command, tmp_path):
    graph = npusim.load(MODEL)
    provenance = {**graph.provenance, "zo_origin": "{"}
    npusim.save(npusim.Graph(**{**vars(graph), "provenance": provenance}), tmp_path / "m.h5")
    code, _, err = zo_command("evaluate", tmp_path / "m.h5", "--data", "digits")
    assert code == 2
    assert "zo_origin must be as zo train wrote it, got '{'" in err


def test_a_model_that_ends_at_its_features_is_trained_as_one_whose_head_is_replaced(
    zo_command, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    npusim.save(until_features(npusim.load(MODEL)), "bare.h5")
    options = "--data digits --classes 10 --train 200 --validation 100 --epochs 1 --q 4"
    logs = []
    for model, folder in ((MODEL, "whole"), ("bare.h5", "bare")):
        code, _, err = zo_command("train", "--model", model, *options.split(), "--output", folder)
        assert (code, err) == (0, "")
        logs.append((Path(folder) / "history.csv").read_text().splitlines()[1].split(","))
    assert logs[0][:4] == logs[1][:4]  # epoch 0: the new head before its first step


def test_headless_model_is_refused(zo_command, tmp_path):
    npusim.save(until_features(npusim.load(MODEL)), tmp_path / "m.h5")
    code, _, err = zo_command("evaluate", tmp_path / "m.h5", "--data", "digits")
    assert code == 2
    assert "must end in a fully connected layer or a 1x1 convolution" in err
