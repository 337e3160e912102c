"""T6: QScheduler's settings, one at a time, and their corners."""

from itertools import product
from typing import Any

from ..cell import Cell
from ..experiment import Experiment, Plan
from .runs import scheduler

DEFAULT = {"threshold": 0.005, "patience": 5, "factor": 2.0, "q0": 8}
OTHERS = {
    "threshold": (0.0, 0.001, 0.01),
    "patience": (2, 10),
    "factor": (1.5, 4.0),
    "q0": (2, 4, 16),
}
LADDER = (2, 4, 8, 12, 16, 24, 32, 48, 64)
NAMES = {"threshold": "tau", "patience": "patience", "factor": "factor", "q0": "q0"}


def _cells(plan: Plan) -> list[Cell]:
    cells = [scheduler(plan, "tau 0.005, patience 5, factor 2, q0 8", samples=DEFAULT)]
    for name, values in OTHERS.items():
        cells += [_changed(plan, f"{NAMES[name]} {value:g}", {name: value}) for value in values]
    corners = product((0.0, 0.01), (2, 10), (4.0,), (2, 16))
    for values in corners:
        changes = dict(zip(OTHERS, values, strict=True))
        label = ", ".join(f"{NAMES[name]} {value:g}" for name, value in changes.items())
        cells.append(_changed(plan, label, changes))
    return cells


def _changed(plan: Plan, label: str, changes: dict[str, float]) -> Cell:
    samples: dict[str, Any] = {**DEFAULT, **changes}
    if changes.get("factor") == 1.5:
        samples["ladder"] = [q for q in LADDER if q >= samples["q0"]]
    return scheduler(plan, label, samples=samples)


EXPERIMENTS = (
    Experiment(
        "T6",
        "QScheduler's tau, patience, factor and q0",
        "The paper gives no tau and no ablation: what does each setting do?",
        _cells,
        baseline="tau 0.005, patience 5, factor 2, q0 8",
        differs=("Factor 1.5 walks a ladder with 12, 24 and 48; the default's are powers of two.",),
    ),
)
