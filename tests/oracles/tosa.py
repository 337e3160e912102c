"""TOSA's reference model as an oracle (PyPI `tosa-tools`): its RESCALE.

The package pins versions that clash with onnx's, so it lives in a virtual environment of its own,
made at the first use (27 MB from PyPI) and kept in the user's cache folder. `tosa_program.py` runs
there; arrays travel as files.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

VERSION = "2026.8.0"
PROGRAM = Path(__file__).with_name("tosa_program.py")
SECONDS = 300  # for pip, and for one run
SINGLE, DOUBLE = "SINGLE_ROUND", "DOUBLE_ROUND"


class Rescale(NamedTuple):
    """One RESCALE of accumulators, each channel with its own multiplier and shift.

    acc          int32 (rows, channels), or int64 within 48 bits with a multiplier of 16 bits
    multiplier   int32 or int16 (channels), >= 0
    shift        int8 (channels), to the right, 2..62
    rounding     SINGLE or DOUBLE
    dtype        "int8", "int16" or "int32" of the output
    zero_point   of the output, 0 where it is int32
    """

    acc: NDArray[Any]
    multiplier: NDArray[Any]
    shift: NDArray[Any]
    rounding: str
    dtype: str = "int32"
    zero_point: int = 0


class UnavailableError(Exception):
    """There is no environment with the reference model, and none could be made."""


class UnpredictableError(Exception):
    """The reference model says that TOSA does not define the result."""


def rescale(operation: Rescale) -> NDArray[Any]:
    """The reference model's output (rows, channels).

    raises   UnpredictableError where TOSA leaves the result open, UnavailableError
    """
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "operation.npz"), Path(folder, "output.npy")
        np.savez(source, **operation._asdict())
        command = [environment(), "-W", "ignore", str(PROGRAM), str(source), str(target)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        if "TOSA_UNPREDICTABLE" in done.stdout:
            raise UnpredictableError(done.stderr)
        assert done.returncode == 0, done.stderr
        return np.load(target)


@cache
def environment() -> str:
    """The Python of the environment with the reference model, made where it is not there yet."""
    name = f"tosa-tools-{VERSION}-python{sys.version_info[0]}.{sys.version_info[1]}"
    cached = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"), "npusim", name)
    if not _python(cached).exists():
        fresh = _temporary(cached.parent, f"{name}-")
        _make(fresh)
        try:
            fresh.rename(cached)  # all of it, or nothing: two runs may do this at once
        except OSError:
            return str(_python(cached if _python(cached).exists() else fresh))
    return str(_python(cached))


def _python(folder: Path) -> Path:
    return folder / "bin" / "python"


def _temporary(parent: Path, prefix: str) -> Path:
    """A new folder, in `parent` if that can be written; what is left of it goes at the end."""
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    except OSError:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _make(folder: Path) -> None:
    """A virtual environment with the package."""
    options = ("--quiet", "--retries=1", "--only-binary=:all:")
    pip = [str(_python(folder)), "-m", "pip", "install", *options, f"tosa-tools=={VERSION}"]
    for command in ([sys.executable, "-m", "venv", str(folder)], pip):
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
        except (OSError, subprocess.TimeoutExpired) as error:
            raise UnavailableError(str(error)) from error
        if done.returncode:
            lines = (done.stderr or done.stdout).strip().splitlines()
            raise UnavailableError(lines[-1] if lines else f"{command[1:4]} failed")
