"""T8, T15: every way to choose q, at equal forwards and at equal cost."""

from typing import Any

from ..cell import Cell
from ..experiment import Experiment, Limit, Plan
from .runs import CONSTANT, EXACT, exact_head, scheduler

SLOPE = "The rate follows q and does not fall with the epochs."
MIDDLE, LARGEST = 32, 1024
"""Runs at equal forwards are as long as the plan's at MIDDLE; at equal cost q goes to LARGEST."""


def _at_equal_forwards(plan: Plan) -> list[Cell]:
    """A rate that does not fall, so that every history may be cut at the same forwards."""
    same: dict[str, Any] = {"epochs": plan.epochs, "stop_after": 0, "method": CONSTANT}
    ends = {"q0": 8, "q_max": 64}
    constant = [Cell(f"constant {q}", "constant", {"q": q}, **{**same, "epochs": _long(plan, q)})
                for q in (8, 16, 32, 64)]  # fmt: skip
    return [*constant, *_rivals(plan, ends, same), Cell("cost_aware", "cost_aware", ends, **same),
            exact_head(plan, stop_after=0)]  # fmt: skip


def _at_equal_cost(plan: Plan) -> list[Cell]:
    """Every step runs the whole network once for each image, and then the head q times more."""
    same: dict[str, Any] = {"epochs": plan.epochs, "stop_after": 0, "method": CONSTANT}
    ends = {"q0": 8, "q_max": LARGEST}
    constant = [Cell(f"constant {q}", "constant", {"q": q}, **same)
                for q in (8, 32, 64, 128, 256, 512, LARGEST)]  # fmt: skip
    costs = {2**i: plan.frozen + 2**i + 1 for i in range(1, LARGEST.bit_length())}
    aware = Cell("cost_aware", "cost_aware", {**ends, "costs": sorted(costs.items())}, **same)
    return [*constant, *_rivals(plan, ends, same), aware, exact_head(plan, stop_after=0)]


def _rivals(plan: Plan, ends: dict[str, Any], same: dict[str, Any]) -> list[Cell]:
    declared = {**ends, "epochs": plan.epochs}
    return [
        scheduler(plan, samples=ends, stop_after=0, method=CONSTANT),
        Cell("linear ramp (MeZO)", "linear_ramp", declared, **same),
        Cell("power of the epoch (AdaZeta)", "epoch_power", declared, **same),
        Cell("split halves (FwdLLM)", "gate", {"measure": "split_half", **ends}, **same),
        Cell("signal of coefficients", "gate", {"measure": "coefficients", **ends}, **same),
        Cell("dead zone", "gate", {"measure": "dead_zone", **ends}, **same),
    ]


def _long(plan: Plan, q: int) -> int:
    """Epochs that take the forwards of plan.epochs at MIDDLE."""
    return max(1, round(plan.epochs * (MIDDLE + 1) / (q + 1)))


def equal_forwards(plan: Plan) -> Limit:
    """What plan.epochs take at MIDDLE."""
    return Limit(plan.epochs * plan.steps * (MIDDLE + 1))


def equal_cost(plan: Plan) -> Limit:
    """The same, with what comes before the head in every step."""
    return Limit(plan.epochs * plan.steps * (plan.frozen + MIDDLE + 1), plan.frozen)


EXPERIMENTS = (
    Experiment(
        "T8",
        "Schedules at equal forwards",
        "Does it matter how q is chosen, if every way may take the same number of forwards?",
        _at_equal_forwards,
        baseline="constant 32",
        differs=(SLOPE, EXACT),
        limit=equal_forwards,
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
        limit=equal_cost,
    ),
)
