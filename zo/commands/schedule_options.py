"""The options that say how many samples a step takes, and the schedule they stand for."""

import argparse
import re
from collections.abc import Callable
from typing import Any

from npusim.command_line import counting_number

from ..budget import Budget
from ..cost_aware import CostAware
from ..declared import Constant, Declared, epoch_power, linear_ramp
from ..evidence import MEASURES
from ..gate import Gate
from ..metric import THRESHOLD_MODES
from ..schedule import QScheduler, Schedule
from .arguments import Options

TITLE = "samples: q is fixed by --q, else as --schedule says; QScheduler raises it"
QSCHEDULER, RAMP, POWER, COST_AWARE = "qscheduler", "ramp", "power", "cost_aware"
SCHEDULES = (QSCHEDULER, *MEASURES, COST_AWARE, RAMP, POWER)
_BUDGET = {"budget_forwards": "forwards", "budget_macs": "macs", "step_forwards": "per_step"}
_CLIMB = ("q0", "q_max", "patience", "threshold", "ladder", *_BUDGET)
TAKEN = {
    QSCHEDULER: (*_CLIMB, "factor", "threshold_mode", "smoothing", "cooldown"),
    **dict.fromkeys(MEASURES, _CLIMB),
    COST_AWARE: ("q0", "q_max", "ladder", "measure_costs", *_BUDGET),
    RAMP: ("q0", "q_max"),
    POWER: ("q0", "q_max", "power"),
}
"""What each schedule goes by."""


def planned(text: str) -> tuple[int, int]:
    """EPOCH:Q as two integers."""
    found = re.fullmatch(r"(\d{1,9}):(\d{1,9})", text)
    if found is None:
        raise argparse.ArgumentTypeError(f"must be EPOCH:Q, such as 20:16, got {text!r}")
    return int(found[1]), int(found[2])


SAMPLES: Options = {
    "--q": {"type": counting_number, "metavar": "N", "help": "samples a step in every epoch"},
    "--plan": {
        "type": planned, "nargs": "+", "metavar": "EPOCH:Q",
        "help": "q from these epochs on, counted from 0",
    },
    "--schedule": {
        "choices": SCHEDULES, "metavar": "NAME",
        "help": "qscheduler (if not given): up when accuracy stagnates; split_half, "
        "coefficients, dead_zone: up when steps are noise; cost_aware: of least predicted cost; "
        "ramp, power: with the epochs",
    },
    "--q0": {"type": counting_number, "metavar": "N", "help": "at the start; 8"},
    "--q-max": {"type": counting_number, "metavar": "N", "help": "at most; 64"},
    "--ladder": {
        "type": counting_number, "nargs": "+", "metavar": "N",
        "help": "values that q may take; q0, powers of two, q-max",
    },
    "--factor": {"type": float, "metavar": "X", "help": "by which q grows; 2"},
    "--patience": {
        "type": counting_number, "metavar": "N",
        "help": "epochs without a better accuracy until q grows, 5; or noisy ones, 1",
    },
    "--threshold": {
        "type": float, "metavar": "X",
        "help": "by how much an accuracy must be better, 0.005; or past which a step is noise",
    },
    "--threshold-mode": {
        "choices": THRESHOLD_MODES,
        "help": "of accuracies: absolute, relative, or in standard errors; abs",
    },
    "--smoothing": {
        "type": float, "metavar": "X", "help": "weight of the past in a mean of accuracies; 0",
    },
    "--cooldown": {
        "type": int, "metavar": "N", "help": "epochs after a rise of q that do not count; 0",
    },
    "--power": {"type": float, "metavar": "X", "help": "of the epoch's number; 0.5"},
    "--measure-costs": {
        "action": "store_true",
        "help": "cost_aware goes by microseconds, measured once, and not by counted MACs",
    },
    "--budget-forwards": {
        "type": counting_number, "metavar": "N",
        "help": "forwards of a batch in a run of q-max alone, instead of --q-max",
    },
    "--budget-macs": {
        "type": counting_number, "metavar": "N", "help": "multiply-accumulates of the same",
    },
    "--step-forwards": {
        "type": counting_number, "metavar": "N", "help": "forwards of a step at most",
    },
}  # fmt: skip

Clock = Callable[[tuple[int, ...]], dict[int, int]]
"""Microseconds of a step by q."""


def chosen_schedule(arguments: argparse.Namespace, clock: Clock | None = None) -> Schedule:
    """The schedule asked for; ValueError for options that do not go together.

    clock   what --measure-costs goes by
    """
    given = _given(arguments)
    if arguments.q is not None or arguments.plan is not None:
        return _fixed(arguments, given)
    kind = arguments.schedule or QSCHEDULER
    for name in given:
        if name not in TAKEN[kind]:
            takers = ", ".join(other for other, names in TAKEN.items() if name in names)
            raise ValueError(f"{_option(name)}: must go with --schedule {takers}, got {kind}")
    _take_budget(given)
    if kind == QSCHEDULER:
        return QScheduler(**given)
    if kind in MEASURES:
        return Gate(kind, **given)
    if kind == COST_AWARE:
        costs = clock if given.pop("measure_costs", False) else None
        return CostAware(**given, costs=costs)
    ends = {"q0": 8, "q_max": 64, "epochs": arguments.epochs} | given
    return linear_ramp(**ends) if kind == RAMP else epoch_power(**ends)


def _given(arguments: argparse.Namespace) -> dict[str, Any]:
    """The options of all schedules that were given."""
    names = dict.fromkeys(name for taken in TAKEN.values() for name in taken)
    values = {name: getattr(arguments, name, None) for name in names}
    return {name: value for name, value in values.items() if value not in (None, False)}


def _fixed(arguments: argparse.Namespace, given: dict[str, Any]) -> Schedule:
    """What --q or --plan says, which take no other option."""
    name = "q" if arguments.q is not None else "plan"
    others = {n: getattr(arguments, n) for n in ("plan", "schedule") if n != name} | given
    other = next((n for n, value in others.items() if value is not None), None)
    if other is not None:
        raise ValueError(
            f"--{name}: must stand alone, since it fixes q, got {_option(other)} too; leave one "
            "of them out"
        )
    if arguments.plan is None:
        return Constant(arguments.q)
    plan = dict(arguments.plan)
    if len(plan) < len(arguments.plan):
        text = " ".join(f"{epoch}:{q}" for epoch, q in arguments.plan)
        raise ValueError(f"--plan: must name an epoch once, got {text}")
    return Declared(plan)


def _take_budget(given: dict[str, Any]) -> None:
    """Limits as q_max, in place."""
    limits = {field: given.pop(name) for name, field in _BUDGET.items() if name in given}
    if limits and "q_max" in given:
        raise ValueError("--q-max: must not be given beside a budget, got both; leave one out")
    if limits:
        given["q_max"] = Budget(**limits)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"
