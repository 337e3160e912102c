"""The UCI handwritten digits, and the split every example and table of this project uses.

E. Alpaydin, C. Kaynak: Optical Recognition of Handwritten Digits, 1998, UCI Machine Learning
Repository, https://doi.org/10.24432/C50P49, CC BY 4.0.
"""

from importlib.resources import as_file, files
from typing import NamedTuple

import h5py
import numpy as np

INK = 16
"""The largest pixel value."""
TRAIN, VALIDATION, TEST = 1078, 270, 449
"""Images per part: 60, 15 and 25 % of 1,797."""


class Labelled(NamedTuple):
    """Images (N, 8, 8) uint8 in 0..16 and their digits (N,) uint8 in 0..9."""

    images: np.ndarray
    labels: np.ndarray


class Digits(NamedTuple):
    """The three parts of the data set; no image is in two of them."""

    train: Labelled
    validation: Labelled
    test: Labelled


def digits() -> Digits:
    """The 1,797 digits, split 1,078 / 270 / 449 into train, validation and test.

    Image i of the file gets the key ``(i * 2654435769) mod 2**32`` (2**32 over the golden ratio,
    made odd); images are taken in ascending order of their keys. The keys of any run of
    neighbours are spread evenly, so each part is drawn evenly from the whole file.

    returns   Digits; the arrays are freshly read, the caller's to change
    source    https://doi.org/10.24432/C50P49 (CC BY 4.0); the file is made by ``make_digits.py``.
    """
    with as_file(files(__package__) / "digits.h5") as path, h5py.File(path, "r") as file:
        images, labels = file["images"][()], file["labels"][()]
    order = np.argsort(split_keys(len(labels)))
    parts = np.split(order, [TRAIN, TRAIN + VALIDATION])
    return Digits(*(Labelled(images[part], labels[part]) for part in parts))


def split_keys(count: int) -> np.ndarray:
    """The sorting keys of images 0..count-1: (count,) int64, all different."""
    return (np.arange(count, dtype=np.int64) * 2654435769) % 2**32


def to_int8(images: np.ndarray) -> np.ndarray:
    """The network's input codes: ``min(16 * x - 128, 127)``, scale 1/256, zero point -128.

    The real value is x / 16, in 0..1; full ink is 255/256, the largest code.

    images    (N, 8, 8) uint8 in 0..16
    returns   (N, 8, 8, 1) int8, new
    raises    ValueError unless the images are uint8 in 0..16
    """
    if images.dtype != np.uint8 or images.max(initial=0) > INK:
        raise ValueError(
            f"to_int8: images must be uint8 in 0..{INK}, got {images.dtype} up to "
            f"{images.max(initial=0)}; scale them first"
        )
    codes = np.minimum(images.astype(np.int16) * 16 - 128, 127)
    return codes.astype(np.int8)[..., np.newaxis]
