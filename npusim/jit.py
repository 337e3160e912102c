"""The one numba decorator of the project.

Numba's own cache does not see edits to called functions or changed flags, so compiled code is kept
in a folder named by a hash of every kernel source, the versions and the host. The folder is set
only while a function is decorated: a user's own numba cache is left alone.
Set NPUSIM_CACHE_DIR to move it; by default it lies in the user's cache folder.
The first compilation of a process is announced on standard error; folders that nobody used for 30
days go when a new one is made.
"""

import atexit
import hashlib
import os
import re
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import event

Function = TypeVar("Function", bound=Callable[..., Any])

_PACKAGE = Path(__file__).resolve().parent
_PROCESS = uuid.uuid4().hex[:16]
UNUSED_SECONDS = 30 * 24 * 3600
COMPILING = "npusim: compiling kernels for this machine; later runs load them"
NOT_KEPT = "npusim: compiling kernels, in every run: {} cannot be written; set NPUSIM_CACHE_DIR"


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
    _name_files_by_process(compiled)
    return compiled


def _name_files_by_process(compiled: Any) -> None:
    """Let no two processes write their code to the same file.

    Numba numbers a function's files and lists them in an index. Of two processes that compile
    different signatures at once, neither sees the other's number, and the index that stands would
    give out the other's code. So it can only lose an entry, which is compiled again.
    """
    kept = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    if kept is not None:  # numba may be told to compile nothing
        pattern = kept._data_name_pattern
        kept._data_name_pattern = pattern.replace("{number", f"{_PROCESS}.{{number")


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
        if not folder.is_dir():
            folder.mkdir(parents=True, exist_ok=True)
            _prune(base, package)
        os.utime(folder)
        tempfile.TemporaryFile(dir=folder).close()
    except OSError:
        notice.text = NOT_KEPT.format(base)
        private = Path(tempfile.mkdtemp(prefix="npusim-"))
        atexit.register(shutil.rmtree, private, ignore_errors=True)
        return private
    return folder


def _prune(base: Path, package: str) -> None:
    """Remove the package's folders that no process has used for 30 days."""
    oldest = time.time() - UNUSED_SECONDS
    for folder in base.iterdir():
        own = re.fullmatch(rf"{package}-[0-9a-f]{{16}}", folder.name)
        if own and not folder.is_symlink() and folder.stat().st_mtime < oldest:
            shutil.rmtree(folder, ignore_errors=True)


class Notice(event.Listener):
    """Says once in a process, before it happens, that kernels are compiled; None when said."""

    text: str | None = COMPILING

    def on_start(self, event: Any) -> None:
        """Before one function is compiled that no cache held."""
        package = event.data["dispatcher"].py_func.__module__.split(".")[0]
        if self.text is not None and package in ("npusim", "zo") and sys.stderr is not None:
            print(self.text, file=sys.stderr, flush=True)
            self.text = None

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


notice = Notice()
event.register("numba:compile", notice)


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
