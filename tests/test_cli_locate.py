"""`npusim locate-weights`: what it prints, exit codes, one-line errors."""

import json

import pytest
from blob.test_locate import compiled

from npusim import cli, models

MODEL = models.__path__[0] + "/digits_cnn.h5"


@pytest.fixture
def command(capsys, tmp_path, monkeypatch):
    """Runs it beside blob.bin, a compiled digit reader: (exit code, output, errors)."""
    monkeypatch.chdir(tmp_path)
    blob, _ = compiled(models.digits_cnn())
    (tmp_path / "blob.bin").write_bytes(blob)

    def run(*arguments):
        code = cli.main(["locate-weights", *map(str, arguments)])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return run


def test_table_names_offset_and_layout(command):
    code, out, err = command(MODEL, "blob.bin")
    assert (code, err) == (0, "")
    assert out.splitlines()[1] == ("conv2d_0            24x3x3x1     0x65     216  plain OHWI")
    assert out.splitlines()[-1] == "5 of 5 found in blob.bin"


def test_what_is_not_found_ends_in_1(command, tmp_path):
    (tmp_path / "other.bin").write_bytes(bytes(range(256)) * 9)
    code, out, _ = command(MODEL, "other.bin", "--tensor", "conv2d_1")
    assert code == 1
    assert out.splitlines() == [
        "node      weights    offset  bytes  layout",
        "conv2d_1  48x3x3x24       -      -  absent",
        "0 of 1 found in other.bin",
        "conv2d_1: absent: in no known layout; none of 48 output channels is there by itself",
    ]


def test_json_lists_places(command):
    code, out, _ = command(MODEL, "blob.bin", "--tensor", "conv2d_2", "--json")
    (one,) = json.loads(out)
    assert (code, one["node"], one["verdict"], one["shape"]) == (0, "conv2d_2", "found",
                                                                 [64, 1, 1, 48])  # fmt: skip
    (place,) = one["places"]
    assert (place["bytes"], place["layout"]) == (3072, "plain OHWI")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "npusim: b.bin: blob must have bytes, got none\n"),
        (
            b":020000040000FA\n",
            "npusim: b.bin: blob must be binary, got Intel HEX; convert it with objcopy -I ihex "
            "-O binary\n",
        ),
    ],
)
def test_blob_that_is_none_is_refused(command, tmp_path, content, message):
    (tmp_path / "b.bin").write_bytes(content)
    assert command(MODEL, "b.bin") == (2, "", message)
