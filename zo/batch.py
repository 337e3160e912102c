"""Where a step's images come from: stored prefixes, prefixes made for the batch, or whole runs.

All three give the same bits; they differ in what is computed again.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

from npusim import Graph, Prefix, Session
from npusim.head import frozen_part

from .classifier import Classifier, flat_logits
from .data import Dataset, Progress
from .features import frozen_rows
from .options import Reuse

MAX_STORED_BYTES = 1 << 30
"""Prefixes of a data set that need more memory are computed for each batch."""


@dataclass(frozen=True, eq=False)
class Outputs:
    """What a forward pass gives.

    logits     int8 (B, C), or the first output as it is where the graph has no head
    features   int8 (B, I), what the head reads, or None where nothing shows it
    """

    logits: NDArray[np.int8]
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

    session      what runs them
    dataset      images as the session's graph takes them
    classifier   the graph's head, or None
    reuse        what may be computed once
    """

    def __init__(
        self,
        session: Session,
        dataset: Dataset,
        classifier: Classifier | None,
        reuse: Reuse,
        progress: Progress | None = None,
    ) -> None:
        self._session = session
        self._dataset = dataset
        self._classifier = classifier
        self._reuse = reuse
        live = frozen_part(session.graph, session.trainable)
        kept = {live.tensors[i].name for i in live.outputs}
        self.frozen_head = reuse.prefix and classifier is not None and classifier.features in kept
        self._stored: Prefix | None = None
        if reuse.prefix and _row_bytes(live) * len(dataset) <= MAX_STORED_BYTES:
            self._stored = frozen_rows(session, dataset, reuse.folder, progress)

    def __len__(self) -> int:
        return len(self._dataset)

    @property
    def labels(self) -> NDArray[np.int64]:
        """All labels, int64 (N,)."""
        return self._dataset.labels

    def images(self, rows: NDArray[np.int64]) -> np.ndarray:
        """The images of these rows, as the session takes them."""
        return self._dataset.images(rows)

    def batch(self, rows: NDArray[np.int64]) -> Batch:
        """The batch of these images."""
        labels = self._dataset.labels[rows]
        if not self._reuse.prefix:
            images = self._dataset.images(rows)
            return Batch(labels, lambda: self._outputs(self._session.run(images)))
        if self._stored is not None:
            prefix = self._stored[rows]
        else:
            prefix = self._session.prefix(self._dataset.images(rows))
        features = self._features(prefix) if self.frozen_head else None
        return Batch(labels, lambda: self._outputs(self._session.run_from(prefix)), features)

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


def _row_bytes(live: Graph) -> int:
    """Bytes a prefix keeps of one image."""
    kept = [live.tensors[i] for i in live.outputs]
    return sum(prod(t.shape[1:]) * np.dtype(t.dtype).itemsize for t in kept)
