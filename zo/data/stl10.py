"""STL-10 in its official binary form: uint8, 3x96x96, column-major; labels 1..10.

Source: A. Coates, H. Lee, A. Y. Ng, An Analysis of Single Layer Networks in Unsupervised Feature
Learning, 2011; https://cs.stanford.edu/~acoates/stl10/
"""

import tarfile
from pathlib import Path, PurePosixPath

import numpy as np

from npusim.picture_files import UNREADABLE, DataError

from .dataset import Dataset, in_memory

SIDE = 96
IMAGE_BYTES = 3 * SIDE * SIDE
CLASSES = (
    "airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck",
)  # fmt: skip


def from_binary(path: Path) -> Dataset:
    """One pair of files: `path` is `<part>_X.bin`, and `<part>_y.bin` lies beside it."""
    labels = path.with_name(path.name.replace("_X.bin", "_y.bin"))
    if labels == path or not labels.is_file():
        got = "another name" if labels == path else f"no {labels.name}"
        raise DataError(
            f"{path}: must be named <part>_X.bin and have <part>_y.bin beside it, got {got}; "
            "unpack the STL-10 archive as it is"
        )
    return _dataset(str(path), path.read_bytes(), labels.read_bytes())


def from_archive(path: Path, part: str = "train") -> Dataset:
    """The `<part>_X.bin` and `<part>_y.bin` inside STL-10's .tar.gz; nothing is unpacked to disk.

    raises   DataError when the archive is damaged or lacks the part
    """
    wanted = (f"{part}_X.bin", f"{part}_y.bin")
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
    return _dataset(str(path), found[wanted[0]], found[wanted[1]])


def _dataset(name: str, images: bytes, labels: bytes) -> Dataset:
    count, rest = divmod(len(images), IMAGE_BYTES)
    if rest or count != len(labels):
        raise DataError(
            f"{name}: images must be {IMAGE_BYTES} bytes each and one a label, "
            f"got {len(images)} bytes and {len(labels)} labels"
        )
    columns = np.frombuffer(images, np.uint8).reshape(count, 3, SIDE, SIDE)
    numbers = np.frombuffer(labels, np.uint8).astype(np.int64) - 1
    return in_memory(name, columns.transpose(0, 3, 2, 1), numbers, CLASSES)
