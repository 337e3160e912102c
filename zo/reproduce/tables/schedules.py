"""T8, T15: every way to choose q, at equal forwards and at equal cost."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..cell import Cell
from ..experiment import Experiment, Limit, Plan
from .runs import CONSTANT, EXACT, exact_head

DIRECTIONS = (
    "cost_aware is told no q; the 333 directions that it counts come from the two rates tuned "
    "on EuroSAT."
)
RAMPS = (
    "The ramp and the power are declared over the epochs asked for, wherever the limit cuts them."
)
SLOPE = "The rate follows q and does not fall with the epochs."
Q0, MIDDLE, LARGEST = 8, 32, 1024
"""Runs at equal forwards are as long as the plan's at MIDDLE; at equal cost q goes to LARGEST."""


def _at_equal_forwards(plan: Plan) -> list[Cell]:
    return _cells(plan, _equal_forwards(plan), (8, 16, MIDDLE, 64), {})


def _at_equal_cost(plan: Plan) -> list[Cell]:
    """Every step runs the whole network once for each image, and then the head q times more."""
    costs = [(2**i, plan.frozen + 2**i + 1) for i in range(1, LARGEST.bit_length())]
    qs = (8, MIDDLE, 64, 128, 256, 512, LARGEST)
    return _cells(plan, _equal_cost(plan), qs, {"costs": costs})


def _cells(plan: Plan, limit: Limit, qs: Sequence[int], aware: Mapping[str, Any]) -> list[Cell]:
    """Runs as long as the limit lets a q of 2 be, under a rate that does not fall."""
    longest = -(-limit.cost // (plan.steps * (limit.per_step + 3)))
    same: dict[str, Any] = {"epochs": longest, "stop_after": 0, "method": CONSTANT,
                            "limit": tuple(limit)}  # fmt: skip
    ends = {"q0": Q0, "q_max": qs[-1]}
    declared = {**ends, "epochs": plan.epochs}
    return [
        *(Cell(f"constant {q}", "constant", {"q": q}, **same) for q in qs),
        Cell("QScheduler", "qscheduler", ends, **same),
        Cell("linear ramp (MeZO)", "linear_ramp", declared, **same),
        Cell("power of the epoch (AdaZeta)", "epoch_power", declared, **same),
        Cell("split halves (FwdLLM)", "gate", {"measure": "split_half", **ends}, **same),
        Cell("signal of coefficients", "gate", {"measure": "coefficients", **ends}, **same),
        Cell("dead zone", "gate", {"measure": "dead_zone", **ends}, **same),
        Cell("cost_aware", "cost_aware", {**ends, **aware}, **same),
        exact_head(plan, stop_after=0),
    ]


def _equal_forwards(plan: Plan) -> Limit:
    """What plan.epochs take at MIDDLE."""
    return Limit(plan.epochs * plan.steps * (MIDDLE + 1))


def _equal_cost(plan: Plan) -> Limit:
    """The same, with what comes before the head in every step."""
    return Limit(plan.epochs * plan.steps * (plan.frozen + MIDDLE + 1), plan.frozen)


EXPERIMENTS = (
    Experiment(
        "T8",
        "Schedules at equal forwards",
        "Does it matter how q is chosen, if every way may take the same number of forwards?",
        _at_equal_forwards,
        baseline="constant 32",
        differs=(SLOPE, RAMPS, DIRECTIONS, EXACT),
        limit=_equal_forwards,
    ),
    Experiment(
        "T15",
        "Schedules at equal cost",
        "What if every step runs the whole network once on images augmented anew, so that samples "
        "are cheap beside it?",
        _at_equal_cost,
        baseline="cost_aware",
        differs=(
            SLOPE,
            EXACT,
            "A step costs the multiply-accumulates of the network and of q + 1 heads; runs "
            f"are cut where {MIDDLE} samples would end. Nothing is measured in seconds.",
        ),
        limit=_equal_cost,
    ),
)
