"""What happened in a run, epoch by epoch."""

import csv
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from .cost import Cost
from .loss import ONE_NAT

FINAL_EPOCHS = 10


class Epoch(NamedTuple):
    """One epoch, as it stood at its end; epoch 0 is the state before training.

    q            samples per step in this epoch, 0 where nothing is perturbed or trained
    correct      validation images classified right, of
    total        validation images
    loss         validation loss, sum over the images, 2^-16 nat for cross-entropy
    train_loss   loss before each step, sum over the epoch's images
    images       training images of the epoch
    cost         since the start of the run
    seconds      since the start of the run; the only entry that is not reproducible
    events       what was changed after the evaluation: doubled scales
    """

    epoch: int
    q: int
    correct: int
    total: int
    loss: int
    train_loss: int
    images: int
    cost: Cost
    seconds: float
    events: tuple[str, ...] = ()

    @property
    def accuracy(self) -> float:
        """The fraction of validation images classified right."""
        return self.correct / self.total

    @property
    def mean_loss(self) -> float:
        """Validation loss per image, in nat for cross-entropy."""
        return self.loss / self.total / ONE_NAT

    @property
    def mean_train_loss(self) -> float:
        """Training loss per image, each before the step it took part in; NaN at epoch 0."""
        return self.train_loss / self.images / ONE_NAT if self.images else float("nan")


def final_accuracy(history: Iterable[Epoch]) -> float:
    """Mean accuracy of the last ten trained epochs, or of as many as there are."""
    trained = [epoch.accuracy for epoch in history][1:][-FINAL_EPOCHS:]
    return sum(trained) / len(trained) if trained else float("nan")


def best_accuracy(history: Iterable[Epoch]) -> float:
    """The highest accuracy of any epoch."""
    return max(epoch.accuracy for epoch in history)


COLUMNS = (
    "epoch", "q", "accuracy", "loss", "train_loss", "forwards", "macs", "random_bits",
    "bytes_written", "seconds", "events",
)  # fmt: skip


def write_csv(history: Iterable[Epoch], path: Path) -> None:
    """One row per epoch under COLUMNS; losses are means per image."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        for e in history:
            train_loss = f"{e.mean_train_loss:.6f}" if e.images else ""
            writer.writerow(
                (e.epoch, e.q, f"{e.accuracy:.6f}", f"{e.mean_loss:.6f}", train_loss, *e.cost,
                 f"{e.seconds:.3f}", "; ".join(e.events))
            )  # fmt: skip


def write_lines(history: Iterable[Epoch], path: Path) -> None:
    """JSON lines: an object per epoch, its fields as `Epoch` has them, exact."""
    objects = ({**epoch._asdict(), "cost": epoch.cost._asdict()} for epoch in history)
    path.write_text("".join(f"{json.dumps(entry)}\n" for entry in objects), encoding="utf-8")


def read_lines(path: Path) -> tuple[Epoch, ...]:
    """The history that `write_lines` wrote.

    raises   OSError; ValueError naming the line that is no epoch
    """
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            entry = json.loads(line)
            cost, events = Cost(**entry["cost"]), tuple(map(str, entry["events"]))
            found.append(Epoch(**{**entry, "cost": cost, "events": events}))
        except (ValueError, LookupError, TypeError) as error:
            raise ValueError(
                f"{path}: line {number} must be an epoch as zo train writes it, got {line[:60]!r}"
            ) from error
    if not found:
        raise ValueError(f"{path}: must hold an epoch at least, got none")
    return tuple(found)


def to_plain(epoch: Epoch) -> list[Any]:
    """Numbers and strings only, for JSON."""
    return [*epoch[:7], list(epoch.cost), epoch.seconds, list(epoch.events)]


def from_plain(values: list[Any]) -> Epoch:
    """The epoch that `to_plain` took apart."""
    named = dict(zip(Epoch._fields, values, strict=True))
    return Epoch(**{**named, "cost": Cost(*named["cost"]), "events": tuple(named["events"])})
