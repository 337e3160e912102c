"""The cache of compiled kernels: an edit is always seen, and nobody else's cache is touched."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numba
import pytest

from npusim import jit

PACKAGE = Path(jit.__file__).parent
SHOW_FOLDER = "from npusim.jit import cache_folder; print(cache_folder())"
CLAMP_300 = "from npusim.kernels.arith import clamp; print(clamp(300, -9, 9))"
CLAMP_REAL = "from npusim.kernels.arith import clamp; print(clamp(0.5, -9.0, 9.0))"


@pytest.fixture
def copy(tmp_path):
    """A copy of the package's sources, and `run`, which runs a program on it."""
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, tmp_path / "npusim", ignore=ignored)
    environment = {**os.environ, "NPUSIM_CACHE_DIR": str(tmp_path / "cache"),
                   "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip

    def run(program):
        # isolated from site-packages' editable finder: the copy must come first
        first = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); "
        command = [sys.executable, "-c", first + program]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        said.append(done.stderr)
        return done.stdout.strip()

    said = run.said = []
    return tmp_path / "npusim", run


def edit(path, old, new):
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_edit_of_a_kernel_changes_the_folder(copy):
    package, run = copy
    before = run(SHOW_FOLDER)
    assert before.startswith(str(package.parent / "cache"))
    edit(package / "kernels" / "pool.py", '"""', '"""Edited. ')
    assert run(SHOW_FOLDER) != before


def test_edit_of_other_code_keeps_the_folder(copy):
    package, run = copy
    before = run(SHOW_FOLDER)
    edit(package / "describe.py", '"""', '"""Edited. ')
    assert run(SHOW_FOLDER) == before


def test_cache_is_used_again_until_a_called_function_changes(copy):
    package, run = copy

    def compiled():
        files = sorted((package.parent / "cache").rglob("*.nbc"))
        return [(path, path.stat().st_mtime_ns) for path in files]

    assert run(CLAMP_300) == "9"
    first = compiled()
    assert first
    assert run(CLAMP_300) == "9"
    assert compiled() == first
    edit(package / "kernels" / "arith.py", "min(max(value, low), high)", "max(value, low)")
    assert run(CLAMP_300) == "300"


def test_processes_that_compile_at_once_keep_their_own_code(copy):
    """Neither saw the other's index: the one that is written last stands."""
    package, run = copy
    assert run(CLAMP_300) == "9"
    (index,) = (package.parent / "cache").rglob("*clamp*.nbi")
    first = index.read_bytes()
    index.unlink()
    assert run(CLAMP_REAL) == "0.5"
    index.write_bytes(first)
    assert run(CLAMP_300) == "9"


def test_first_compilation_is_announced_once(copy):
    _, run = copy
    assert run(CLAMP_300) == "9"
    assert run(CLAMP_300) == "9"
    assert run.said == [f"{jit.COMPILING}\n", ""]


def test_compilation_that_is_not_kept_says_so_and_leaves_nothing(copy):
    package, run = copy
    cache = package.parent / "cache"
    cache.write_text("in the way")
    folder = run("from npusim.jit import cache_folder; print(cache_folder()); " + CLAMP_300)
    assert folder.splitlines()[1] == "9"
    assert not Path(folder.splitlines()[0]).exists()
    assert run.said == [f"{jit.NOT_KEPT.format(cache)}\n"]


def test_a_new_folder_removes_those_unused_for_30_days(tmp_path, monkeypatch):
    monkeypatch.setenv("NPUSIM_CACHE_DIR", str(tmp_path))
    days = {"npusim-0123456789abcdef": 31, "npusim-123456789abcdef0": 29, "zo-0123456789abcdef": 31,
            "npusim-notes": 31, "npusim-0123456789abcdef0": 31}  # fmt: skip
    for name, age in days.items():
        (tmp_path / name / "kernels").mkdir(parents=True)
        os.utime(tmp_path / name, (time.time() - age * 86400,) * 2)
    (tmp_path / "npusim-ffffffffffffffff").symlink_to(tmp_path / "zo-0123456789abcdef")
    folder = jit.cache_folder.__wrapped__()
    left = {path.name for path in tmp_path.iterdir()}
    assert left == {*days, folder.name, "npusim-ffffffffffffffff"} - {"npusim-0123456789abcdef"}


def test_a_folder_in_use_is_young(tmp_path, monkeypatch):
    monkeypatch.setenv("NPUSIM_CACHE_DIR", str(tmp_path))
    folder = jit.cache_folder.__wrapped__()
    os.utime(folder, (0, 0))
    assert jit.cache_folder.__wrapped__() == folder
    assert time.time() - folder.stat().st_mtime < 86400


def test_users_numba_cache_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("NPUSIM_CACHE_DIR", str(tmp_path))
    before = numba.config.CACHE_DIR

    @jit.jit
    def twice(x):
        return 2 * x

    assert twice(4) == 8
    assert before == numba.config.CACHE_DIR


def test_unwritable_cache_falls_back_to_a_private_folder(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("NPUSIM_CACHE_DIR", str(tmp_path / "file"))
    monkeypatch.setattr(jit.notice, "text", None)
    folder = jit.cache_folder.__wrapped__()
    assert folder.is_dir()
    assert folder.stat().st_mode & 0o077 == 0
    folder.rmdir()
