"""What several experiments share: policies, rates, and runs of equal length in forwards."""

from collections.abc import Mapping
from typing import Any

from ..cell import Cell
from ..experiment import Plan

SHARED_RATE = 0.384
"""Step over the mean of ||x||^2 that is best at q = 64; the paper's policy shares one."""
PAPER: Mapping[str, Any] = {"lr_scaling": "none", "space": "integer", "recalibrate": False}
CONSTANT: Mapping[str, Any] = {"decay": "constant"}
AN_EPOCH = 1000
"""Forwards of a batch for each epoch of the plan, where runs are of equal forwards."""
EQUAL = (
    f"{AN_EPOCH:,} forwards of a batch for each epoch asked for, whatever q is. So a large q has "
    "few epochs, and where they are fewer than ten the row is the mean of all of them."
)

EXACT = "The exact head takes the epochs asked for, one forward a step, and its rate falls."
"""Of experiments at equal forwards, where it takes fewer."""


def fixed(q: int, plan: Plan, label: str = "", **changes: Any) -> Cell:
    """A run with one q."""
    return Cell(label or f"q = {q}", "constant", {"q": q}, epochs=plan.epochs, **changes)


def exact_head(plan: Plan, label: str = "exact head", **changes: Any) -> Cell:
    """The head by its exact gradient, one forward a step: what zeroth order is measured against."""
    return Cell(label, "constant", {"q": 1}, {"exact_head": True}, epochs=plan.epochs, **changes)


def scheduler(plan: Plan, label: str = "QScheduler", **changes: Any) -> Cell:
    """A run under QScheduler, from 8 to 64 unless `samples` says otherwise."""
    samples = {"q0": 8, "q_max": 64, **changes.pop("samples", {})}
    return Cell(label, "qscheduler", samples, epochs=plan.epochs, **changes)


def of_equal_forwards(plan: Plan, forwards_a_step: int) -> Plan:
    """The plan whose runs take AN_EPOCH forwards for each epoch asked for, at least one epoch's."""
    forwards = plan.epochs * AN_EPOCH
    return plan._replace(epochs=max(1, round(forwards / (plan.steps * forwards_a_step))))
