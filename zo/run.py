"""A run: the state of training between two epochs, and how one epoch changes it."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from .batch import Source
from .bias import rebase
from .cost import Cost, Work
from .early_stopping import EarlyStopping
from .evaluate import Evaluation, evaluate
from .history import Epoch
from .loss import CrossEntropy
from .options import Options, name_of
from .recalibrate import recalibrate_logits, recalibrate_weights
from .sampling import Draw
from .schedule import Schedule
from .step import Step


@dataclass
class Run:
    """Everything that changes while training.

    train, validation   images to learn from, and to choose q and the end by
    scheduler           has the q of the next epoch
    moved               codes clipped to their rails at the start, see `Result`
    cost                of all steps so far, and of what ran once before the first
    stopping            None where a run never stops early
    epoch               epochs trained so far
    stagnates           whether `stopping` has said so
    history             from epoch 0, which is before training, or from where a run went on
    """

    step: Step
    train: Source
    validation: Source
    scheduler: Schedule
    options: Options
    work: Work
    moved: dict[str, int]
    cost: Cost
    stopping: EarlyStopping | None
    epoch: int = 0
    stagnates: bool = False
    history: list[Epoch] = field(default_factory=list)

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in the training images."""
        return self.options.steps_per_epoch(self.train.originals)

    @property
    def done(self) -> bool:
        """Whether all epochs are trained."""
        return self.epoch >= self.options.epochs

    @property
    def q(self) -> int:
        """Samples of each step of the next epoch, 0 where nothing is perturbed."""
        return self.scheduler.q if self.step.group.perturbed else 0

    def start(self) -> Epoch:
        """Evaluate before any training, epoch 0, or before a run goes on."""
        found = evaluate(self.validation, self.step.loss)
        epoch = Epoch(self.epoch, 0, *found[:3], 0, 0, self.cost, 0.0)
        self.history.append(epoch)
        return epoch

    def batches(self) -> Iterator[tuple[int, np.ndarray]]:
        """(steps done before, rows) of every step of the next epoch."""
        size, steps = self.options.batch, self.steps_per_epoch
        order = self.train.order(self.options.seed, self.epoch)
        for i in range(steps):
            yield self.epoch * steps + i, order[i * size : (i + 1) * size]

    def draw(self, step: int) -> Draw:
        """The samples of a step with so many done before it."""
        hadamard = self.options.method.estimator == "hadamard"
        return Draw(self.options.seed, step, self.scheduler.q, int(hadamard))

    def train_step(self, step: int, rows: np.ndarray) -> int:
        """One step; returns the batch's loss before it."""
        draw = self.draw(step)
        loss = self.step(self.train.batch(rows), draw)
        self.cost = self.cost.plus(
            self.work.step_cost(name_of(self.options.method.estimator), self.q)
        )
        return loss

    def finish_epoch(self, train_loss: int, seconds: float) -> Epoch:
        """Evaluate, let the scheduler choose the next q, recalibrate; append to the history.

        A run that ends here keeps its scales, so that its model has the accuracy just measured.
        """
        found, q = evaluate(self.validation, self.step.loss), self.q
        counts = (found.correct, found.total)
        if self.step.group.perturbed:
            self.scheduler.step(counts)
        if self.stopping is not None:
            self.stagnates = self.stopping.step(counts, self.q)
        self.epoch += 1
        goes_on = not (self.done or self.stagnates)
        events = self._recalibrate(found) if goes_on and self.options.method.recalibrate else ()
        images = self.steps_per_epoch * self.options.batch
        epoch = Epoch(self.epoch, q, *found[:3], train_loss, images, self.cost, seconds, events)
        self.history.append(epoch)
        return epoch

    def _recalibrate(self, found: Evaluation) -> tuple[str, ...]:
        """Double scales that have become too narrow; says which."""
        session, events = self.step.session, []
        for t in self.step.group.tensors:
            if t.form is not None:
                continue
            bias, shift = session.biases[t.node], session.requantization[t.node].shift
            channels = recalibrate_weights(t.state, bias, shift, t.rule.rails)
            if channels:
                events.append(f"{t.name}: scale of channels {list(channels)} doubled")
            for other in self.step.group.tensors:
                if other.node == t.node and other.form is not None and other.array is not None:
                    rebase(other.form, other.state, other.array, channels)
        loss, classifier = self.step.loss, self.step.classifier
        if classifier is not None and isinstance(loss, CrossEntropy):
            shift = session.requantization[classifier.node].shift
            self.step.loss = recalibrate_logits(found.at_rail, found.entries, shift, loss)
            if self.step.loss is not loss:
                events.append("logits: scale doubled")
        return tuple(events)
