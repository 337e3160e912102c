"""Training without gradients, in integers: the loop.

    for each epoch: shuffle, train on every whole batch, evaluate, recalibrate, choose the next q

Equal seeds give equal bits on any number of threads, with or without reuse, in NumPy and numba,
and after a resume. What may be chosen is in `options`, what a step does in `step`.
"""

import time
from collections.abc import Callable
from typing import Any

from npusim import Session

from .checkpoint import Checkpoint
from .data import Examples, as_dataset
from .interrupt import interruptible
from .options import Options, choose
from .prepare import prepare
from .result import Result, result_of
from .run import Run
from .run_state import SUFFIX, RunState
from .schedule import Schedule

DEFAULT = Options()


def train(
    session: Session,
    train: Examples,
    validation: Examples,
    *,
    scheduler: Schedule | None = None,
    policy: str | None = None,
    options: Options = DEFAULT,
    **changes: Any,
) -> Result:
    """Train the session's trainable tensors in place.

    session      its graph ends at int8 logits (see `npusim.head.until_logits`)
    train        images and labels 0..C-1: a pair of arrays, a part of `npusim.models.digits()`, or
                 a Dataset whose images are as the graph takes them (see `data.as_dataset`)
    validation   of the same kind; chooses q and when to stop, trains nothing
    scheduler    q by epoch; QScheduler() if None. It is changed
    policy       "paper" for the choices of QScheduler's authors, "ours" for the defaults
    options      how to train
    changes      fields of Options that differ, such as epochs=60, seed=1
    raises       ValueError, TypeError, ModelError before the first step when something does not fit
    """
    options = choose(options, policy, changes)
    learned = as_dataset(train, session.graph, "train")
    held_out = as_dataset(validation, session.graph, "validation")
    run = prepare(session, learned, held_out, scheduler, options)
    checkpoint = _checkpoint(run)
    if not (checkpoint is not None and options.resume and checkpoint.resume()):
        run.start()
    tell(run)
    return result_of(run, run_epochs(run, checkpoint))


def _checkpoint(run: Run) -> Checkpoint | RunState | None:
    """The run's file, of the kind that its name says."""
    path = run.options.checkpoint
    if path is None:
        return None
    return RunState(path, run) if path.suffix == SUFFIX else Checkpoint(path, run)


def run_epochs(run: Run, checkpoint: Checkpoint | RunState | None) -> str:
    """Train a run that has been started until there is a reason to stop; returns it."""
    with interruptible() as interrupted:
        while not (run.done or run.stagnates):
            if not _one_epoch(run, interrupted):
                return "interrupted"
            if checkpoint is not None:
                checkpoint.save()
            tell(run)
        if interrupted():
            return "interrupted"
    return "stagnant" if run.stagnates and not run.done else "epochs"


def _one_epoch(run: Run, interrupted: Callable[[], bool]) -> bool:
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


def tell(run: Run) -> None:
    """Show the last epoch to the hook."""
    if run.options.hooks.on_epoch is not None:
        run.options.hooks.on_epoch(run.history[-1])
