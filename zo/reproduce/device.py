"""Training a head on a device: how good it gets, and what C takes for it on a Cortex-M55.

accuracy    a whole run by the Python engine, on features computed once
agreement   the same run by the exported program in QEMU, on these features: do all bytes end equal?
steps       a step for each q by the whole network's program, counted in QEMU
memory      what a firmware links of the whole network's program; where layers below the head are
            trained, also what backpropagation through them would need, by accounting
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from npusim.digest import content_hash
from npusim.head import replace_head, with_features

from ..classifier import find_classifier
from ..declared import Declared
from ..export import Task as Exported
from ..features import default_folder
from ..options import Reuse
from .backward_memory import least_backward, plain_backward
from .bank import Bank, make_bank, split_rows
from .cell import Cell, schedule_of
from .execute import head_of, run_cell, setting_of
from .firmware import Deployment, link, run_in_qemu
from .task import HEALTHY, Task

VERSION = 1
"""Of the code that measures; another one makes outcomes anew."""
FIRST_RATE = 1e-3
"""Of a first layer whose program is linked and not run."""
Figures = dict[str, float]


class Way(NamedTuple):
    """How the head is trained.

    schedule   a key of cell.SCHEDULES, and
    samples    its arguments
    method     fields of `zo.Method` that differ from the defaults
    first      whether the first convolution is trained as well, by zeroth order
    """

    schedule: str
    samples: Mapping[str, Any]
    method: Mapping[str, Any] = {}
    first: bool = False


BELOW = "ZO first layer + exact head"
WAYS: Mapping[str, Way] = {
    "ZO, QScheduler": Way("qscheduler", {"q0": 8, "q_max": 64}),
    "ZO, q = 16": Way("constant", {"q": 16}),
    "exact head": Way("constant", {"q": 1}, {"exact_head": True}),
    BELOW: Way("constant", {"q": 16}, {"exact_head": True}, first=True),
}


@dataclass(frozen=True)
class Part:
    """Something that is measured.

    way      a key of WAYS
    what     a key of MEASURES
    epochs   of a whole run, at most
    seed     of the split, the first weights and all signs
    keep     whether RAM holds the features of every image
    """

    way: str
    what: str
    epochs: int
    seed: int = 0
    keep: bool = False

    def key(self, task: str) -> str:
        """Names the outcome on a task of this digest."""
        return content_hash("part", json.dumps(asdict(self), sort_keys=True), task, VERSION)


@dataclass(frozen=True)
class Measured:
    """Numbers by their names."""

    figures: Mapping[str, float]

    def to_plain(self) -> dict[str, Any]:
        """What JSON holds."""
        return dict(self.figures)

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Measured":
        """The outcome again; TypeError or ValueError for anything else."""
        for name, value in plain.items():
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise ValueError(f"{name}: must be a number, got {value!r}")
        return cls(dict(plain))


def measure(part: Part, task: Task) -> Measured:
    """Run what is to be measured.

    raises   KeyError for an unknown way or measure; OSError where a tool fails
    """
    return Measured(MEASURES[part.what](part, task))


def _accuracy(part: Part, task: Task) -> Figures:
    bank = _bank(task)
    outcome = run_cell(_cell(part), bank)
    assert outcome.test is not None
    trained = outcome.history[1:]
    train, validation, test = map(len, split_rows(bank, part.seed))
    steps = train // _cell(part).batch
    found: Figures = {"training images": train, "validation images": validation,
                      "test images": test, "validation": outcome.final,
                      "test": outcome.test[0] / outcome.test[1],
                      "epochs": len(trained), "last q": trained[-1].q}  # fmt: skip
    for epoch in trained:
        name = f"steps, q = {epoch.q}"
        found[name] = found.get(name, 0) + steps
    return found


def _agreement(part: Part, task: Task) -> Figures:
    cell = _cell(part)
    graph, train, validation, _, options = setting_of(cell, _bank(task))
    exported = Exported(graph, ("head",), train, validation)
    ran = run_in_qemu(Deployment(exported, lambda: schedule_of(cell), options))
    return {"steps": len(ran.steps), "bytes": ran.changed, "different": ran.different}


def _steps(part: Part, task: Task) -> Figures:
    """One batch, one step for each q that the schedule may choose, features kept."""
    whole = _whole(part, task)
    plan = dict(enumerate(schedule_of(_cell(part)).rungs))
    train, validation = whole.task.train, whole.task.validation
    batch, one = np.arange(whole.options.batch), np.arange(1)
    few = replace(whole.task, train=train.take(batch), validation=validation.take(one))
    options = replace(whole.options, epochs=len(plan), stop_after=0)
    ran = run_in_qemu(Deployment(few, lambda: Declared(plan), options, keep=True))
    found: Figures = {"batch": whole.options.batch, "bytes": ran.changed,
                      "different": ran.different, "image": ran.image,
                      "stack": ran.stack}  # fmt: skip
    return found | {f"step, q = {q}": count for q, count in ran.steps}


def _memory(part: Part, task: Task) -> Figures:
    whole = _whole(part, task)
    linked = link(whole)
    found: Figures = {**linked.sections._asdict(), "samples": linked.samples,
                      "arena": linked.arena, "features": linked.features,
                      "trained": linked.trained}  # fmt: skip
    if WAYS[part.way].first:
        ways = {"least": least_backward, "plain": plain_backward}
        for name, count in ways.items():
            kept, gradients = count(whole.task.graph, whole.task.trainable)
            found |= {f"{name} kept": kept, f"{name} gradients": gradients}
    return found


MEASURES: Mapping[str, Callable[[Part, Task], Figures]] = {
    "accuracy": _accuracy,
    "agreement": _agreement,
    "steps": _steps,
    "memory": _memory,
}


def _cell(part: Part) -> Cell:
    way = WAYS[part.way]
    return Cell(part.way, way.schedule, way.samples, way.method, epochs=part.epochs,
                seed=part.seed, augment=False)  # fmt: skip


def _whole(part: Part, task: Task) -> Deployment:
    """The run with the whole network and with images, as `zo export-c` writes it."""
    cell, bank, way = _cell(part), _bank(task), WAYS[part.way]
    graph = replace_head(task.graph, head_of(cell, bank))
    names = [find_classifier(graph).weights]
    if way.first:
        graph, names = with_features(graph), [task.first, *names]
    train, validation, _ = split_rows(bank, part.seed)
    exported = Exported(graph, names, task.dataset(HEALTHY, train),
                        task.dataset(HEALTHY, validation))  # fmt: skip
    options = setting_of(cell, bank).options
    lr = {task.first: FIRST_RATE} if way.first else None
    options = replace(options, method=replace(options.method, lr=lr),
                      reuse=Reuse(folder=default_folder()))  # fmt: skip
    return Deployment(exported, lambda: schedule_of(cell), options, part.keep)


@lru_cache(maxsize=2)
def _bank(task: Task) -> Bank:
    """Features of all images, as they are."""
    everything = task.dataset(HEALTHY, np.arange(len(task.labels)))
    return make_bank(task.graph, everything, 0, default_folder())
