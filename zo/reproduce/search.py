"""Learning rates by Bayesian search: every method of an experiment gets as many trials.

A trial trains all rows of a method with one rate, and its worth is their mean accuracy on the
validation images; the test is never looked at. Trials live in a database, from which several
processes take what is left to do, and a later one goes on. Sampler: the tree-structured Parzen
estimator of Optuna, on the logarithm of the rate; the first trial is the rate without a search.
"""

import math
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from npusim.digest import content_hash

from .bank import Bank
from .cell import Cell, Outcome
from .experiment import Experiment, Plan, rows_of
from .families import Family, methods

if TYPE_CHECKING:
    import optuna

HEARTBEAT, GRACE = 5, 60
"""Seconds between two signs of life of a trial, and without one until another takes it over."""
POLL = 1.0
OPENINGS = 5
"""How often a database is opened that another process may be making at the same time."""
RATE = "rate"

Run = Callable[[Sequence[Cell]], list[tuple[Cell, Outcome]]]


class Search(NamedTuple):
    """What is searched.

    experiment   its methods
    plan         length of the runs
    trials       of each method
    seed         of the runs, their split included, and of the sampler
    """

    experiment: Experiment
    plan: Plan
    trials: int
    seed: int = 0


class Trial(NamedTuple):
    """One rate, dimensionless, and the mean validation accuracy of a method's rows, 0..1."""

    rate: float
    accuracy: float


class Found(NamedTuple):
    """A method's trials, in order."""

    family: Family
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial:
        """The most accurate, the earliest of equals."""
        return max(self.trials, key=lambda trial: trial.accuracy)


class _SurplusError(Exception):
    """Another process began the last trial first."""


def search_rates(
    search: Search,
    bank: Bank,
    storage: str,
    run: Run,
    progress: Callable[[int, int], None] | None = None,
) -> list[Found]:
    """Every method's trials, those of earlier and of other processes included.

    storage    a file, made if absent, or the URL of a database as SQLAlchemy takes it
    run        trains cells; what it keeps of a trial cut short is not trained again
    progress   called with trials done and trials in all
    raises     ImportError that names the extra when Optuna is missing; ValueError for a storage
               that cannot be opened; what a cell raises
    """
    families = methods(search.experiment, search.plan)
    with _quiet_optuna():
        opened = _open(storage)
        studies = [_study(opened, search, family, bank) for family in families]
        total = search.trials * len(families)
        while True:
            for family, study in zip(families, studies, strict=True):
                _work(search, family, study, run)
            done = sum(len(_completed(study, search.trials)) for study in studies)
            if progress is not None:
                progress(done, total)
            if done == total:
                break
            time.sleep(POLL)
        return [Found(family, _completed(study, search.trials))
                for family, study in zip(families, studies, strict=True)]  # fmt: skip


def _work(search: Search, family: Family, study: "optuna.Study", run: Run) -> None:
    """Take trials until all are done or begun."""
    import optuna

    def objective(trial: "optuna.Trial") -> float:
        rank = _rank(study, trial.number)
        if rank >= search.trials:
            raise _SurplusError
        study.sampler = _sampler(search, family, rank)
        low, high = family.space
        rate = trial.suggest_float(RATE, low, high, log=True)
        return _accuracy(search, [replace(c, seed=search.seed) for c in family.at(rate)], run)

    optuna.storages.fail_stale_trials(study)
    while _begun(study) < search.trials:
        study.optimize(objective, n_trials=1, catch=(_SurplusError,))


def _accuracy(search: Search, cells: Sequence[Cell], run: Run) -> float:
    rows = rows_of(search.experiment, search.plan, run(cells))
    mean = sum(row.final for row in rows) / len(rows) / 100
    if not math.isfinite(mean):
        raise ValueError(
            f"{search.experiment.name}: runs must have an epoch that counts, got none; "
            "give more epochs"
        )
    return mean


def _sampler(search: Search, family: Family, rank: int) -> "optuna.samplers.BaseSampler":
    """Of one trial alone, so that a search cut short goes on as if it had not been."""
    from optuna.samplers import PartialFixedSampler, TPESampler

    seed = int(content_hash("trial", search.seed, family.name, rank)[:8], 16)
    sampler = TPESampler(seed=seed)
    if rank == 0 and family.own is not None:
        return PartialFixedSampler({RATE: family.own}, sampler)
    return sampler


def _rank(study: "optuna.Study", number: int) -> int:
    """How many trials that count began, or wait to be taken over, before this one."""
    return sum(t.number < number and t.state.name in ("COMPLETE", "RUNNING", "WAITING")
               for t in study.get_trials(deepcopy=False))  # fmt: skip


def _begun(study: "optuna.Study") -> int:
    return sum(t.state.name in ("COMPLETE", "RUNNING") for t in study.get_trials(deepcopy=False))


def _completed(study: "optuna.Study", trials: int) -> tuple[Trial, ...]:
    """The first so many complete ones: a budget stays equal where an earlier search went on."""
    done = [t for t in study.get_trials(deepcopy=False) if t.state.name == "COMPLETE"]
    done.sort(key=lambda t: t.number)
    return tuple(Trial(t.params[RATE], float(t.values[0])) for t in done[:trials])


def _study(storage: Any, search: Search, family: Family, bank: Bank) -> "optuna.Study":
    """Named by everything that decides a trial's worth, save the number of trials."""
    import optuna

    keys = [replace(c, seed=search.seed).key(bank.digest) for c in family.cells]
    what = content_hash("search", repr((keys, family.space, search.plan.steps)))
    name = f"{search.experiment.name}, {family.name}, {what[:16]}"
    return optuna.create_study(
        storage=storage, study_name=name, direction="maximize", load_if_exists=True
    )


def _open(storage: str) -> Any:
    """The database."""
    from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback
    from sqlalchemy.exc import SQLAlchemyError

    local = "://" not in storage
    url = f"sqlite:///{Path(storage).absolute()}" if local else storage
    options = {"connect_args": {"timeout": 60}} if url.startswith("sqlite:") else {}
    for left in reversed(range(OPENINGS)):
        try:
            return RDBStorage(
                url, options, heartbeat_interval=HEARTBEAT, grace_period=GRACE,
                heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(),
            )  # fmt: skip
        except (SQLAlchemyError, ValueError) as error:
            if not left:
                first = str(error).splitlines()[0]
                raise ValueError(
                    f"{storage}: must be a file or URL of a database of trials, got {first}"
                ) from error
            time.sleep(POLL / 4)
    raise AssertionError


@contextmanager
def _quiet_optuna() -> Iterator[None]:
    """Optuna without its log and without its notes on what is experimental."""
    try:
        import optuna
    except ImportError as error:
        raise ImportError(
            'search: optuna must be installed, got none; pip install "npusim[sweep]"'
        ) from error
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", optuna.exceptions.ExperimentalWarning)
            yield
    finally:
        optuna.logging.set_verbosity(before)
