"""Files that appear whole or not at all."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any


def replace_file(path: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Write a file beside `path` and move it there in one step, after it has reached the disk.

    write   called once with the open binary file
    A process that dies midway leaves the old file, and perhaps a `.part` file beside it.
    """
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
