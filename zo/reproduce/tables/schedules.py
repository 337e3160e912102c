"""T8: every way to choose q, at equal forwards."""

from typing import Any

from ..cell import Cell
from ..experiment import Experiment, Plan
from .runs import CONSTANT, EXACT, exact_head, scheduler


def _cells(plan: Plan) -> list[Cell]:
    """A rate that does not fall, so that every history may be cut at the same forwards."""
    same: dict[str, Any] = {"epochs": plan.epochs, "stop_after": 0, "method": CONSTANT}
    ends = {"q0": 8, "q_max": 64}
    declared = {**ends, "epochs": plan.epochs}
    constant = [Cell(f"constant {q}", "constant", {"q": q}, **{**same, "epochs": _long(plan, q)})
                for q in (8, 16, 32, 64)]  # fmt: skip
    return [
        *constant,
        scheduler(plan, stop_after=0, method=CONSTANT),
        Cell("linear ramp (MeZO)", "linear_ramp", declared, **same),
        Cell("power of the epoch (AdaZeta)", "epoch_power", declared, **same),
        Cell("split halves (FwdLLM)", "gate", {"measure": "split_half", **ends}, **same),
        Cell("signal of coefficients", "gate", {"measure": "coefficients", **ends}, **same),
        Cell("dead zone", "gate", {"measure": "dead_zone", **ends}, **same),
        Cell("cost_aware", "cost_aware", ends, **same),
        exact_head(plan, stop_after=0),
    ]


def _long(plan: Plan, q: int) -> int:
    """Epochs that take the forwards of plan.epochs at q = 32."""
    return max(1, round(plan.epochs * 33 / (q + 1)))


def forwards_of(plan: Plan) -> int:
    """Where histories are cut: what plan.epochs take at q = 32."""
    return plan.epochs * plan.steps * 33


EXPERIMENTS = (
    Experiment(
        "T8",
        "Schedules at equal forwards",
        "Does it matter how q is chosen, if every way may take the same number of forwards?",
        _cells,
        baseline="constant 32",
        differs=("The rate follows q and does not fall with the epochs.", EXACT),
        forwards=forwards_of,
    ),
)
