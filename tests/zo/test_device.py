"""Training on a device: accounts of backpropagation by hand, counts as QEMU tells them, T7."""

import csv
import shutil

import pytest
from c.toolchain import require
from graphs import Draft

from npusim.export.qemu import Counted, read_count
from npusim.export.sections import Sections, read_sections
from npusim.export.tools import M55_TOOLS, require_tools
from npusim.models import digits_cnn
from zo.cost import Cost
from zo.history import Epoch
from zo.reproduce.backward_memory import Backward, least_backward, plain_backward
from zo.reproduce.cell import Cell, schedule_of
from zo.reproduce.device import WAYS, Measured, Part
from zo.reproduce.firmware import differing, frozen_instructions, step_instructions
from zo.reproduce.tables import STUDIES
from zo.reproduce.tables.device import CLOCK, COUNTED, PER_CYCLE, TRAINED

QUICK = ("reproduce", "T7", "--quick", "--seeds", 1, "--epochs", 1, "--output", "out")
SAID = "hello\nmark 0x40 100\nmark 0x80 2600\nmark 0x50 2700\nmark 0x60 3000\ninstructions 3100\n"
AT = {0x40: "zo_run_start", 0x80: "zo_evaluate", 0x50: "zo_run_train_step",
      0x60: "zo_run_finish_epoch"}  # fmt: skip


def test_backpropagation_of_a_head_keeps_its_features():
    """64 features, 10 logits that may be clamped; no gradient but the logits'."""
    graph = digits_cnn()
    assert least_backward(graph, ["head"]) == Backward(64 + 2, 10)
    assert plain_backward(graph, ["head"]) == Backward(4 * (64 + 10), 4 * 10)


