"""docs/golden.md: its commands print what it shows."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from npusim import cli, models
from npusim.golden import load

PAGE = (Path(__file__).resolve().parents[1] / "docs" / "golden.md").read_text("utf-8")
BLOCKS = re.findall(r"```console\n(.*?)```", PAGE, re.S)


def examples():
    """(command, what it prints) of every console block, in the order of the page."""
    for block in BLOCKS:
        for part in block.split("$ ")[1:]:
            command, _, printed = part.partition("\n")
            yield command, printed


@pytest.fixture
def shell(tmp_path, monkeypatch, capsys):
    """Runs a line of the page: npusim in this process, `| tail -1`, `> file` and `head -1`."""
    monkeypatch.chdir(tmp_path)
    model = Path(models.__file__).parent / "digits_cnn.h5"
    (tmp_path / "digits.h5").write_bytes(model.read_bytes())

    def run(line):
        if line.startswith("head -1 "):
            return Path(line.split()[2]).read_text().splitlines(keepends=True)[0]
        command, _, target = line.partition(" > ")
        command, _, tail = command.partition(" | ")
        assert cli.main(shlex.split(command)[1:]) in (0, 1)
        printed = capsys.readouterr().out
        if target:
            Path(target).write_text(printed)
            return ""
        return printed.splitlines(keepends=True)[-1] if tail == "tail -1" else printed

    return run


def hashless(text):
    """The text without hashes, which hold npusim's version."""
    return re.sub(r"\b[0-9a-f]{64}\b", "HASH", text)


def test_commands_print_what_the_page_shows(shell):
    lines = list(examples())
    assert len(lines) >= 8
    for command, printed in lines:
        assert hashless(shell(command)) == hashless(printed), command
    assert load("golden.h5").profile == "tflm"
    assert Path("report.html").read_text().startswith("<!doctype html>")
