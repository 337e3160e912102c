"""Pictures of a folder or zip archive, read one by one; nothing is unpacked to disk."""

import lzma
import tarfile
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import numpy as np

from .images import MAX_FILE_BYTES, SUFFIXES, decode

UNREADABLE = (
    OSError, EOFError, ValueError, KeyError, RuntimeError, NotImplementedError,
    zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError,
)  # fmt: skip
"""What the readers of archives raise on files that are damaged, encrypted or of another kind."""


class DataError(ValueError):
    """A data set cannot be read. The message reads `where: rule, got value; remedy`."""


def spread_pictures(path: Path, count: int) -> list[np.ndarray]:
    """At most `count` pictures of a folder or zip archive, spread evenly over all, in their order.

    path      of the folder or archive; pictures in inner folders count too
    returns   uint8 (H, W, C) each, as `images.decode`
    raises    DataError when it is damaged, or holds no picture
    """
    if path.is_dir():
        inside = sorted(file.relative_to(path) for file in path.rglob("*"))
        names = [file.as_posix() for file in inside if is_picture(PurePosixPath(file))]
        read = reader(path)
    else:
        archive = opened(path)
        members = (info.filename for info in archive.infolist() if not info.is_dir())
        names = sorted(name for name in members if is_picture(PurePosixPath(name)))
        read = unpacker(path, archive)
    if not names:
        raise DataError(f"{path}: must hold a picture ({', '.join(SUFFIXES)}), got none")
    count = min(count, len(names))
    chosen = (names[i * len(names) // count] for i in range(count))
    return [decode(read(name), f"{path}/{name}") for name in chosen]


def reader(path: Path) -> Callable[[str], bytes]:
    """Reads a member of a folder; DataError when it is too large."""

    def read(member: str) -> bytes:
        file = path / member
        _limit(file.stat().st_size, f"{path}/{member}")
        return file.read_bytes()

    return read


def opened(path: Path) -> zipfile.ZipFile:
    """The archive; DataError when it is none."""
    try:
        return zipfile.ZipFile(path)
    except UNREADABLE as error:
        raise DataError(
            f"{path}: must be a whole zip archive, got {error}; download it again"
        ) from error


def unpacker(path: Path, archive: zipfile.ZipFile) -> Callable[[str], bytes]:
    """Reads a member of an archive; DataError when it is too large or damaged."""

    def read(member: str) -> bytes:
        _limit(archive.getinfo(member).file_size, f"{path}/{member}")
        try:
            return archive.read(member)
        except UNREADABLE as error:
            raise DataError(
                f"{path}/{member}: must unpack whole, got {error}; download the archive again"
            ) from error

    return read


def is_picture(path: PurePosixPath) -> bool:
    """Whether a file is a picture by its ending, and not hidden."""
    hidden = any(part.startswith((".", "__MACOSX")) for part in path.parts)
    return path.suffix.lower() in SUFFIXES and not hidden


def _limit(size: int, where: str) -> None:
    if size > MAX_FILE_BYTES:
        raise DataError(f"{where}: must be {MAX_FILE_BYTES} bytes at most, got {size}")
