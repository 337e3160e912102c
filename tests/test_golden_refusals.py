"""Golden files that are broken or hostile: refused by name, within limits."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import h5py
import hostile
import numpy as np
import pytest
from graphs import codes
from test_golden import recorded, two_inputs

from npusim import golden
from npusim.golden.file import parse
from npusim.graph import ModelError

CLONE = Path(__file__).resolve().parents[1]
REMEDY = "the file is damaged, or was not written by npusim"
VALUES = "tensors/000000/values"
TEXT = h5py.string_dtype("utf-8", 16)
FED = codes(two_inputs(), 1)["x_0"]  # the first tensor; nothing runs while tests are listed


def edited(change: Callable[[h5py.File], object]) -> bytes:
    image = io.BytesIO(golden.to_bytes(recorded(count=1)))
    with h5py.File(image, "r+") as file:
        change(file)
    return image.getvalue()


def put(name: str, value: object) -> Callable[[h5py.File], None]:
    """Replace an object, or delete it; attributes of a dataset stay."""

    def change(file: h5py.File) -> None:
        attributes = dict(file[name].attrs)
        del file[name]
        if value is not None:
            file[name] = value
            if isinstance(value, np.ndarray):
                file[name].attrs.update(attributes)

    return change


def attribute(owner: str, name: str, value: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        del file[owner].attrs[name]
        if isinstance(value, str):
            file[owner].attrs.create(name, np.array(value.encode(), TEXT))
        elif value is not None:
            file[owner].attrs.create(name, value)

    return change


CASES = {
    "other format": (
        attribute("/", "format", "npusim graph"),
        "/@format: must be 'npusim golden', got another HDF5 file",
    ),
    "no format": (
        attribute("/", "format", None),
        "/@format: must be 'npusim golden', got another HDF5 file",
    ),
    "newer version": (
        attribute("/", "version", np.int64(2)),
        "/@version: must be 1, got 2; update npusim",
    ),
    "external link": (
        put(VALUES, h5py.ExternalLink("/etc/passwd", "/values")),
        f"/{VALUES}: must be an object of this file, got a ExternalLink; {REMEDY}",
    ),
    "type of values": (
        put(VALUES, np.zeros((1, 5, 5, 4), np.int16)),
        f"/{VALUES}: type must be int8, got int16",
    ),
    "shape of values": (
        put(VALUES, np.zeros((1, 5, 5, 3), np.int8)),
        f"/{VALUES}: must have the shape (1, 5, 5, 4), got (1, 5, 5, 3); {REMEDY}",
    ),
    "values that were changed": (
        put(VALUES, np.zeros((1, 5, 5, 4), np.int8)),
        f"/{VALUES}: must have the hash {sha256(FED.tobytes()).hexdigest()[:12]}.., "
        f"got {sha256(bytes(100)).hexdigest()[:12]}..; {REMEDY}",
    ),
    "no values": (
        put(VALUES, None),
        f"/{VALUES}: must be an object of this file, got none; {REMEDY}",
    ),
    "several scales": (
        lambda file: (put("tensors/000000/scale", np.ones(2, np.float32))(file),
                      put("tensors/000000/zero_point", np.zeros(2, np.int64))(file)),
        "/tensors/000000/scale: must be one number with one zero point, "
        f"got (2,) and (2,); {REMEDY}",
    ),
    "kind": (
        attribute("tensors/000000", "kind", "state"),
        "/tensors/000000@kind: must be one of constant, input, activation, got state",
    ),
    "type of a tensor": (
        attribute("tensors/000000", "dtype", "int4"),
        "/tensors/000000@dtype: must be one of int8, int16, int32, int64, uint8, float32, bool, "
        "got int4",
    ),
    "origin": (
        attribute("nodes/000000/parameters/shift", "origin", "guessed"),
        "/nodes/000000/parameters/shift@origin: must be one of derived, given, got guessed",
    ),
    "type of a parameter": (
        put("nodes/000000/parameters/shift", np.zeros(4, np.int8)),
        "/nodes/000000/parameters/shift: type must be int64, got int8",
    ),
    "name twice": (
        attribute("tensors/000001", "name", "x_0"),
        f"/tensors: names must be unique, got 6 tensors with 5 names; {REMEDY}",
    ),
    "name with a control character": (
        attribute("tensors/000001", "name", "x\x1b[2J"),
        f"names: must have at most 4096 printable characters, got 'x\\x1b[2J'; {REMEDY}",
    ),
    "profile with a control character": (
        attribute("/", "profile", "a\nb"),
        f"names: must have at most 4096 printable characters, got 'a\\nb'; {REMEDY}",
    ),
    "input that is not there": (
        put("inputs", np.array([0, 99])),
        f"/inputs: must refer to tensors that are there, got 99; {REMEDY}",
    ),
    "inputs of rank 2": (
        put("inputs", np.zeros((1, 1), np.int64)),
        f"/inputs: must be a list, got (1, 1); {REMEDY}",
    ),
    "node that reads what comes later": (
        attribute("nodes/000000", "inputs", np.array([5, 2, 3])),
        f"node conv2d_0: must refer to tensors that are there, got 5; {REMEDY}",
    ),
    "node that makes a constant": (
        attribute("nodes/000000", "outputs", np.array([2])),
        f"node conv2d_0: must refer to tensors that are there, got 2; {REMEDY}",
    ),
    "tensor that nobody makes": (
        attribute("nodes/000001", "outputs", np.array([], np.int64)),
        f"tensor y_5: must be made by a node, got none; {REMEDY}",
    ),
    "accumulator": (
        attribute("/", "accumulator_bits", np.int64(99)),
        f"must be HDF5, got accumulator: bits must be 8..64, got 99; {REMEDY}",
    ),
    "text that is a number": (
        attribute("/", "model", np.int64(1)),
        f"/@model: must be text of fixed length, got int64; {REMEDY}",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_edited_file_is_refused(case):
    change, expected = CASES[case]
    with pytest.raises(ModelError) as caught:
        parse(edited(change), "g.h5")
    assert str(caught.value) == f"g.h5: {expected}"


def test_array_that_is_read_often_is_refused():
    """One big array in the place of every tensor's."""

    def share(file):
        file["big"] = np.zeros(2**20, np.int8)
        for name in ("tensors/000000", "tensors/000001"):
            del file[name]["values"]
            file[name]["values"] = file["big"]

    data = edited(share)
    with pytest.raises(
        ModelError, match=f"must have the shape|must fit in the file of {len(data)}"
    ):
        parse(data, "g.h5")


@pytest.mark.parametrize("step", [40, pytest.param(1, marks=pytest.mark.full)])
def test_prefixes_and_mutations_are_refused_or_whole(step, tmp_path):
    file = tmp_path / "g.h5"
    golden.save(recorded(count=1), file)
    command = [sys.executable, str(CLONE / "tests" / "hostile.py"), str(file), str(step),
               str(tmp_path / "case")]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(CLONE)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, (tmp_path / "case").read_text() + done.stderr
    counts = dict(word.split("=") for word in done.stdout.split())
    cases = len(range(0, file.stat().st_size, step)) + len(range(0, hostile.MUTATIONS, step))
    assert int(counts["refused"]) + int(counts["loaded"]) == cases
    assert int(counts["loaded"]) > 0
