"""One run of an experiment, as plain data: what it is decides every bit of what comes out."""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from npusim.digest import content_hash

from ..budget import Budget
from ..cost_aware import CostAware
from ..declared import Constant, epoch_power, linear_ramp
from ..gate import Gate
from ..history import Epoch, final_accuracy, from_plain, to_plain
from ..schedule import QScheduler, Schedule

VERSION = 2
"""Of the code that runs cells; another one makes outcomes anew."""


@dataclass(frozen=True)
class Cell:
    """A run on a bank.

    label       of its row in a table
    schedule    a key of SCHEDULES, and
    samples     its arguments, such as {"q": 64}
    method      fields of `zo.Method` that differ from the defaults
    rate        step over the mean of ||x||^2, at the schedule's first q; None: as zo chooses
    epochs      at most
    stop_after  epochs without a better accuracy until it stops, 0 for never
    batch       images a step
    seed        of everything random, the split included
    headroom    codes of the head reach so many times its largest warmed-up weight
    delta       change of a logit by one perturbation, in output codes
    profile     arithmetic of the head
    augment     whether it trains on variants
    numbers     "int8", or "float32" for the reference in real numbers
    limit       fields of an `experiment.Limit` at which it stops, since nothing counts behind it
    unknowns    of Neural-ART, such as {"ties": "even"}; "s0_more" is added to the s0 by the rules
    """

    label: str
    schedule: str = "constant"
    samples: Mapping[str, Any] = field(default_factory=lambda: {"q": 16})
    method: Mapping[str, Any] = field(default_factory=dict)
    rate: float | None = None
    epochs: int = 60
    stop_after: int = 30
    batch: int = 64
    seed: int = 0
    headroom: float = 8.0
    delta: float = 1.0
    profile: str = "tflm"
    augment: bool = True
    numbers: str = "int8"
    unknowns: Mapping[str, Any] = field(default_factory=dict)
    limit: tuple[int, int] | None = None

    def key(self, bank: str) -> str:
        """Names the cell's outcome on a bank of this digest; the label does not count."""
        plain = {k: v for k, v in asdict(self).items() if k != "label"}
        if self.limit is None:  # such a run keeps the name it had before there were limits
            del plain["limit"]
        return content_hash("cell", json.dumps(plain, sort_keys=True), bank, VERSION)


@dataclass(frozen=True)
class Outcome:
    """What a cell came to.

    history   epoch by epoch, accuracies of the validation images
    test      images of the test set classified right, of all, with the last weights; None of a
              history that was cut before them
    seconds   of the whole cell; the only number that is not reproducible
    """

    history: tuple[Epoch, ...]
    test: tuple[int, int] | None
    seconds: float

    @property
    def final(self) -> float:
        """Mean validation accuracy of the last ten epochs."""
        return final_accuracy(self.history)

    @property
    def test_accuracy(self) -> float | None:
        """Of the last weights."""
        return None if self.test is None else self.test[0] / self.test[1]

    @property
    def forwards(self) -> int:
        """Forward passes of a batch that training took."""
        return self.history[-1].cost.forwards

    def to_plain(self) -> dict[str, Any]:
        """What JSON holds."""
        history = [to_plain(epoch) for epoch in self.history]
        return {"history": history, "test": self.test, "seconds": self.seconds}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Outcome":
        """The outcome again; LookupError, TypeError or ValueError for anything else."""
        history = tuple(from_plain(epoch) for epoch in plain["history"])
        test = plain["test"] and (int(plain["test"][0]), int(plain["test"][1]))
        return cls(history, test, float(plain["seconds"]))


SCHEDULES: Mapping[str, Callable[..., Schedule]] = {
    "constant": Constant,
    "qscheduler": QScheduler,
    "gate": Gate,
    "cost_aware": CostAware,
    "linear_ramp": linear_ramp,
    "epoch_power": epoch_power,
}


def schedule_of(cell: Cell) -> Schedule:
    """The cell's schedule, before its first epoch; `budget_forwards` stands for a Budget as q_max.

    raises   ValueError for an unknown one
    """
    if cell.schedule not in SCHEDULES:
        known = ", ".join(SCHEDULES)
        raise ValueError(f"cell: schedule must be one of {known}, got {cell.schedule!r}")
    arguments = dict(cell.samples)
    if "budget_forwards" in arguments:
        arguments["q_max"] = Budget(forwards=arguments.pop("budget_forwards"))
    if "costs" in arguments:  # pairs, as JSON has no numbers for keys
        arguments["costs"] = dict(arguments["costs"])
    schedule: Schedule = SCHEDULES[cell.schedule](**arguments)
    return schedule
