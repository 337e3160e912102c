"""T5: where QScheduler stops."""

from ..cell import Cell
from ..experiment import Experiment, Plan
from .runs import scheduler


def _cells(plan: Plan) -> list[Cell]:
    cells = [scheduler(plan, f"Qmax {q}", samples={"q_max": q}) for q in (16, 64, 256, 1024)]
    budget = {"q0": 8, "budget_forwards": plan.epochs * plan.steps * 65}
    return [*cells, Cell("by a budget of forwards", "qscheduler", budget, epochs=plan.epochs)]


EXPERIMENTS = (
    Experiment(
        "T5",
        "QScheduler's Qmax",
        "Does the largest q matter, if it is not taken from the sweep it is compared with?",
        _cells,
        baseline="Qmax 64",
        differs=("The paper takes Qmax from its own sweep over fixed q.",),
    ),
)
