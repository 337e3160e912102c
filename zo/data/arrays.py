"""Data sets stored as arrays: .npz, .h5, and the digits that ship with the package."""

import zipfile
from collections.abc import Iterable
from pathlib import Path

import h5py
import numpy as np

from npusim.models.images import digits

from .dataset import UNREADABLE, DataError, Dataset, in_memory

IMAGE_KEYS = ("images", "inputs")
LABEL_KEYS = ("labels",)
MAX_BYTES = 8 << 30
"""Arrays larger than this are refused before they are read."""


def from_npz(path: Path) -> Dataset:
    """Arrays `images` (or `inputs`) and `labels` of a NumPy archive; pickles are refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            sizes = {Path(info.filename).stem: info.file_size for info in archive.infolist()}
        image_key, label_key = _keys(path, sizes)
        _limit(path, sizes[image_key] + sizes[label_key])
        with np.load(path, allow_pickle=False) as arrays:
            images, labels = arrays[image_key], arrays[label_key]
    except DataError:
        raise
    except UNREADABLE as error:
        raise DataError(
            f"{path}: must be a NumPy archive of plain arrays, got {_one_line(error)}"
        ) from error
    return in_memory(str(path), images, labels)


def from_h5(path: Path) -> Dataset:
    """Data sets `images` (or `inputs`) and `labels` at the root of an HDF5 file.

    Links out of the file, external storage and virtual data sets are refused.
    """
    try:
        with h5py.File(path, "r") as file:
            image_key, label_key = _keys(path, file.keys())
            images, labels = _stored(path, file, image_key), _stored(path, file, label_key)
    except DataError:
        raise
    except UNREADABLE as error:
        raise DataError(f"{path}: must be a whole HDF5 file, got {_one_line(error)}") from error
    return in_memory(str(path), images, labels)


def shipped_digits(part: str = "train") -> Dataset:
    """The UCI digits of the package, `part` train, validation or test.

    Ink 0..16 becomes the pixel min(16*ink, 255), so the default mapping to int8 gives the codes
    the shipped network was trained on.
    """
    labelled = getattr(digits(), part)
    pixels = np.minimum(labelled.images.astype(np.int64) * 16, 255).astype(np.uint8)
    return in_memory(f"digits/{part}", pixels, labelled.labels)


def _keys(path: Path, present: Iterable[str]) -> tuple[str, str]:
    """The names of images and labels among those present."""
    names = sorted(present)
    image = [key for key in IMAGE_KEYS if key in names]
    label = [key for key in LABEL_KEYS if key in names]
    if not image or not label:
        raise DataError(f"{path}: must hold arrays called images and labels, got {names}")
    return image[0], label[0]


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
