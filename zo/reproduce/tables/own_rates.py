"""T2: QScheduler against each fixed q, every row at its own best rate."""

from ..cell import Cell
from ..experiment import Experiment, Plan
from .fixed_q import QS
from .runs import CONSTANT, fixed

DECAYS = {"cosine": {}, "constant rate": CONSTANT}


def _cells(plan: Plan) -> list[Cell]:
    cells = []
    for name, method in DECAYS.items():
        cells += [fixed(q, plan, f"{name}, q = {q}", method=method) for q in QS]
        budget = {"q0": 8, "budget_forwards": plan.epochs * plan.steps * (QS[-1] + 1)}
        cells.append(Cell(f"{name}, QScheduler", "qscheduler", budget, method=method,
                          epochs=plan.epochs))  # fmt: skip
    return cells


EXPERIMENTS = (
    Experiment(
        "T2",
        "QScheduler against each fixed q at its own best rate",
        "Does QScheduler reach the best fixed q, or save forwards, if that q has the rate and the "
        "decay that suit it, and Qmax comes from a budget and not from the sweep?",
        _cells,
        baseline="constant rate, QScheduler",
        differs=("The paper's rates are shared, its Qmax is the best of the sweep.",),
        separate=True,
    ),
)
