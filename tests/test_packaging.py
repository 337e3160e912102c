"""What is delivered: the wheel's contents, and what works with few packages installed."""

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest

import npusim
from npusim import models

CLONE = Path(__file__).resolve().parents[1]
FOLDERS = {"npusim": "npusim", "zo": "zo", "models": "npusim/models"}
SUFFIXES = (".py", ".h5", ".c", ".h", ".ld", "/Makefile", "qemu-m55/model")
FILES = ("pyproject.toml", "README.md", "LICENSE", "NOTICE")
OPTIONAL = ("tflite", "flatbuffers", "rich", "PIL", "matplotlib", "onnx", "optuna", "dask", "pooch")

RUN_DIGITS = """
import sys
for name in {blocked!r}:
    sys.modules[name] = None
import npusim
from npusim import models
from npusim import models
npusim.save(models.digits_cnn(), sys.argv[1])
session = npusim.Session(npusim.load(sys.argv[1]), threads=1)
print(session.run(models.to_int8(models.digits().test.images[:3])).tobytes().hex())
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Names in a wheel built from a copy of the sources, with no network."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for name in FILES:
        shutil.copy(CLONE / name, source)
    for name in FOLDERS:
        shutil.copytree(
            CLONE / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "*.pyc")
        )
    options = ["--no-deps", "--no-build-isolation", "--quiet", "--wheel-dir", str(target)]
    command = [sys.executable, "-m", "pip", "wheel", str(source), *options]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (path,) = target.glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sources(suffix):
    """Names that the tree's files of this suffix have in the wheel, with their bytes."""
    return {
        f"{package}/{path.relative_to(CLONE / folder).as_posix()}": path.read_bytes()
        for folder, package in FOLDERS.items()
        for path in (CLONE / folder).rglob(f"*{suffix}")
    }


def delivered():
    """Everything of the tree that a user gets."""
    return {name: data for suffix in SUFFIXES for name, data in sources(suffix).items()}


def test_wheel_holds_every_module_and_data_file(wheel):
    expected = delivered()
    assert {
        "npusim/models/digits.h5",
        "npusim/c/structs.h",
        "npusim/c/requantize.c",
        "zo/c/prng.c",
    } <= set(expected)
    assert {name for name in expected if name not in wheel} == set()
    assert {name for name in expected if wheel[name] != expected[name]} == set()


def test_wheel_holds_nothing_else(wheel):
    metadata = f"npusim-{npusim.__version__}.dist-info/"
    expected = delivered()
    others = {name for name in wheel if name not in expected and not name.startswith(metadata)}
    assert others == set()
    assert {name for name in wheel if "test" in name.lower().split("/")} == set()


def test_wheel_holds_licences_and_commands(wheel):
    metadata = f"npusim-{npusim.__version__}.dist-info"
    for name in ("LICENSE", "NOTICE"):
        assert wheel[f"{metadata}/licenses/{name}"] == (CLONE / name).read_bytes()
    commands = wheel[f"{metadata}/entry_points.txt"].decode().split("\n")
    assert "npusim = npusim.cli:main" in commands
    assert "zo = zo.cli:main" in commands


def test_version_is_stated_once_more_and_equal():
    assert version("npusim") == npusim.__version__


@pytest.mark.parametrize(
    ("isa", "blocked"), [("portable", OPTIONAL), ("numpy", (*OPTIONAL, "numba"))]
)
def test_core_packages_suffice(tmp_path, isa, blocked):
    program = RUN_DIGITS.format(blocked=blocked)
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "m.h5")],
        env={**os.environ, "NPUSIM_ISA": isa},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    session = npusim.Session(models.digits_cnn(), threads=1)
    images = models.to_int8(models.digits().test.images[:3])
    assert done.stdout.strip() == session.run(images).tobytes().hex()
