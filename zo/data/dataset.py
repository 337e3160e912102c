"""Labelled images, decoded when they are asked for.

Letters: N images, n chosen ones, H W C height, width, channels.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from npusim.picture_files import DataError
from npusim.plurals import counted
from npusim.progress import Progress

from ..prng import shuffle

Frame = Callable[[int], np.ndarray]
"""Row -> one image (H, W, C), uint8 pixels, int8 codes or float32 real values."""

SPLIT_EPOCH = 2**32 - 1
"""The data set is split by the shuffle of an epoch that no training run reaches."""
NO_CLASSES = ("",)
"""The classes of images without labels: one without a name."""
MAX_HELD_BYTES = 1 << 30
"""Images that need more memory are decoded at every use."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Labelled images.

    name      of the file or folder, for messages
    frame     row -> image; called again for every use, so nothing large is held
    labels    int64 (N,), read-only, 0..len(classes)-1
    classes   class names
    variants  how many there are of each image, see `augment`; all images once, then again
    """

    name: str
    frame: Frame
    labels: np.ndarray
    classes: tuple[str, ...]
    variants: int = 1

    def __post_init__(self) -> None:
        labels = np.array(self.labels, np.int64).reshape(-1)
        labels.setflags(write=False)
        object.__setattr__(self, "labels", labels)
        top = len(self.classes) - 1
        if len(labels) and not (labels.min() >= 0 and labels.max() <= top):
            raise DataError(
                f"{self.name}: labels must be 0..{top} ({len(self.classes)} classes), "
                f"got {labels.min()}..{labels.max()}"
            )

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def originals(self) -> int:
        """Images that are no variants of others: those of an epoch."""
        return len(self) // self.variants

    def images(self, rows: np.ndarray | None = None) -> np.ndarray:
        """The images of these rows, or all: (n, H, W, C), new.

        raises   DataError when they differ in shape
        """
        chosen = np.arange(len(self)) if rows is None else rows
        frames = [self.frame(int(row)) for row in chosen]
        shapes = sorted({frame.shape for frame in frames})
        if len(shapes) > 1:
            raise DataError(
                f"{self.name}: images of one batch must have one shape, "
                f"got {shapes[0]} and {shapes[1]}; resize them to the network's input"
            )
        return np.stack(frames) if frames else np.zeros((0, 0, 0, 0), np.uint8)

    def batches(self, size: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(images, labels) of consecutive rows, `size` at a time, the last batch shorter."""
        for start in range(0, len(self), size):
            rows = np.arange(start, min(start + size, len(self)))
            yield self.images(rows), self.labels[rows]

    def held(self, progress: Progress | None = None) -> "Dataset":
        """The same data set with its images in memory, where they need 1 GiB at most.

        progress   called after each of them
        """
        if not len(self) or self.frame(0).nbytes * len(self) > MAX_HELD_BYTES:
            return self
        images = []
        for row in range(len(self)):
            images.append(self.frame(row))
            if progress is not None:
                progress(row + 1, len(self))
        return replace(self, frame=lambda row: images[row])

    def take(self, rows: np.ndarray) -> "Dataset":
        """The data set of these rows, in this order."""
        chosen, frame = np.array(rows, np.int64), self.frame
        return replace(self, frame=lambda row: frame(int(chosen[row])), labels=self.labels[chosen],
                       variants=1)  # fmt: skip

    def drawn(self, count: int, seed: int) -> "Dataset":
        """`count` images drawn by the seed, or all where there are fewer."""
        return self.take(shuffle(seed, 0, len(self))[:count])

    def map(self, change: Callable[[np.ndarray], np.ndarray]) -> "Dataset":
        """The same labels with `change` applied to every image when it is read."""
        frame = self.frame
        return replace(self, frame=lambda row: change(frame(row)))


def in_memory(
    name: str, images: np.ndarray, labels: np.ndarray, classes: tuple[str, ...] = ()
) -> Dataset:
    """A data set of arrays.

    images    (N, H, W, C) or (N, H, W): uint8 pixels, int8 codes or float32 real values
    labels    integers (N,)
    classes   names; "0", "1", ... up to the highest label when not given
    raises    DataError when the arrays do not fit together, or a real value is not finite
    """
    if images.ndim == 3:
        images = images[..., np.newaxis]
    if images.ndim != 4 or images.dtype not in (np.uint8, np.int8, np.float32):
        raise DataError(
            f"{name}: images must be uint8, int8 or float32 of shape (N, H, W, C) or (N, H, W), "
            f"got {images.dtype} {images.shape}"
        )
    if labels.shape != images.shape[:1] or not np.issubdtype(labels.dtype, np.integer):
        raise DataError(
            f"{name}: labels must be {len(images)} integers, one an image, "
            f"got {labels.dtype} {labels.shape}"
        )
    if not len(labels):
        raise DataError(f"{name}: there must be an image at least, got none")
    if images.dtype == np.float32:
        _check_finite(name, images)
    names = classes or tuple(str(i) for i in range(max(int(labels.max()), 0) + 1))
    return Dataset(name, lambda row: images[row], labels, names)


def _check_finite(name: str, images: np.ndarray) -> None:
    for row, image in enumerate(images):
        wrong = image[~np.isfinite(image)]
        if wrong.size:
            raise DataError(f"{name}: images must be finite, got {wrong[0]} in image {row}")


def split(dataset: Dataset, counts: tuple[int, ...], seed: int) -> tuple[Dataset, ...]:
    """Disjoint parts of `counts` images each, drawn by `seed` in integers.

    One permutation of all rows is cut into consecutive pieces; the rest is left out.
    raises   DataError when the counts exceed the data set or one is not positive
    """
    if min(counts) < 1 or sum(counts) > len(dataset):
        wanted = " + ".join(str(count) for count in counts)
        most = counted(len(dataset), "image")
        raise DataError(
            f"{dataset.name}: parts must be positive and hold {most} at most, got {wanted}"
        )
    order = shuffle(seed, SPLIT_EPOCH, len(dataset))
    ends = np.cumsum(counts)
    return tuple(dataset.take(order[end - n : end]) for n, end in zip(counts, ends, strict=True))
