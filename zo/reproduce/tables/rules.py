"""T9: update rules at equal forwards."""

from ..cell import Cell
from ..experiment import Experiment, Plan
from .runs import EQUAL, EXACT, exact_head, fixed, of_equal_forwards

QS = (1, 4, 16, 64)
RULES = ("nearest", "stochastic", "error_feedback")


def _cells(plan: Plan) -> list[Cell]:
    rules = [
        fixed(q, of_equal_forwards(plan, q + 1), f"{rule}, q = {q}",
              stop_after=0, method={"rule": rule})
        for rule in RULES for q in QS
    ]  # fmt: skip
    real = [fixed(q, of_equal_forwards(plan, q + 1), f"float32, q = {q}", stop_after=0,
                  numbers="float32") for q in QS]  # fmt: skip
    return [*rules, *real, exact_head(plan, stop_after=0)]


EXPERIMENTS = (
    Experiment(
        "T9",
        "Update rules and q at equal forwards",
        "What does it cost to round weights to int8 after each step, and what brings it back?",
        _cells,
        baseline="error_feedback, q = 16",
        pairs={f"float32, q = {q}": f"error_feedback, q = {q}" for q in QS},
        differs=(EQUAL, EXACT),
    ),
)
