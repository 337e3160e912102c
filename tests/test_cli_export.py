"""`npusim export-c`: what it writes and prints, exit codes, one-line errors."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from c.toolchain import require
from c_projects import BUILDS, packed

from npusim import Session, cli, models
from npusim.export import export_c
from npusim.tensor_files import random_inputs

MODEL = Path(models.__file__).parent / "digits_cnn.h5"


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    """Runs the command in an empty folder: (exit code, standard output, standard error)."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        try:
            code = cli.main([str(argument) for argument in arguments])
        except SystemExit as error:
            code = error.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def written(folder):
    """The files of a folder by path."""
    return {str(p.relative_to(folder)): p.read_text() for p in folder.rglob("*") if p.is_file()}


def test_writes_a_project_and_says_what_it_costs(command, tmp_path):
    code, out, err = command("export-c", MODEL, "--output", "out")
    expected = export_c(models.digits_cnn(), "digits_cnn", random_inputs(models.digits_cnn(), 0))

    assert (code, err) == (0, "")
    assert out == (
        "out: digits_cnn, 6 nodes, profile tflm, for host\n"
        f"flash   {expected.model.flash_bytes:>11,} bytes of weights and parameters, besides code\n"
        f"arena   {expected.model.plan.arena_bytes:>11,} bytes of RAM\n"
        "next: make -C out check\n"
    )
    assert written(tmp_path / "out") == dict(expected.files)


def test_prints_json(command):
    code, out, _ = command("export-c", MODEL, "--output", "out", "--target", "qemu-m55", "--json")
    facts = json.loads(out)
    assert code == 0
    assert (facts["folder"], facts["target"], facts["name"]) == ("out", "qemu-m55", "digits_cnn")
    assert (facts["input_bytes"], facts["output_bytes"], facts["nodes"]) == (64, 10, 6)
    assert {"main.c", "model", "target/an547.ld"} <= set(facts["files"])


def test_self_test_takes_the_inputs_given(command, tmp_path):
    images = models.to_int8(models.digits().test.images[:3])
    np.save(tmp_path / "x.npy", images)
    command("export-c", MODEL, "--output", "out", "--input", "x.npy", "--name", "reader_2")
    session = Session(models.digits_cnn(), threads=1)
    text = (tmp_path / "out" / "self_test.h").read_text()

    assert "#define SELF_TESTS 3\n" in text
    for graph_tensors, array in ((session.graph.inputs, images),
                                 (session.graph.outputs, session.run(images))):  # fmt: skip
        first = np.frombuffer(packed(session.graph, graph_tensors, array), np.int8)[:10]
        assert ", ".join(map(str, first)) in text
    assert (tmp_path / "out" / "reader_2.c").exists()


def test_model_options_reach_the_graph(command, tmp_path):
    command("export-c", MODEL, "--output", "out", "--accumulator", "18:saturate")
    text = (tmp_path / "out" / "digits_cnn.c").read_text()
    assert "npu_conv2d_ordered(" in text
    assert "{\n    .bits = 18, .overflow = NPU_SATURATE,\n}" in text


def test_built_as_the_readme_says(command, tmp_path):
    build = BUILDS[0]
    require(*build.tools)
    command("export-c", MODEL, "--output", "out")
    (tmp_path / "out" / "in.bin").write_bytes(bytes(128))
    readme = (tmp_path / "out" / "README.md").read_text()
    commands = readme.split("```\n")[1].splitlines()
    assert commands == ["make", "make check", "./model in.bin out.bin"]
    for line in commands:
        subprocess.run(line.split(), cwd=tmp_path / "out", check=True, capture_output=True)
    out = (tmp_path / "out" / "out.bin").read_bytes()
    zeros = np.zeros((2, 8, 8, 1), np.int8)
    assert out == Session(models.digits_cnn(), threads=1).run(zeros).tobytes()


def test_folder_in_the_way_is_one_error_and_nothing_is_lost(command, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "main.c").write_text("mine")
    code, out, err = command("export-c", MODEL, "--output", "out")
    assert (code, out) == (2, "")
    assert err == (
        "npusim: out: output folder must be empty or new, got one with files; "
        "remove them or name another\n"
    )
    assert written(tmp_path / "out") == {"main.c": "mine"}


def test_refused_model_leaves_no_folder(command, tmp_path):
    code, out, err = command("export-c", MODEL, "--output", "out", "--profile", "xnnpack")
    assert (code, out) == (2, "")
    assert err == (
        "npusim: conv2d_0/conv2d: rule must be one of integers, which C has, got float32_even of "
        "profile xnnpack, and 5 more nodes; choose another profile, such as tflm\n"
    )
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "the following arguments are required: --output"),
        (("--output", "out", "--target", "esp32"),
         "argument --target: invalid choice: 'esp32' (choose from"),
        (("--output", "out", "--input", "x.npy", "--random", "1"),
         "inputs: must be named by --input or --random, one of them\n"),
        (("--output", "out", "--name", ""), "argument --name: must be a C identifier of "),
        (("--output", "out", "--name", "3d-x"), "got '3d-x'; such as model_3d_x; try "),
        (("--output", "out", "--name", "int"), "got 'int'; such as model_int; try "),
    ],
)  # fmt: skip
def test_bad_call_is_one_line(command, arguments, message):
    code, out, err = command("export-c", MODEL, *arguments)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("target", ["host", "qemu-m55"])
def test_next_command_builds_a_folder_with_a_space(command, tmp_path, target):
    build = next(build for build in BUILDS if build.target == target)
    require(*build.tools)
    _, out, _ = command("export-c", MODEL, "--output", "sp ace", "--target", target)
    line = out.splitlines()[-1].removeprefix("next: ")
    ended = subprocess.run(line, shell=True, cwd=tmp_path, check=True, capture_output=True)
    assert b"self-test: 0 of 10 bytes differ\n" in ended.stdout


def test_qemu_refuses_a_file_name_with_a_space(command, tmp_path):
    command("export-c", MODEL, "--output", "out", "--target", "qemu-m55")
    call = ["out/model", "my in.bin", "out.bin"]
    ended = subprocess.run(call, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert ended.returncode == 2
    assert ended.stdout == "my in.bin: must have no spaces, which part arguments here\n"
