"""Training without gradients, in integers: the loop.

    for each epoch: shuffle, train on every whole batch, evaluate, recalibrate, choose the next q

Equal seeds give equal bits on any number of threads, with or without reuse, in NumPy and numba,
and after a resume. What may be chosen is in `options`, what a step does in `step`.
"""

import time
from dataclasses import dataclass
from typing import Any

from npusim import Graph, Session

from . import checkpoint
from .data import Dataset
from .history import Epoch, best_accuracy, final_accuracy
from .interrupt import interruptible
from .options import Options, choose
from .prepare import prepare, settings_of
from .result import trained_graph
from .run import Run
from .schedule import Schedule

DEFAULT = Options()


@dataclass(frozen=True)
class Result:
    """A finished run.

    history   one entry per epoch, the first before training
    graph     the trained network, ending at its logits
    stopped   "epochs" all are trained, "stagnant" no better accuracy for `stop_after` epochs, or
              "interrupted" by Ctrl-C, with what was done kept
    moved     codes clipped to their rails at the start, by tensor name
    """

    history: tuple[Epoch, ...]
    graph: Graph
    stopped: str
    moved: dict[str, int]

    @property
    def accuracy(self) -> float:
        """Of the graph, on the validation images."""
        return self.history[-1].accuracy

    @property
    def final(self) -> float:
        """Mean accuracy of the last ten epochs."""
        return final_accuracy(self.history)

    @property
    def best(self) -> float:
        """The highest accuracy of any epoch."""
        return best_accuracy(self.history)


def train(
    session: Session,
    train: Dataset,
    validation: Dataset,
    *,
    scheduler: Schedule | None = None,
    policy: str | None = None,
    options: Options = DEFAULT,
    **changes: Any,
) -> Result:
    """Train the session's trainable tensors in place.

    session      its graph ends at int8 logits (see `npusim.head.until_logits`)
    train        images as the graph takes them (see `data.to_input`), labels 0..C-1
    validation   of the same kind; chooses q and when to stop, trains nothing
    scheduler    q by epoch; QScheduler() if None. It is changed
    policy       "paper" for the choices of QScheduler's authors, "ours" for the defaults
    options      how to train
    changes      fields of Options that differ, such as epochs=60, seed=1
    raises       ValueError, TypeError, ModelError before the first step when something does not fit
    """
    options = choose(options, policy, changes)
    run, moved = prepare(session, train, validation, scheduler, options)
    settings = settings_of(run)
    _begin(run, settings)
    stopped = _epochs(run, settings)
    return Result(tuple(run.history), trained_graph(run), stopped, moved)


def _begin(run: Run, settings: dict[str, Any]) -> None:
    """Continue from the checkpoint, or evaluate before training."""
    path = run.options.checkpoint
    if path is not None and run.options.resume and path.exists():
        run.restore(checkpoint.load(path, run.arrays(), settings))
    else:
        run.start()
    _tell(run)


def _epochs(run: Run, settings: dict[str, Any]) -> str:
    """Train until there is a reason to stop; returns it."""
    options = run.options
    with interruptible() as interrupted:
        while not (run.done or run.stagnates):
            if not _one_epoch(run, interrupted):
                return "interrupted"
            if options.checkpoint is not None:
                checkpoint.save(options.checkpoint, run.arrays(), run.numbers(), settings)
            _tell(run)
    return "stagnant" if run.stagnates and not run.done else "epochs"


def _one_epoch(run: Run, interrupted: Any) -> bool:
    """Train and evaluate one epoch; False if Ctrl-C ended it between two steps."""
    started, loss = time.perf_counter(), 0
    on_step = run.options.hooks.on_step
    total = run.options.epochs * run.steps_per_epoch
    for step, rows in run.batches():
        loss += run.train_step(step, rows)
        if on_step is not None:
            on_step(step + 1, total)
        if interrupted():
            return False
    run.finish_epoch(loss, run.history[-1].seconds + time.perf_counter() - started)
    return True


def _tell(run: Run) -> None:
    if run.options.hooks.on_epoch is not None:
        run.options.hooks.on_epoch(run.history[-1])
