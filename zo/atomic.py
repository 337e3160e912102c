"""Files that appear whole or not at all."""

import os
import secrets
from collections.abc import Callable
from glob import escape
from pathlib import Path
from typing import IO, Any


def replace_file(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file beside `path` and move it there in one step, after it has reached the disk.

    write   called once with the open binary file
    A process that dies midway leaves the old file, and perhaps a `.part` file beside it; see
    `remove_parts`.
    raises  OSError as the operating system gives it, naming `path`
    """
    part = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            error.filename = str(path)
            error.filename2 = None
        raise


def replace_bytes(path: Path, data: bytes) -> None:
    """`replace_file` with what the file is to hold."""
    replace_file(path, lambda file: file.write(data))


def remove_parts(path: Path) -> None:
    """Remove what killed processes have left beside `path`, which no other process may write."""
    for part in path.parent.glob(f".{escape(path.name)}.*.part"):
        part.unlink(missing_ok=True)
