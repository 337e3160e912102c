"""Random flips and crops as a pure function of (seed, variant, image), in integers.

Words w0, w1, w2 of `prng.augmentation_words(seed, variant, image, 3)` decide:

    bit 0 of w0   mirrored left to right
    bit 1 of w0   mirrored top to bottom
    w1, w2        the crop's first row and column, (w * (2*crop + 1)) >> 32, of the image with
                  `crop` reflected pixels around it

The variants of an image are made once and used again, so that outputs of frozen layers can be kept:
a bank. In each epoch an image takes variant (x * variants) >> 32, x word i of the words of image
2^32 - 1 in that epoch, which no data set has.
Letters: N images, V variants.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ..prng import augmentation_words
from .dataset import DataError, Dataset

WORDS = 3
CHOOSER = 2**32 - 1
CROP = 4


def augmented(dataset: Dataset, variants: int, seed: int = 0, crop: int = CROP) -> Dataset:
    """Flipped and cropped variants of a data set, as large as before.

    dataset    N images of one shape, best `held` in memory
    variants   V, how many of each image, 1..1000
    seed       of the flips and crops
    crop       pixels by which a crop may be off the centre, 0 for none
    returns    a data set of V*N images, image i's variant v in row v*N + i
    raises     DataError, ValueError when a number is out of range or the images are too small
    """
    if not 1 <= variants <= 1000:
        raise ValueError(f"variants: must be 1..1000 of each image, got {variants}")
    if dataset.variants != 1:
        raise ValueError(f"{dataset.name}: must be original images, got variants of them")
    height, width = dataset.frame(0).shape[:2]
    if not 0 <= crop < min(height, width):
        raise DataError(
            f"{dataset.name}: crop must be 0..{min(height, width) - 1} for images of {height}x"
            f"{width}, got {crop}"
        )
    return replace(
        dataset,
        frame=_variant_frames(dataset, seed, crop),
        labels=np.tile(dataset.labels, variants),
        variants=variants,
    )


def variant_rows(
    rows: NDArray[np.int64], variants: int, seed: int, epoch: int
) -> NDArray[np.int64]:
    """The rows of the variants that images take in an epoch.

    rows     int64 (N,), a permutation of all images
    epoch    from 0
    """
    if variants == 1:
        return rows
    words = augmentation_words(seed, epoch, CHOOSER, len(rows)).astype(np.uint64)
    chosen = ((words * np.uint64(variants)) >> np.uint64(32)).astype(np.int64)
    return chosen[rows] * len(rows) + rows


def vary(image: np.ndarray, words: NDArray[np.uint32], crop: int) -> np.ndarray:
    """One variant (H, W, C) of an image.

    words   uint32 (3,)
    crop    pixels
    """
    turns, top, left = (int(word) for word in words)
    flipped = image[:, ::-1] if turns & 1 else image
    flipped = flipped[::-1] if turns & 2 else flipped
    if not crop:
        return np.ascontiguousarray(flipped)
    wide = np.pad(flipped, ((crop, crop), (crop, crop), (0, 0)), "reflect")
    row, column = ((word * (2 * crop + 1)) >> 32 for word in (top, left))
    return np.ascontiguousarray(wide[row : row + image.shape[0], column : column + image.shape[1]])


def _variant_frames(dataset: Dataset, seed: int, crop: int) -> Callable[[int], np.ndarray]:
    def frame(row: int) -> np.ndarray:
        variant, original = divmod(row, len(dataset))
        words = augmentation_words(seed, variant, original, WORDS)
        return vary(dataset.frame(original), words, crop)

    return frame
