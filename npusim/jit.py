"""The one numba decorator of the project.

Numba's own cache does not see edits to called functions or changed flags, so compiled code is kept
in a folder named by a hash of every kernel source, the versions and the host. The folder is set
only while a function is decorated: a user's own numba cache is left alone.
Set NPUSIM_CACHE_DIR to move it; by default it lies in the user's cache folder.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parent
_SOURCES = (_PACKAGE, _PACKAGE.parent / "zo")


def jit(function: Function) -> Function:
    """Compile `function` at its first call: no Python objects, no GIL, cached on disk."""
    config: Any = numba.config
    previous = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder())
    try:
        compiled: Any = numba.njit(nogil=True, cache=True, error_model="numpy")(function)
    finally:
        config.CACHE_DIR = previous
    return compiled


@cache
def cache_folder() -> Path:
    """The folder of compiled kernels for these sources, versions and host."""
    root = os.environ.get("NPUSIM_CACHE_DIR")
    base = Path(root) if root else _user_cache() / "npusim"
    folder = base / _source_hash()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"npusim-{os.getuid()}" / folder.name
        folder.mkdir(parents=True, exist_ok=True)
    return folder


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))


def _source_hash() -> str:
    digest = hashlib.sha256()
    for part in (sys.version, numba.__version__, np.__version__):
        digest.update(part.encode())
    for folder in _SOURCES:
        for path in sorted(folder.rglob("*.py")):
            if "kernels" in path.parts or path.name == "jit.py":
                digest.update(path.relative_to(folder.parent).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
