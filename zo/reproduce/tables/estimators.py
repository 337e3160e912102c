"""T10: estimators at equal forwards."""

from ..cell import Cell
from ..experiment import Experiment, Plan
from .common import fixed, with_forwards

QS = (8, 64)


def _cells(plan: Plan) -> list[Cell]:
    forwards, cells = plan.epochs * 1000, []
    for q in QS:
        for name in ("one_sided", "centred", "hadamard", "sign"):
            length = with_forwards(plan, forwards, q + 1)
            cells.append(fixed(q, length, f"{name}, q = {q}", stop_after=0,
                               method={"estimator": name}))  # fmt: skip
        half = q // 2
        length = with_forwards(plan, forwards, 2 * half)
        cells.append(fixed(half, length, f"central, q = {half}", stop_after=0,
                           method={"estimator": "central"}))  # fmt: skip
    return cells


EXPERIMENTS = (
    Experiment(
        "T10",
        "Estimators at equal forwards",
        "Is a difference of two perturbed losses worth its second forward?",
        _cells,
        baseline="one_sided, q = 64",
        differs=("60,000 forwards of a batch a run, whatever q is.",),
    ),
)
