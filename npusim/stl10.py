"""STL-10 in its official binary form: uint8, 3x96x96, column-major; labels 1..10.

Source: A. Coates, H. Lee, A. Y. Ng, An Analysis of Single Layer Networks in Unsupervised Feature
Learning, 2011; https://cs.stanford.edu/~acoates/stl10/
"""

import tarfile
from pathlib import Path, PurePosixPath

import numpy as np
from numpy.typing import NDArray

from .picture_files import UNREADABLE, DataError

SIDE = 96
IMAGE_BYTES = 3 * SIDE * SIDE
CLASSES = (
    "airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck",
)  # fmt: skip
_TAR_MAGICS = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ")
_PICTURES, _LABELS = "_X.bin", "_y.bin"


def is_stl10(path: Path) -> bool:
    """Whether a file looks like the archive, or like one of its binary files."""
    if _is_binary(path):
        return True
    with path.open("rb") as file:
        return file.read(8).startswith(_TAR_MAGICS)


def read(path: Path, part: str = "train") -> tuple[NDArray[np.uint8], NDArray[np.int64]]:
    """Pictures (N, 96, 96, 3) and labels (N,), 0..9.

    path     the .tar.gz, of which nothing is unpacked to disk, or `<part>_X.bin` with
             `<part>_y.bin` beside it
    part     of the archive: train, test
    raises   DataError when something is damaged or missing
    """
    if _is_binary(path):
        beside = path.with_name(path.name.removesuffix(_PICTURES) + _LABELS)
        if not beside.is_file():
            raise DataError(
                f"{path}: must have {beside.name} beside it, got no such file; unpack the STL-10 "
                "archive as it is"
            )
        codes, numbers = path.read_bytes(), beside.read_bytes()
    else:
        codes, numbers = _members(path, f"{part}{_PICTURES}", f"{part}{_LABELS}")
    images, labels = _decoded(codes, path), np.frombuffer(numbers, np.uint8).astype(np.int64) - 1
    if len(images) != len(labels):
        raise DataError(f"{path}: must hold a label for each of {len(images)} images, got "
                        f"{len(labels)}")  # fmt: skip
    return images, labels


def read_pictures(path: Path, part: str = "train") -> NDArray[np.uint8]:
    """Pictures alone (N, 96, 96, 3), of the archive or of any `<part>_X.bin`; raises as `read`."""
    if _is_binary(path):
        return _decoded(path.read_bytes(), path)
    (codes,) = _members(path, f"{part}{_PICTURES}")
    return _decoded(codes, path)


def _is_binary(path: Path) -> bool:
    return path.name.endswith(_PICTURES)


def _decoded(codes: bytes, path: Path) -> NDArray[np.uint8]:
    count, rest = divmod(len(codes), IMAGE_BYTES)
    if rest:
        raise DataError(f"{path}: images must be {IMAGE_BYTES} bytes each, got {len(codes)} bytes")
    columns = np.frombuffer(codes, np.uint8).reshape(count, 3, SIDE, SIDE)
    return columns.transpose(0, 3, 2, 1)


def _members(path: Path, *wanted: str) -> list[bytes]:
    """What these files of the archive hold."""
    found: dict[str, bytes] = {}
    try:
        with tarfile.open(path, "r:*") as archive:
            for member in archive:
                name = PurePosixPath(member.name).name
                stream = archive.extractfile(member) if name in wanted else None
                if stream is not None:
                    found[name] = stream.read()
                if len(found) == len(wanted):
                    break
    except UNREADABLE as error:
        raise DataError(
            f"{path}: must be a whole tar archive, got {error}; download it again"
        ) from error
    if len(found) != len(wanted):
        raise DataError(f"{path}: must hold {' and '.join(wanted)}, got {sorted(found)}")
    return [found[name] for name in wanted]
