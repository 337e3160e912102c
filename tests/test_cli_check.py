"""`npusim check`: what it prints, its exit codes, its one-line errors."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import npusim
from npusim import Accumulator, cli, models

MODEL = Path(models.__file__).parent / "digits_cnn.h5"


@pytest.fixture
def check(capsys):
    """Runs the command in this process: (exit code, standard output, standard error)."""

    def run(*arguments):
        try:
            code = cli.main(["check", *map(str, arguments)])
        except SystemExit as error:
            code = error.code
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


@pytest.fixture
def images(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, models.to_int8(models.digits().test.images[:4]))
    return path


def test_no_findings_end_with_0(check, images):
    code, out, err = check(MODEL)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "digits_cnn: profile tflm, accumulator 32 bits, wrap, no input"
    assert out.splitlines()[-2:] == [
        "whatever the input, no sum leaves 32 bits: conv2d_1 may need 23 bits",
        "no findings",
    ]
    code, out, err = check(MODEL, "--input", images)
    assert (code, err) == (0, "")
    assert out.splitlines()[-2:] == [
        "on this input, no sum of 16,424 outputs left 32 bits: conv2d_1 needed 20",
        "no findings",
    ]


def test_an_overflow_ends_with_1_and_is_counted(check, images):
    code, out, err = check(MODEL, "--input", images, "--accumulator", "16:saturate")
    narrow = replace(models.digits_cnn(), accumulator=Accumulator(16, "saturate"))
    found = npusim.check_headroom(narrow, np.load(images))
    totals = {w: sum(n.total(w) for n in found.nodes) for w in ("overflows", "outputs", "changed")}
    text = " ".join(out.split())
    assert (code, err) == (1, "")
    assert (f"on this input: {totals['overflows']:,} overflows in 2 nodes, in "
            f"{totals['outputs']:,} of 16,424 outputs, {totals['changed']:,} of them changed; "
            "most in conv2d_1, channel ") in text  # fmt: skip
    assert text.endswith("found: overflow in 2 nodes, unproven in 5 nodes")


def test_a_bound_that_is_not_proven_ends_with_1(check):
    code, out, _ = check(MODEL, "--accumulator", "20")
    assert code == 1
    assert out.splitlines()[-2:] == [
        "not proven: sums of 2 of 5 nodes may leave 20 bits: conv2d_1 may need 23 bits",
        "found: unproven in 2 nodes",
    ]


def test_json_has_every_channel(check, images):
    code, out, _ = check(MODEL, "--input", images, "--accumulator", "16:error", "--json")
    facts, graph = json.loads(out), models.digits_cnn()
    assert code == 1
    assert facts["accumulator"] == {"bits": 16, "overflow": "error"}
    assert (facts["profile"], facts["images"]) == ("tflm", 4)
    for node in facts["nodes"]:
        channels = node["seen"]["channels"]
        assert {len(values) for values in (node["bounds"], *channels.values())} == {node["count"]}
        assert sum(channels["overflows"]) == node["seen"]["overflows"]
        assert graph.node(node["node"]).op == node["op"]
    assert {f["kind"] for f in facts["findings"]} == {"overflow", "unproven"}


def test_random_inputs_are_reproducible(check):
    runs = [check(MODEL, "--random", 7, "--accumulator", 16, "--threads", n) for n in (1, 2)]
    assert runs[0] == runs[1]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--accumulator", "7"),
         "npusim check: argument --accumulator: bits must be 8..64, got 7; "
         "try npusim check --help\n"),
        (("--input", "none.npy"), "npusim: none.npy: no such file or directory\n"),
        (("--input", "a.npy", "--random", "1"),
         "npusim: inputs: must be named by --input or --random, not both\n"),
        (("--mean", "1", "--std", "1"),
         "npusim: --mean and --std: must come with --input, got none\n"),
    ],
)  # fmt: skip
def test_what_cannot_be_done_ends_with_2(check, arguments, message):
    code, out, err = check(MODEL, *arguments)
    assert (code, out, err) == (2, "", message)
