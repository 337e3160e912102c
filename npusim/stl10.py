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
    if path.name.endswith(_PICTURES):
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
    images, labels = _binary(path) if path.suffix == ".bin" else _members(path, part)
    count, rest = divmod(len(images), IMAGE_BYTES)
    if rest or count != len(labels):
        raise DataError(
            f"{path}: images must be {IMAGE_BYTES} bytes each and one a label, "
            f"got {len(images)} bytes and {len(labels)} labels"
        )
    columns = np.frombuffer(images, np.uint8).reshape(count, 3, SIDE, SIDE)
    numbers = np.frombuffer(labels, np.uint8).astype(np.int64) - 1
    return columns.transpose(0, 3, 2, 1), numbers


def _binary(path: Path) -> tuple[bytes, bytes]:
    labels = path.with_name(path.name.removesuffix(_PICTURES) + _LABELS)
    if not labels.is_file():
        raise DataError(
            f"{path}: must have {labels.name} beside it, got no such file; unpack the STL-10 "
            "archive as it is"
        )
    return path.read_bytes(), labels.read_bytes()


def _members(path: Path, part: str) -> tuple[bytes, bytes]:
    wanted = (f"{part}{_PICTURES}", f"{part}{_LABELS}")
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
        raise DataError(f"{path}: must hold {wanted[0]} and {wanted[1]}, got {sorted(found)}")
    return found[wanted[0]], found[wanted[1]]
