"""`zo export-c`: what it writes and prints, what it takes from a run, one-line errors."""

import json
import subprocess
from pathlib import Path

import pytest
from c.toolchain import require
from c_projects import BUILDS

import npusim
from npusim import models
from zo.commands.origin import Origin, with_origin
from zo.data import load

MODEL = Path(models.__file__).parent / "digits_cnn.h5"
SHORT = ["--data", "digits", "--batch", 20, "--train", 40, "--validation", 30, "--q", 2]


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_writes_a_project_and_says_what_it_costs(zo_command):
    code, out, err = zo_command("export-c", MODEL, "--output", "out", *SHORT)
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == "out: training of digits_cnn, for host"
    assert [line.split()[0] for line in lines[1:5]] == ["flash", "samples", "RAM", "checked"]
    assert lines[2].split()[1:] == [f"{16 + 144 + 70 * 64:,}", "bytes"]
    assert lines[4].split()[1:] == ["2", "steps"]
    assert lines[5] == "next: make -C out check"
    names = {path.name for path in Path("out").iterdir()}
    assert {"digits_cnn_training.c", "samples.bin", "self_test.h", "zo", "kernels"} <= names


def test_prints_json(zo_command):
    options = ["--target", "qemu-m55", "--check-epochs", 2, "--name", "reader", "--json"]
    code, out, _ = zo_command("export-c", MODEL, "--output", "out", *SHORT, *options)
    facts = json.loads(out)
    assert code == 0
    assert (facts["name"], facts["target"], facts["checked"]["steps"]) == ("reader", "qemu-m55", 4)
    assert [epoch["q"] for epoch in facts["checked"]["epochs"]] == [0, 2, 2]
    assert "reader_training.c" in facts["files"]


def test_keeps_features_where_asked(zo_command):
    def memory(folder, *options):
        arguments = ["export-c", MODEL, "--output", folder, *SHORT, "--json", *options]
        return json.loads(zo_command(*arguments)[1])["training_bytes"]

    assert memory("b", "--keep-features") - memory("a") == (40 + 30) * 64


def test_exports_a_schedule_that_counts_costs(zo_command):
    samples = [*SHORT[:-2], "--schedule", "cost_aware", "--q0", 2, "--step-forwards", 5]
    code, _, err = zo_command("export-c", MODEL, "--output", "out", *samples)
    assert (code, err) == (0, "")
    assert "q in 2, 4 (CostAware)" in Path("out/README.md").read_text("utf-8").replace("\n", " ")
    source = Path("out/digits_cnn_training.c").read_text("utf-8")
    assert (
        "int64_t costs[2];\nstatic const int64_t costs_initial[2] = {\n    38400, 64000,\n"
        in source
    )


def test_built_as_the_readme_says(zo_command, tmp_path):
    build = BUILDS[0]
    require(*build.tools)
    zo_command("export-c", MODEL, "--output", "out", *SHORT, "--epochs", 2, "--exact-head",
               "--trainable", "head", "head/bias", "depthwise")  # fmt: skip
    commands = Path("out/README.md").read_text().split("```\n")[1].splitlines()
    assert commands == ["make", "make check", "./model out.bin"]
    for line in commands:
        subprocess.run(line.split(), cwd=tmp_path / "out", check=True, capture_output=True)


def test_takes_pixels_as_the_run_had_them(zo_command):
    normalization = npusim.images.Normalization((0.5,), (0.25,))
    origin = Origin(40, 30, 0, "", load("digits").classes, normalization)
    Path("run").mkdir()
    npusim.save(with_origin(models.digits_cnn(), origin), "run/model.h5")
    assert zo_command("export-c", "run", "--output", "a", *SHORT)[0] == 0
    assert (
        zo_command("export-c", MODEL, "--output", "b", *SHORT, "--mean", 0.5, "--std", 0.25)[0] == 0
    )
    assert zo_command("export-c", MODEL, "--output", "c", *SHORT)[0] == 0
    a, b, c = (Path(folder, "samples.bin").read_bytes() for folder in "abc")
    assert a == b != c
    assert Path("a/run_training.c").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--trainable", "stam"],
         "graph digits_cnn: no weights or bias are called 'stam'; closest of"),
        (["--train", 5000], "digits/train: parts must be positive and hold"),
        (["--profile", "xnnpack"],
         "conv2d_0/conv2d: rule must be one of integers, which C has, got float32_even"),
        (["--exact-head", "--trainable", "stem"],
         "train: exact_head needs the head's weights or bias among the trainable, got stem"),
        *((["--exact-head", "--estimator", "sign", *trainable],
           "zo: --estimator: must be of a tensor that zeroth order trains, got the head alone, by "
           "its exact gradient; leave it out or name a layer below\n")
          for trainable in ([], ["--trainable", "head", "head/bias"])),
    ],
)  # fmt: skip
def test_refuses_on_one_line_and_writes_nothing(zo_command, options, message):
    code, out, err = zo_command("export-c", MODEL, "--output", "out", *SHORT, *options)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1
    assert not Path("out").exists()


def test_folder_in_the_way_is_refused_before_the_work(zo_command, monkeypatch):
    monkeypatch.setattr("zo.commands.export_c.load_model", None)
    Path("out").mkdir()
    Path("out/mine").write_text("mine")
    code, _, err = zo_command("export-c", MODEL, "--output", "out", *SHORT)
    assert (code, err) == (2, "zo: out: output folder must be empty or new, got one with files; "
                              "remove them or name another\n")  # fmt: skip