def test_backpropagation_to_the_first_layer_keeps_what_lies_between():
    """8x8 pixels; 8x8x24, 4x4x48, 4x4x48 and 4x4x64 codes, their means, 10 logits."""
    clamped = 8 * 8 * 24 + 2 * 4 * 4 * 48 + 4 * 4 * 64 + 10
    outputs, most = clamped + 64, 8 * 8 * 24 + 4 * 4 * 48
    graph = digits_cnn()
    found = least_backward(graph, ["stem", "head"])
    assert found == Backward(8 * 8 + 64 + -(-clamped // 8), most)
    assert plain_backward(graph, ["stem", "head"]) == Backward(4 * (outputs + 8 * 8), 4 * most)


def test_gradients_of_a_shortcut_live_until_it_begins():
    draft = Draft()
    x = draft.input((1, 4, 4, 3))
    first = draft.conv2d(x, 5)
    second = draft.conv2d(first, 5)
    graph = draft.graph(draft.node("add", (first, second), activation="none"))
    one = 4 * 4 * 5
    trained = [graph.tensors[graph.nodes[0].inputs[1]].name]
    assert least_backward(graph, trained) == Backward(4 * 4 * 3 + 3 * one // 8, 3 * one)
    later = [graph.tensors[graph.nodes[1].inputs[1]].name]
    assert least_backward(graph, later) == Backward(one + 2 * one // 8, 2 * one)


def test_operators_whose_gradient_reads_inputs_keep_them():
    draft = Draft()
    first = draft.conv2d(draft.input((1, 4, 4, 3)), 5)
    graph = draft.graph(draft.node("mul", (first, first), activation="none"))
    one = 4 * 4 * 5
    trained = [graph.tensors[graph.nodes[0].inputs[1]].name]
    assert least_backward(graph, trained).kept == 4 * 4 * 3 + one + 2 * one // 8


def test_counts_are_read_from_what_the_plugin_says():
    counted = read_count(SAID, AT)
    assert (counted.total, counted.stack) == (3100, 0)
    assert read_count(f"stack 512\n{SAID}", AT).stack == 512
    counts = (100, 2600, 2700, 3000)
    assert counted.passed == tuple(zip(AT.values(), counts, strict=True))
    with pytest.raises(OSError, match="must tell a count of instructions, got 'hello"):
        read_count(SAID.replace("instructions", "instruction"), AT)


def epochs(*qs):
    """A history of one step an epoch."""
    return tuple(Epoch(i, q, 1, 2, 0, 0, 64, Cost(), 0.0) for i, q in enumerate((0, *qs)))


def test_steps_are_counted_from_their_entry_to_what_follows():
    counted = read_count(SAID, AT)
    assert frozen_instructions(counted) == 2500
    assert step_instructions(counted, epochs(8), 1) == ((8, 300),)
    with pytest.raises(ValueError, match="must train 2 steps in QEMU, got 1"):
        step_instructions(counted, epochs(8, 16), 1)
    with pytest.raises(ValueError, match="must start and evaluate first, got zo_evaluate"):
        frozen_instructions(Counted(1, counted.passed[1:], 0))


def test_bytes_that_differ_are_counted():
    assert differing(b"abcd", b"abcd") == 0
    assert differing(b"abxd", b"abcd") == 1
    assert differing(b"ab", b"abcd") == differing(b"abcdef", b"abcd") == 2


def test_sections_are_summed_and_others_left_out():
    said = """\
linked.elf  :
section              size     addr
.text                 100        0
.rodata                20      100
.data                   8      200
.bss                   40      300
.ARM.attributes        57        0
Total                 225
"""
    assert read_sections(said) == Sections(100, 20, 8, 40)
    assert read_sections(said).ram == 48


def test_numbers_come_back_from_plain_ones_and_others_do_not():
    assert Measured.from_plain({"steps": 3, "ms": 0.5}) == Measured({"steps": 3, "ms": 0.5})
    for damaged in ({"steps": "3"}, {"steps": None}, {"steps": True}):
        with pytest.raises(ValueError, match="steps: must be a number"):
            Measured.from_plain(damaged)
    assert Part("exact head", "memory", 4).key("a") != Part("exact head", "steps", 4).key("a")


def test_the_step_of_every_q_is_counted():
    """Whole runs take their time from the steps that are counted."""
    zeroth = [way for way in TRAINED if not WAYS[way].method.get("exact_head")]
    rungs = {way: set(schedule_of(Cell(way, WAYS[way].schedule, WAYS[way].samples)).rungs)
             for way in zeroth}  # fmt: skip
    assert set().union(*rungs.values()) == set().union(*(rungs.get(w, set()) for w in COUNTED))


def test_missing_tools_are_named_with_their_packages(tmp_path, monkeypatch, zo_command):
    there = {"make", "gcc"}
    monkeypatch.setattr(shutil, "which", lambda tool: tool if tool in there else None)
    monkeypatch.chdir(tmp_path)
    code, out, err = zo_command(*QUICK)
    assert (code, out) == (2, "")
    assert err.strip().endswith(
        "T7: make, gcc, arm-none-eabi-gcc, qemu-system-arm must be installed, got no "
        "arm-none-eabi-gcc, qemu-system-arm; on Debian and Ubuntu: apt-get install "
        "gcc-arm-none-eabi libnewlib-arm-none-eabi qemu-system-arm"
    )
    assert not (tmp_path / "out").exists()
    require_tools("other", ("gcc",))


def test_device_table_of_the_digit_reader(tmp_path, monkeypatch, zo_command):
    require(*M55_TOOLS)
    monkeypatch.chdir(tmp_path)
    code, out, err = zo_command(*QUICK)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    with (tmp_path / "out" / "T7.csv").open() as file:
        rows = list(csv.DictReader(file))
    values = {(r["way"], r["what"], r["features"], r["figure"]): float(r["value"]) for r in rows}
    assert {v for (*_, name), v in values.items() if name == "different"} == {0}
    steps = {q: values["ZO, QScheduler", "steps", "", f"step, q = {q}"] for q in (8, 16, 32, 64)}
    sample = (steps[16] - steps[8]) / 8
    assert steps[64] == pytest.approx(steps[8] + 56 * sample, rel=0.01)
    assert values["exact head", "steps", "", "step, q = 0"] < steps[8]
    assert 500 < values["exact head", "steps", "", "stack"] < 8000
    kept, made = (values["exact head", "memory", where, "zeros"] for where in ("kept", ""))
    assert kept - made == 64 * (1068 + 153)
    text = (tmp_path / "out" / "T7.md").read_text()
    assert "DIFFER" not in text
    assert "qemu" in text.lower()
    milliseconds = 1000 * steps[64] / (CLOCK * PER_CYCLE)
    assert f"| ZO, q = 64 | {steps[64]:,.0f} | {milliseconds:,.1f} |" in text
    assert (tmp_path / "out" / "T7.png").read_bytes().startswith(b"\x89PNG")


def test_a_difference_shows(tmp_path, monkeypatch, zo_command):
    """Numbers as they would be if C had other bytes; nothing is run."""
    figures = {"training images": 70, "validation images": 10, "test images": 20,
               "validation": 0.5, "test": 0.25, "epochs": 1, "last q": 8, "steps, q = 8": 1,
               "steps": 1, "batch": 64, "bytes": 12880, "different": 3, "image": 22873244.4,
               "step, q = 8": 25563057, "stack": 4168, "code": 1, "constants": 2, "data": 3,
               "zeros": 4, "samples": 5, "arena": 6, "features": 0, "trained": 8, "least kept": 9,
               "least gradients": 10, "plain kept": 11, "plain gradients": 12}  # fmt: skip
    made = STUDIES["T7"]._replace(run=lambda part, task: Measured(figures), tools=())
    monkeypatch.setitem(STUDIES, "T7", made)
    monkeypatch.chdir(tmp_path)
    code, out, _ = zo_command("reproduce", "T7", "--seeds", 1, "--output", "out")
    assert code == 0
    assert out.count("3 DIFFER") == 4
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    text = (tmp_path / "out" / "T7.md").read_text()
    assert "* The frozen layers were trained on 1,078 of these images, and the seed " in text
    # RAM of 7 bytes, 9 kept, gradients of which the arena holds 6, weights' gradients
    assert f"| accounting | 9 | 10 | 32 | {7 + 9 + 4 + 32} |" in text
    assert f"| accounting | 11 | 12 | 32 | {7 + 11 + 12 + 32} |" in text
