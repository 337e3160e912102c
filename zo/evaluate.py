"""Accuracy and loss of the present weights on a data set."""

from typing import NamedTuple

import numpy as np

from .batch import Source
from .data import Progress
from .features import IMAGES_AT_ONCE
from .loss import ONE_NAT, Loss, count_errors


class Evaluation(NamedTuple):
    """Sums over all images.

    correct   images whose largest logit is the label's; the lowest index wins ties
    total     images
    loss      in the loss's unit, 2^-16 nat for cross-entropy
    at_rail   logits equal to -128 or 127
    entries   logits
    """

    correct: int
    total: int
    loss: int
    at_rail: int
    entries: int

    @property
    def accuracy(self) -> float:
        """The fraction of correct images."""
        return self.correct / self.total

    @property
    def mean_loss(self) -> float:
        """Loss per image, in nat for cross-entropy."""
        return self.loss / self.total / ONE_NAT


def evaluate(source: Source, loss: Loss, progress: Progress | None = None) -> Evaluation:
    """One forward of every image; `progress` is called with the images done and their number."""
    wrong = total_loss = at_rail = entries = 0
    for start in range(0, len(source), IMAGES_AT_ONCE):
        batch = source.batch(np.arange(start, min(start + IMAGES_AT_ONCE, len(source))))
        logits = batch.forward().logits
        wrong += int(count_errors(logits, batch.labels))
        total_loss += int(loss(logits, batch.labels))
        at_rail += int(np.count_nonzero((logits == -128) | (logits == 127)))
        entries += logits.size
        if progress is not None:
            progress(start + len(batch.labels), len(source))
    return Evaluation(len(source) - wrong, len(source), total_loss, at_rail, entries)
