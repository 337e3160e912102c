"""The text of an exported model: deterministic, complete, and nothing that is not needed."""

import re
from dataclasses import replace

import numpy as np
import pytest
from graphs import Draft, codes

from npusim import Session, __version__, models
from npusim.c_syntax import WIDTH
from npusim.export import TARGETS, export_c
from npusim.export.model import model_of
from npusim.golden.record import graph_hash
from npusim.tensor_files import random_inputs


@pytest.fixture(scope="module")
def digits():
    graph = models.digits_cnn()
    return export_c(graph, "digits", random_inputs(graph, 1), "qemu-m55")


def macro(project, name):
    """The value of one of the model's macros."""
    header = project.files[f"{project.model.prefix}.h"]
    (value,) = re.findall(rf"^#define {project.model.names.macro}_{name} (\d+) ", header, re.M)
    return int(value)


@pytest.mark.parametrize("target", TARGETS)
def test_equal_models_give_equal_files(target):
    graph = models.digits_cnn()
    once, again = (export_c(graph, "m", random_inputs(graph, 1), target) for _ in range(2))
    assert once.files == again.files


def test_only_needed_kernels_are_there(digits):
    kernels = {name for name in digits.files if name.startswith("kernels/")}
    assert {"kernels/conv2d.c", "kernels/conv2d_mve.c", "kernels/mean.h"} <= kernels
    assert not {"kernels/softmax.c", "kernels/elementwise.c", "kernels/neural_art.c"} & kernels


def test_files_of_the_targets():
    graph = models.digits_cnn()
    own = {}
    for target in TARGETS:
        files = export_c(graph, "m", random_inputs(graph, 1), target).files
        own[target] = {f for f in files if not f.startswith(("kernels/", "m", "self"))}
    beside = {"README.md", "Makefile", "target/constants.c", "target/constants.h", "target/host.h",
              "target/report.c", "target/report.h"}  # fmt: skip
    assert own["host"] == {*beside, "target/stdio.c"}
    assert own["qemu-m55"] == {
        *beside, "target/an547.ld", "target/semihost.c", "target/semihost.h", "target/startup.c",
    }  # fmt: skip


def test_macros_are_the_plans_sizes(digits):
    session = Session(models.digits_cnn(), threads=1)
    plan = digits.model.plan
    assert macro(digits, "INPUT_BYTES") == 64
    assert macro(digits, "OUTPUT_BYTES") == 10
    assert macro(digits, "ARENA_BYTES") == plan.arena_bytes
    (x,), (y,) = session.graph.inputs, session.graph.outputs
    assert macro(digits, "X_OFFSET") == plan.buffers[x].offset
    assert macro(digits, "Y_OFFSET") == plan.buffers[y].offset
    constants = [t for t in session.graph.tensors if t.data is not None]
    assert macro(digits, "FLASH_BYTES") > sum(t.data.nbytes for t in constants)


def test_arrays_hold_the_constants(digits):
    text = digits.files["digits_weights.c"]
    graph = models.digits_cnn()
    body = text.partition("digits_fully_connected_0_weights[640] = {")[2].partition("}")[0]
    found = np.array([int(n) for n in body.replace("\n", "").split(",") if n.strip()])
    assert np.array_equal(found, graph.tensor("head").data.reshape(-1))
    assert "/* head: int8 (O, I) = (10, 64) */" in text


def test_lines_are_short(digits):
    long = [
        (name, line)
        for name, text in digits.files.items()
        if not name.endswith(".md")
        for line in text.splitlines()
        if len(line) > WIDTH
    ]
    assert long == []


def test_no_template_mark_is_left(digits):
    for name, text in digits.files.items():
        if not name.startswith("kernels/"):
            assert not re.search(r"@[A-Z]+@", text), name


def test_readme_tells_sizes_origin_and_commands(digits):
    text = digits.files["README.md"]
    assert "```\nmake\nmake check\n./model in.bin out.bin\n```" in text
    assert "arm-none-eabi-gcc" in text
    assert f"{digits.model.plan.arena_bytes:,}" in text
    assert graph_hash(models.digits_cnn()) in text
    assert f"npusim {__version__}" in text
    assert "Profile tflm, accumulator of 32 bits that wraps." in text


def test_tensor_names_cannot_break_the_code(tmp_path):
    draft = Draft()
    graph = draft.graph(draft.conv2d(draft.input((1, 4, 4, 2)), 3))
    evil = tuple(replace(t, name=f'*/ int "{k}\\ ??/ /*') for k, t in enumerate(graph.tensors))
    graph = replace(graph, tensors=evil)
    text = "".join(export_c(graph, "m", codes(graph)).files.values())
    assert "*/ int" not in text


def test_trainable_constants_are_copied_from_flash():
    session = Session(models.digits_cnn(), trainable=["head"], threads=1)
    indices = [i for i, t in enumerate(session.graph.tensors) if t.name == "head"]
    model = model_of(session.graph, "m", indices)
    writable = {a.name for a in model.arrays if a.writable}
    assert writable == {f"m_fully_connected_0_{what}" for what in ("weights", "bias", "shift")}
    assert model.frozen == session.frozen_nodes == 5
    assert model.writable_bytes == 640 + 2 * 40
