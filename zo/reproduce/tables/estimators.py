"""T10: estimators at equal forwards."""

from ..cell import Cell
from ..experiment import Experiment, Plan
from .runs import EQUAL, EXACT, exact_head, fixed, of_equal_forwards

QS = (8, 64)


def _cells(plan: Plan) -> list[Cell]:
    cells = []
    for q in QS:
        for name in ("one_sided", "centred", "hadamard", "sign"):
            length = of_equal_forwards(plan, q + 1)
            cells.append(fixed(q, length, f"{name}, q = {q}", stop_after=0,
                               method={"estimator": name}))  # fmt: skip
        half = q // 2
        length = of_equal_forwards(plan, 2 * half)
        cells.append(fixed(half, length, f"central, q = {half}", stop_after=0,
                           method={"estimator": "central"}))  # fmt: skip
    return [*cells, exact_head(plan, stop_after=0)]


EXPERIMENTS = (
    Experiment(
        "T10",
        "Estimators at equal forwards",
        "Is a difference of two perturbed losses worth its second forward?",
        _cells,
        baseline="one_sided, q = 64",
        differs=(EQUAL, EXACT),
    ),
)
