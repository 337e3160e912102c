"""Whole files in and out: bounded when read, atomic when written."""

import os
import secrets
import stat
from pathlib import Path

from ..graph import ModelError

FILE_LIMIT = 2**31 - 1  # offsets of a flatbuffer are 31 bits


def read(path: str | Path) -> bytes:
    """The bytes of a model file.

    raises   ModelError when it is missing, no regular file, empty, too long or not readable
    """
    try:
        status = os.stat(path)
        if stat.S_ISDIR(status.st_mode):
            raise ModelError(f"{path}: must be a model file, got a folder")
        if not stat.S_ISREG(status.st_mode):
            raise ModelError(f"{path}: must be a regular file, got a device or pipe")
        if not 0 < status.st_size <= FILE_LIMIT:
            raise ModelError(f"{path}: must have 1..{FILE_LIMIT} bytes, got {status.st_size}")
        return Path(path).read_bytes()
    except FileNotFoundError as error:
        raise ModelError(f"{path}: must be a model file, got nothing at this path") from error
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(f"{path}: must be readable, got {error}") from error


def write(path: str | Path, data: bytes) -> None:
    """Write a file whole or not at all: a temporary file beside it, then a rename.

    raises   OSError as the operating system gives it, naming `path`
    """
    target = Path(path)
    part = target.with_name(f".{target.name}.{secrets.token_hex(4)}.part")
    try:
        with open(part, "xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(part, target)
    except BaseException as error:
        part.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None:
            error.filename = str(target)
        raise


def is_tflite(data: bytes) -> bool:
    """Whether a file begins as a TFLite model."""
    return data[4:8] == b"TFL3"


def is_hdf5(data: bytes) -> bool:
    """Whether a file begins as HDF5."""
    return data.startswith(b"\x89HDF\r\n\x1a\n")


def is_onnx(data: bytes) -> bool:
    """Whether a file begins as an ONNX model: a small IR version, and a field of a model."""
    tags = (b"\x12", b"\x1a", b"\x22", b"\x2a", b"\x3a", b"\x42")
    return data[:1] == b"\x08" and data[2:3] in tags
