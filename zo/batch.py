"""Where a step's images come from: stored prefixes, prefixes made for the batch, or whole runs.

All three give the same bits; they differ in what is computed again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from npusim import Prefix, Session
from npusim.digest import content_hash
from npusim.head import frozen_part

from .classifier import Classifier, flat_logits
from .data import Dataset
from .data.augment import variant_rows
from .features import frozen_rows
from .options import Reuse
from .prng import shuffle

MAX_STORED_BYTES = 1 << 30
"""Prefixes of a data set that need more memory are computed for each batch."""
HASHED_IMAGES = 16
TRACED_AT_ONCE = 16
"""A trace keeps every tensor of its images."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a forward pass gives.

    logits     int8 (B, C), or the first output as it is where the graph has no head
    features   int8 (B, I), what the head reads, or None where nothing shows it
    """

    logits: NDArray[Any]
    features: NDArray[np.int8] | None


@dataclass(frozen=True, eq=False)
class Batch:
    """The images of one step.

    labels     int64 (B,)
    forward    the outputs with the present weights
    features   int8 (B, I) where the head's input does not depend on what is trained, else None
    """

    labels: NDArray[np.int64]
    forward: Callable[[], Outputs]
    features: NDArray[np.int8] | None = None


class Source:
    """The images of one data set, as batches for one session.

    session       what runs them
    dataset       images as the session's graph takes them
    classifier    the graph's head, or None
    reuse         what may be computed once
    frozen_head   whether what the head reads stays the same through a run, and is at hand
    """

    def __init__(
        self, session: Session, dataset: Dataset, classifier: Classifier | None, reuse: Reuse
    ) -> None:
        self._session = session
        self._dataset = dataset
        self._classifier = classifier
        self._reuse = reuse
        frozen = frozen_part(session.graph, session.trainable)
        self._kept = [frozen.tensors[i] for i in frozen.outputs]
        self.frozen_head = (
            reuse.prefix
            and classifier is not None
            and classifier.features in {tensor.name for tensor in self._kept}
        )

    def __len__(self) -> int:
        return len(self._dataset)

    @property
    def originals(self) -> int:
        """Images of an epoch: of augmented ones, one variant each."""
        return self._dataset.originals

    def order(self, seed: int, epoch: int) -> NDArray[np.int64]:
        """The rows of an epoch in the order they are trained on."""
        rows = shuffle(seed, epoch, self.originals)
        return variant_rows(rows, self._dataset.variants, seed, epoch)

    def images(self, rows: NDArray[np.int64]) -> np.ndarray:
        """The images of these rows, as the graph takes them."""
        return self._dataset.images(rows)

    def labels(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Their labels (n,)."""
        return self._dataset.labels[rows]

    def content(self) -> str:
        """A hash of the labels and the first images: another data set, or other pixels, differ."""
        first = self._dataset.images(np.arange(min(HASHED_IMAGES, len(self))))
        return content_hash("images", self._dataset.labels, first)

    def is_head(self, tensor: str) -> bool:
        """Whether a tensor is the head's weights or bias."""
        return self._classifier is not None and tensor in self._classifier.constants

    def features(self, rows: NDArray[np.int64]) -> tuple[NDArray[np.int8], float, int]:
        """What the head reads of these images with the present weights: int8 (n, I).

        returns   codes, their scale and zero point
        """
        head = self._classifier
        assert head is not None
        if self.frozen_head:
            x = self._features(self._prefix(rows))
        else:
            parts = (rows[i : i + TRACED_AT_ONCE] for i in range(0, len(rows), TRACED_AT_ONCE))
            traces = (dict(self._session.trace(self._dataset.images(part))) for part in parts)
            x = np.concatenate([trace[head.features] for trace in traces])
        return x.reshape(len(rows), -1), head.feature_scale, head.feature_zero_point

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """The batch of these images."""
        labels = self._dataset.labels[rows]
        if not self._reuse.prefix:
            images = self._dataset.images(rows)
            return Batch(labels, lambda: self._outputs(self._session.run(images)))
        prefix = self._prefix(rows)
        features = self._features(prefix) if self.frozen_head else None
        return Batch(labels, lambda: self._outputs(self._session.run_from(prefix)), features)

    def _prefix(self, rows: NDArray[np.int64]) -> Prefix:
        if self._stored is not None:
            return self._stored[rows]
        return self._session.prefix(self._dataset.images(rows))

    @cached_property
    def _stored(self) -> Prefix | None:
        """The prefixes of all images, None where they would need too much memory."""
        row = sum(prod(t.shape[1:]) * np.dtype(t.dtype).itemsize for t in self._kept)
        if row * len(self) > MAX_STORED_BYTES:
            return None
        return frozen_rows(self._session, self._dataset, self._reuse.folder)

    def _features(self, prefix: Prefix) -> NDArray[np.int8]:
        assert self._classifier is not None
        tensor = self._session.prefix_tensor(prefix, self._classifier.features)
        return tensor.reshape(len(prefix), -1)

    def _outputs(self, result: np.ndarray | dict[str, np.ndarray]) -> Outputs:
        named = result if isinstance(result, dict) else None
        first = next(iter(named.values())) if named is not None else result
        assert isinstance(first, np.ndarray)
        if self._classifier is None:
            return Outputs(first, None)
        shown = named.get(self._classifier.features) if named is not None else None
        features = None if shown is None else shown.reshape(len(first), -1)
        return Outputs(flat_logits(first, self._classifier.classes), features)
