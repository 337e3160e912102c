"""The tie test for a board: its model is a good .tflite, and its verdicts are right."""

from __future__ import annotations

import importlib
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from oracles import tflm

import npusim

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "neural_art_ties"


@pytest.fixture
def ties(monkeypatch):
    monkeypatch.syspath_prepend(str(FOLDER))
    return importlib.import_module("ties")


@pytest.fixture
def folder(ties, tmp_path):
    ties.write(tmp_path / "ties")
    return tmp_path / "ties"


def test_model_runs_in_tflite_micro(ties, folder):
    x = np.load(folder / "input.npy")
    (expected,) = tflm.run((folder / "model.tflite").read_bytes(), [x])
    graph = npusim.load(folder / "model.tflite")
    assert np.array_equal(npusim.Session(graph).run(x), expected)
    assert (folder / "input.bin").read_bytes() == x.tobytes()


def test_coefficients_are_powers_of_two(ties, folder):
    """So that no rounding of a coefficient can be taken for a rule of ties."""
    for s0 in range(7):
        graph = npusim.load(folder / "model.tflite", profile="neural-art",
                            parameters={"*": {"s0": s0}})  # fmt: skip
        stored = graph.nodes[0].given
        for name in ("derived_A_c", "derived_A2"):
            values = stored[name]
            assert np.all(values & (values - 1) == 0)
        assert np.all(stored["derived_BC_c"] % 2**14 == 0)


def test_every_rule_is_told_apart_wherever_the_compilers_s0_may_be(ties, folder):
    model, x = folder / "model.tflite", ties.inputs()
    graph = npusim.load(model, profile="neural-art")
    rule = int(graph.nodes[0].given["derived_s0"][0])
    found = [
        ties.predict(model, x, s0, rules).tobytes()
        for s0 in range(rule - 2, rule + 2)
        for rules in product(ties.TIES, repeat=3)
    ]
    assert len(set(found)) == 4 * 27


def test_judge_finds_the_rules_of_a_board(ties, folder, monkeypatch, capsys):
    rules = ("even", "up", "away")
    board = ties.predict(folder / "model.tflite", ties.inputs(), 4, rules)
    np.savez(folder / "board.npz", x=np.zeros(3, np.int8), y=board)
    monkeypatch.setattr("sys.argv", ["ties.py", "judge", str(folder), str(folder / "board.npz")])
    capsys.readouterr()
    assert ties.main() == 0
    assert capsys.readouterr().out.splitlines() == [
        "s0 is 4",
        "stage 1 (CONVACC, r0 = acc / 2^s0): ties go to the even number: -0.5 and 0.5 become 0, "
        "1.5 becomes 2",
        "stage 2 (ARITH, r1 = r0 * A_c / 2^s1): ties go toward plus infinity, as adding half and "
        "shifting does: -0.5 becomes 0",
        "stage 3 (ARITH, y = (r1 * A2 + BC_c) / 2^20): ties go away from zero: npusim's default; "
        "-0.5 becomes -1, 0.5 becomes 1",
        "Give npusim what was found:",
        '  {"*": {"ties": ["even", "up", "away"]}}',
    ]


def test_verdict_names_stages_whose_ties_were_not_met(ties):
    findings = [
        ties.Finding(0, ("away", "up", "up"), 0),
        ties.Finding(0, ("even", "up", "up"), 0),
        ties.Finding(3, ("away", "away", "away"), 70),
    ]
    lines = list(ties.verdict(findings, 100))
    assert lines[0] == "s0 is 0"
    assert lines[1].endswith("r0 = acc / 2^s0): away or even, its ties were not met")


def test_verdict_says_when_nothing_fits(ties):
    findings = [ties.Finding(s0, ("away",) * 3, 10 + s0) for s0 in range(9)]
    lines = list(ties.verdict(findings, 100))
    assert lines[0] == "no hypothesis gives all 100 outputs; the nearest:"
    assert lines[1] == "  s0 0, ties away away away: 10 differ"
    assert len(lines) == 9


def test_every_s0_that_the_layer_can_have_is_tried(ties, folder):
    beyond = max(ties.SHIFTS) + 1
    with pytest.raises(
        npusim.ModelError, match=f"below 2.15, got 32768, with the s0 given, {beyond}$"
    ):
        ties.predict(folder / "model.tflite", ties.inputs(), beyond, ("away",) * 3)
    found = ties.predict(folder / "model.tflite", ties.inputs(), max(ties.SHIFTS), ("away",) * 3)
    assert len(np.unique(found)) > 1


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("judge", "ties", "y.bin"), "y.bin: no such file or directory"),
        (("judge", "ties", "short.bin"), "short.bin: must hold 65536 int8, got 5 int8"),
        (("judge", "absent", "long.bin"), "absent/model.tflite: must be a model file, got nothing"),
        (("judge", "ties", "bad.npy"), "bad.npy: must be an array of .npy, got"),
        (("write", "ties"), "ties: folder must be empty; remove its files or name another"),
    ],
)
def test_command_refuses_in_a_line(ties, folder, words, message, monkeypatch, capsys):
    monkeypatch.chdir(folder.parent)
    np.zeros(5, np.int8).tofile("short.bin")
    np.zeros(65536, np.int8).tofile("long.bin")
    (folder.parent / "bad.npy").write_bytes(b"no array")
    monkeypatch.setattr("sys.argv", ["ties.py", *words])
    before = {path: path.read_bytes() for path in folder.iterdir()}
    capsys.readouterr()
    assert ties.main() == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"ties.py: {message}")
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_command_ends_with_1_where_nothing_fits(ties, folder, monkeypatch, capsys):
    np.zeros(65536, np.int8).tofile(folder / "y.bin")
    monkeypatch.setattr(ties, "SHIFTS", (4,))
    monkeypatch.setattr("sys.argv", ["ties.py", "judge", str(folder), str(folder / "y.bin")])
    capsys.readouterr()
    assert ties.main() == 1
    assert "no hypothesis gives all 65536 outputs" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["y.npy", "y.bin", "y.npz"])
def test_output_of_another_size_is_refused(ties, tmp_path, name):
    array = np.zeros(5, np.int8)
    if name == "y.npz":
        np.savez(tmp_path / name, array)
    elif name == "y.npy":
        np.save(tmp_path / name, array)
    else:
        array.tofile(tmp_path / name)
    with pytest.raises(ValueError, match="must hold"):
        ties.read_output(tmp_path / name)
