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


def jit(function: Function) -> Function:
    """Compile `function` at its first call: no Python objects, no GIL, cached on disk."""
    return _compiled(function)


def jit_inline(function: Function) -> Function:
    """As `jit`, and its code is always put into its callers.

    For what inner loops call: a call counts references to every array it is given, which takes
    longer than a short row of work.
    """
    return _compiled(function, forceinline=True)


def _compiled(function: Function, forceinline: bool = False) -> Function:
    config: Any = numba.config
    previous = config.CACHE_DIR
    config.CACHE_DIR = str(cache_folder(function.__module__.split(".")[0]))
    try:
        compiled: Any = numba.njit(
            nogil=True, cache=True, error_model="numpy", forceinline=forceinline
        )(function)
    finally:
        config.CACHE_DIR = previous
    return compiled


@cache
def cache_folder(package: str = "npusim") -> Path:
    """The folder of a package's compiled kernels for these sources, versions and host.

    Kernels call only kernels of their own package or of npusim. Where the user's cache folder
    cannot be written, a fresh private folder serves this process alone: compiled code is never
    loaded from a place where others could have put it.
    """
    root = os.environ.get("NPUSIM_CACHE_DIR")
    base = Path(root) if root else _user_cache() / "npusim"
    folder = base / f"{package}-{_source_hash(package)}"
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError:
        return Path(tempfile.mkdtemp(prefix="npusim-"))
    return folder


def _user_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home() / "AppData" / "Local"))
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))


def _source_hash(package: str) -> str:
    digest = hashlib.sha256()
    for part in (sys.version, numba.__version__, np.__version__):
        digest.update(part.encode())
    for folder in dict.fromkeys((_PACKAGE, _PACKAGE.parent / package)):
        for path in sorted(folder.rglob("*.py")):
            if "kernels" in path.parts or path.name == "jit.py":
                digest.update(path.relative_to(folder.parent).as_posix().encode())
                digest.update(path.read_bytes())
    return digest.hexdigest()[:16]
