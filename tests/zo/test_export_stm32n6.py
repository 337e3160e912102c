"""Training exported for an STM32N6: passes go to the NPU, which reads what the CPU wrote for it."""

import subprocess
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from c.toolchain import RULES, SANITIZERS, require
from training_tasks import digits_task

import zo
from npusim.export.folder import write_folder
from zo.export import Device, Task, export_training

BENCH = Path(__file__).parents[1] / "c" / "stm32n6" / "train_on_fake.c"
IMAGES, VALIDATION, EPOCHS, Q, BATCH = 40, 20, 2, 3, 20
OK, SCALES, BIAS, FEATURES = range(4)
SHARED = ("kernels/", "zo/", "target/")
TARGET = ("npu_training", "npu_weights", "npu_pack")


def exported(trainable, **settings):
    """A run of the digit reader for the target."""
    task = digits_task(train=IMAGES, validation=VALIDATION)
    method = zo.Method(**settings)
    options = zo.Options(epochs=EPOCHS, batch=BATCH, method=method)
    whole = Task(task.graph, trainable, task.train, task.validation)
    device = Device("stm32n6", checked=EPOCHS)
    return export_training(whole, "digits", zo.Constant(Q), options, device)


def compiled(folder, sources, options, output):
    """What gcc makes of a project's sources, in its folder."""
    folders = (".", "kernels", "zo", "target", "target/declared")
    command = ["gcc", *RULES, *options, *(f"-I{name}" for name in folders), *sources, "-o", output]
    built = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return folder / output


@cache
def shared_object(project_files, options):
    """What is the same in every project, compiled once: one object's bytes."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        write_folder(folder, dict(project_files))
        sources = sorted(path for path, _ in project_files if is_source(path))
        return compiled(folder, sources, (*options, "-r"), "shared.o").read_bytes()


def is_source(path):
    return path.endswith(".c") and (not path.startswith("target/") or Path(path).stem in TARGET)


def on_fake(project, folder, *arguments, options=()):
    """What training says whose passes run on the fake NPU."""
    require("gcc")
    project.write(folder)
    (folder / "bench.c").write_text(BENCH.read_text())
    shared = tuple(item for item in project.files.items() if item[0].startswith(SHARED))
    (folder / "shared.o").write_bytes(shared_object(shared, tuple(options)))
    own = sorted(path.name for path in folder.glob("*.c"))
    compiled(folder, [*own, "shared.o"], options, "bench")
    run = subprocess.run(["./bench", *arguments], cwd=folder, capture_output=True, text=True,
                         check=False)  # fmt: skip
    assert run.stderr == ""
    return run.stdout


@pytest.mark.parametrize(
    "options", [(), pytest.param(SANITIZERS, marks=pytest.mark.builds)], ids=["gcc", "sanitized"]
)
def test_every_step_is_zos_when_passes_run_elsewhere(options, tmp_path):
    steps = EPOCHS * IMAGES // BATCH
    passes = steps * BATCH * (1 + Q) + (1 + EPOCHS) * VALIDATION
    said = on_fake(exported(["head"], recalibrate=False), tmp_path, options=options)
    assert said == f"trained 0, npu 0, 0 of {steps} steps differ, {passes} passes\n"


def test_failed_pass_is_told(tmp_path):
    said = on_fake(exported(["head"], recalibrate=False), tmp_path, "7")
    assert "npu 2," in said


@pytest.mark.parametrize(
    ("trainable", "settings", "status"),
    [
        (["head"], {}, SCALES),
        (["head", "head/bias"], {"recalibrate": False}, BIAS),
        (["head"], {"recalibrate": False, "exact_head": True}, FEATURES),
    ],
)
def test_rejects_what_a_compiled_network_cannot_follow(trainable, settings, status, tmp_path):
    said = on_fake(exported(trainable, **settings), tmp_path)
    assert said == f"not attached: {status}\n"


def test_compiles_for_the_device_against_declarations(tmp_path):
    require("make", "arm-none-eabi-gcc")
    exported(["head"], recalibrate=False).write(tmp_path)
    command = ["make", "-s", "check", "all", "CFLAGS=-O2 -Werror"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "libmodel.a").exists()


def test_readme_shows_how_a_network_is_attached():
    text = exported(["head"], recalibrate=False).files["README.md"]
    assert "npu_training_attach(&npu, &digits_training);" in text
    assert "{{NULL, WEIGHTS_ADDRESS, WEIGHTS_BYTES}, digits_fully_connected_0_weights," in text
    assert "./model" not in text
