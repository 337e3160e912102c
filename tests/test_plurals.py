"""Counts in words: one of a thing is told in the singular, wherever it is told."""

import ast
import re
from pathlib import Path

import pytest
from graphs import Draft

import npusim
from npusim import cli
from npusim.plurals import counted

CLONE = Path(__file__).resolve().parents[1]
BY_HAND = re.compile(r"""\bs\b["'] \* \(|["']s["'] if .* (?:!=|>) 1""")


@pytest.mark.parametrize(
    ("count", "words"), [(0, "0 nodes"), (1, "1 node"), (2, "2 nodes"), (1234, "1,234 nodes")]
)
def test_counted(count, words):
    assert counted(count, "node") == words


def test_plurals_are_made_in_one_place():
    found = [
        f"{path.relative_to(CLONE)}: {ast.unparse(node)}"
        for folder in ("npusim", "zo", "models")
        for path in sorted((CLONE / folder).rglob("*.py"))
        if path.name != "plurals.py"
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.BinOp | ast.IfExp) and BY_HAND.search(ast.unparse(node))
    ]
    assert found == []


def test_a_model_of_one_node_is_told_in_the_singular(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    draft = Draft()
    npusim.save(draft.graph(draft.fully_connected(draft.input((1, 3)), 2)), "one.h5")
    for command in ("inspect one.h5", "inspect one.h5 --accumulator 8", "check one.h5 --random 1",
                    "check one.h5 --random 1 --accumulator 8", "convert one.h5 two.h5",
                    "golden one.h5 --random 1 --output g.h5", "diff g.h5 g.h5"):  # fmt: skip
        cli.main(command.split())
    out, err = capsys.readouterr()
    assert "1 node" in out
    assert not re.search(r"(?<![\d,])1 (?:more )?(?:node|image|layer|tensor|element)s\b", out + err)
