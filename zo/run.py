"""A run: the state of training between two epochs, and how one epoch changes it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .batch import Source
from .bias import rebase
from .cost import Cost, Work, reused_step_cost, saturated_step_cost, step_cost
from .evaluate import Evaluation, evaluate
from .history import Epoch, from_plain, to_plain
from .loss import CrossEntropy
from .options import Options
from .prng import shuffle
from .recalibrate import recalibrate_logits, recalibrate_weights
from .sampling import Draw
from .schedule import EarlyStopping, Schedule
from .step import Step


@dataclass
class Run:
    """Everything that changes while training."""

    step: Step
    train: Source
    validation: Source
    scheduler: Schedule
    options: Options
    work: Work
    cost: Cost
    stopping: EarlyStopping | None
    history: list[Epoch] = field(default_factory=list)
    stagnates: bool = False

    @property
    def steps_per_epoch(self) -> int:
        """Whole batches in the training images."""
        return len(self.train) // self.options.batch

    @property
    def epoch(self) -> int:
        """Epochs trained so far."""
        return len(self.history) - 1

    @property
    def done(self) -> bool:
        """Whether all epochs are trained."""
        return self.epoch >= self.options.epochs

    def batches(self) -> Iterator[tuple[int, np.ndarray]]:
        """(steps done before, rows) of every step of the next epoch."""
        size, steps = self.options.batch, self.steps_per_epoch
        order = shuffle(self.options.seed, self.epoch, len(self.train))
        for i in range(steps):
            yield self.epoch * steps + i, order[i * size : (i + 1) * size]

    def train_step(self, step: int, rows: np.ndarray) -> int:
        """One step; returns the batch's loss before it."""
        q = self.scheduler.q if self.step.group.perturbed else 0
        loss = self.step(self.train.batch(rows), Draw(self.options.seed, step, q))
        self.cost = self.cost.plus(self._step_cost(q))
        return loss

    def finish_epoch(self, train_loss: int, seconds: float) -> Epoch:
        """Evaluate, recalibrate, let the scheduler choose the next q; append to the history."""
        found = evaluate(self.validation, self.step.loss)
        q = self.scheduler.q if self.step.group.perturbed else 0
        events = self._recalibrate(found) if self.options.method.recalibrate else ()
        images = self.steps_per_epoch * self.options.batch
        epoch = Epoch(
            len(self.history), q, *found[:3], train_loss, images, self.cost, seconds, events
        )
        self.history.append(epoch)
        counts = (found.correct, found.total)
        if self.step.group.perturbed:
            q = self.scheduler.step(counts)
        if self.stopping is not None:
            self.stagnates = self.stopping.step(counts, q)
        return epoch

    def start(self) -> Epoch:
        """Evaluate before any training: epoch 0."""
        found = evaluate(self.validation, self.step.loss)
        epoch = Epoch(0, 0, *found[:3], 0, 0, self.cost, 0.0)
        self.history.append(epoch)
        return epoch

    def arrays(self) -> dict[str, np.ndarray]:
        """Every array a checkpoint holds, live."""
        session, found = self.step.session, {}
        for t in self.step.group.tensors:
            for part in ("codes", "residual", "momentum", "doublings"):
                found[f"{t.name}:{part}"] = getattr(t.state, part)
            if t.form is not None:
                found[f"{t.name}:base"], found[f"{t.name}:unit"] = t.form
            found[f"{t.node}:bias"] = session.biases[t.node]
            found[f"{t.node}:shift"] = session.requantization[t.node].shift
        if self.step.classifier is not None:
            node = self.step.classifier.node
            found[f"{node}:shift"] = session.requantization[node].shift
        return found

    def numbers(self) -> dict[str, Any]:
        """Everything else a checkpoint holds."""
        loss = self.step.loss
        return {
            "history": [to_plain(epoch) for epoch in self.history],
            "scheduler": self.scheduler.state_dict(),
            "stopping": self.stopping.state_dict() if self.stopping else None,
            "stagnates": self.stagnates,
            "exponent": loss.exponent if isinstance(loss, CrossEntropy) else 0,
        }

    def restore(self, numbers: Mapping[str, Any]) -> None:
        """Take up `numbers`; the arrays are in place already."""
        self.history[:] = [from_plain(values) for values in numbers["history"]]
        self.scheduler.load_state_dict(numbers["scheduler"])
        self.stagnates = numbers["stagnates"]
        if self.stopping is not None:
            self.stopping.load_state_dict(numbers["stopping"])
        self.cost = self.history[-1].cost
        for _ in range(numbers["exponent"]):
            assert isinstance(self.step.loss, CrossEntropy)
            self.step.loss = self.step.loss.doubled()

    def _step_cost(self, q: int) -> Cost:
        method = self.options.method
        if method.perturbation == "saturate" and q:
            return saturated_step_cost(self.work, q)
        if self.step.head_alone:
            return reused_step_cost(self.work, method.estimator, q)
        return step_cost(self.work, method.estimator, q)

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
