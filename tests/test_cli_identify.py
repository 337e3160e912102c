"""`npusim identify`: what it prints, exit codes, one-line errors."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest
from graphs import Draft

import npusim
from npusim import cli, models
from npusim.tensor_files import write_trace

MODEL = Path(models.__file__).parent / "digits_cnn.h5"


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


@pytest.fixture
def board(tmp_path):
    """A dump of a device whose accumulator saturates at 17 bits."""
    graph = models.digits_cnn()
    device = replace(graph, accumulator=npusim.Accumulator(17, "saturate"))
    images = models.to_int8(models.digits().test.images[:2])
    tensors = dict(npusim.Session(device).trace(images))
    write_trace(tmp_path / "board", tensors, graph)
    return tmp_path / "board"


def test_identify_names_the_accumulator(command, board):
    code, out, err = command("identify", board, "--model", MODEL)
    assert (code, err) == (0, "")
    assert "accumulator  saturates at 17 bits\n" in out
    assert "whose accumulator saturates at 17 bits" in " ".join(out.split())


def test_identify_tells_programs(command, board):
    code, out, _ = command("identify", board, "--model", MODEL, "--json")
    facts = json.loads(out)
    assert code == 0
    assert facts["explained"]
    assert "tflm" in facts["profiles"]
    assert facts["accumulator"] == {"enough": 33, "others": [[17, "saturate"]], "needed": True}
    assert {node["status"] for node in facts["nodes"]} <= {"decided", "undecided"}


def test_what_is_not_explained_is_status_1(command, board):
    (file,) = board.glob("*logits.npy")
    np.save(file, np.zeros_like(np.load(file)))
    code, out, _ = command("identify", board, "--model", MODEL)
    assert code == 1
    assert out.endswith("\nnot explained: accumulator, of which layers need different ones\n")


def test_model_instead_of_a_dump_is_refused(command):
    code, _, err = command("identify", MODEL, "--model", MODEL)
    assert code == 2
    assert err == (
        f"npusim: {MODEL}: must be a dump of a device or a golden file, got a model; dump its "
        "tensors with npusim run --trace\n"
    )


def test_suggested_input_must_be_numpy(command, board):
    code, _, err = command("identify", board, "--model", MODEL, "--suggest-input", "x.bin")
    assert code == 2
    assert err == "npusim: x.bin: suggested input must be .npy or .npz, got .bin\n"


def traced(folder, size, images=4):
    """A small network for images of a size, and a dump of it."""
    draft = Draft(seed=3)
    y = draft.conv2d(draft.input((1, size, size, 3)), 5)
    y = draft.node("mean", (y,), axes=(1, 2), keep_dims=False)
    graph = draft.graph(draft.fully_connected(y, 4))
    x = np.random.default_rng(size).integers(-128, 128, (images, size, size, 3)).astype(np.int8)
    write_trace(folder, dict(npusim.Session(graph).trace(x)), graph)
    return graph


def test_dump_of_another_model_is_refused(command, tmp_path):
    npusim.save(traced(tmp_path / "six", 6), tmp_path / "six.h5")
    traced(tmp_path / "eight", 8)
    code, out, err = command("identify", tmp_path / "eight", "--model", tmp_path / "six.h5")
    assert (code, out) == (2, "")
    assert err == (
        f"npusim: {tmp_path / 'eight'}: must be a dump of draft, got another: x_0: shape must be "
        "(4, 6, 6, 3), got (4, 8, 8, 3)\n"
    )


def test_inputs_must_be_of_the_dumps_images(command, board):
    code, out, err = command("identify", board, "--model", MODEL, "--random", 1)
    assert (code, out) == (2, "")
    assert err == (
        f"npusim: input image: must be (2, 8, 8, 1), as {board} has it, got (1, 8, 8, 1)\n"
    )


@pytest.mark.parametrize(
    "command_line", [["identify", "{}", "--model", MODEL], ["diff", MODEL, "{}"]]
)
def test_another_hdf5_file_is_no_model(command, tmp_path, command_line):
    path = tmp_path / "board.h5"
    with h5py.File(path, "w") as file:
        file["a"] = np.zeros(3)
    code, out, err = command(*(str(word).format(path) for word in command_line))
    assert (code, out) == (2, "")
    assert err == f"npusim: {path}: must be a golden file or a model, got another HDF5 file\n"


def test_no_s0_is_named_for_another_device(command, board):
    _, out, _ = command("identify", board, "--model", MODEL)
    assert "_0: s0 " not in out


def test_file_that_is_left_out_has_a_reason(command, board):
    (board / "index.json").unlink()
    (file,) = board.glob("*logits.npy")
    np.save(board / "dump9.npy", np.full(np.load(file).shape, np.nan, np.float32))
    file.unlink()
    _, out, _ = command("identify", board, "--model", MODEL)
    assert "note: dump9.npy is left out: real numbers must be finite, got infinity or NaN\n" in out
