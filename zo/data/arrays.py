"""Data sets stored as arrays: .npz, .h5, and the digits that ship with the package."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

import h5py
import numpy as np

from npusim.models.images import digits
from npusim.picture_files import UNREADABLE, DataError

from .dataset import NO_CLASSES, Dataset, in_memory

IMAGE_KEYS = ("images", "inputs")
LABEL_KEYS = ("labels",)
MAX_BYTES = 8 << 30
"""Arrays larger than this are refused before they are read."""


def from_npz(path: Path, labelled: bool = True) -> Dataset:
    """Arrays `images` (or `inputs`) and `labels` of a NumPy archive; pickles are refused.

    labelled   False: labels are not read, all become 0
    """
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {Path(info.filename).stem: info.file_size for info in archive.infolist()}
        keys = _keys(path, sizes, labelled)
        _limit(path, sum(sizes[key] for key in keys))
        with np.load(path, allow_pickle=False) as arrays:
            found = [arrays[key] for key in keys]
    except DataError:
        raise
    except UNREADABLE as error:
        raise DataError(
            f"{path}: must be a NumPy archive of plain arrays, got {_one_line(error)}"
        ) from error
    return _dataset(path, *found)


def from_h5(path: Path, labelled: bool = True) -> Dataset:
    """Data sets `images` (or `inputs`) and `labels` at the root of an HDF5 file.

    labelled   False: labels are not read, all become 0
    Links out of the file, external storage and virtual data sets are refused.
    """
    try:
        with h5py.File(path, "r") as file:
            keys = _keys(path, file.keys(), labelled)
            found = [_stored(path, file, key) for key in keys]
    except DataError:
        raise
    except UNREADABLE as error:
        raise DataError(f"{path}: must be a whole HDF5 file, got {_one_line(error)}") from error
    return _dataset(path, *found)


def shipped_digits(part: str = "train") -> Dataset:
    """The UCI digits of the package, `part` train, validation or test.

    Ink 0..16 becomes the pixel min(16*ink, 255), so the default mapping to int8 gives the codes
    the shipped network was trained on.
    """
    labelled = getattr(digits(), part)
    pixels = np.minimum(labelled.images.astype(np.int64) * 16, 255).astype(np.uint8)
    return in_memory(f"digits/{part}", pixels, labelled.labels)


def _dataset(path: Path, images: np.ndarray, labels: np.ndarray | None = None) -> Dataset:
    if labels is None:
        return in_memory(str(path), images, np.zeros(images.shape[:1], np.int64), NO_CLASSES)
    return in_memory(str(path), images, labels)


def _keys(path: Path, present: Iterable[str], labelled: bool) -> list[str]:
    """The names of images, and of labels if they are wanted, among those present."""
    names = sorted(present)
    wanted = (IMAGE_KEYS, LABEL_KEYS) if labelled else (IMAGE_KEYS,)
    found = [[key for key in keys if key in names][:1] for keys in wanted]
    if not all(found):
        called = "images and labels" if labelled else "images"
        raise DataError(f"{path}: must hold arrays called {called}, got {names}")
    return [key for keys in found for key in keys]


def _stored(path: Path, file: h5py.File, key: str) -> np.ndarray:
    link = file.get(key, getlink=True)
    stored = file[key] if isinstance(link, h5py.HardLink) else None
    if not isinstance(stored, h5py.Dataset) or stored.is_virtual or stored.external:
        raise DataError(f"{path}/{key}: must be an array stored in the file itself, got a link")
    _limit(path, stored.size * stored.dtype.itemsize)
    return np.asarray(stored[()])


def _limit(path: Path, size: int) -> None:
    if size > MAX_BYTES:
        raise DataError(f"{path}: arrays must hold {MAX_BYTES} bytes at most, got {size}")


def _one_line(error: Exception) -> str:
    return (str(error) or type(error).__name__).splitlines()[0]
