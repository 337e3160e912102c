"""T3, T4: fixed q against QScheduler; F3, F4: curves of some of their rows, the same runs."""

from collections.abc import Sequence
from functools import partial
from typing import Any

from ..cell import Cell
from ..experiment import Experiment, Plan
from .runs import CONSTANT, PAPER, SHARED_RATE, exact_head, fixed, scheduler

QS = (4, 8, 16, 32, 64)
LONG_QS = (8, 64, 256, 1024)
PLATEAUS = {f"paper's, q = {q}": a for q, a in zip(QS, (55.0, 70.0, 80.0, 85.0, 85.0), strict=True)}
"""Read off the paper's figure."""
DIFFERS = (
    "The classifier is trained on frozen features of the network, not the network's last layers.",
    "The seed draws 70 % of the images to train and 10 % to validate; accuracy is of the latter, "
    "as the paper's, and the test beside it of the other 20 %, which nothing was chosen by.",
    "Warm-up stops at 30 % accuracy; weights start from ImageNet's.",
)


def _cells(plan: Plan, qs: Sequence[int]) -> list[Cell]:
    cells = _policy(plan, "ours", qs)
    cells += _policy(plan, "paper's", qs, rate=SHARED_RATE, method=PAPER)
    flat = {**PAPER, **CONSTANT}
    cells += _policy(plan, "paper's, constant rate", qs, rate=SHARED_RATE, method=flat)
    cells += [fixed(q, plan, f"float32, ours, q = {q}", numbers="float32") for q in qs]
    return [*cells, exact_head(plan)]


def _policy(plan: Plan, name: str, qs: Sequence[int], **changes: Any) -> list[Cell]:
    """Each q, and QScheduler."""
    cells = [fixed(q, plan, f"{name}, q = {q}", **changes) for q in qs]
    samples = {"q_max": qs[-1]}
    return [*cells, scheduler(plan, f"{name}, QScheduler", samples=samples, **changes)]


def _pairs(qs: Sequence[int]) -> dict[str, str]:
    """Rows beside the fixed q that they have to be compared with."""
    pairs = {f"float32, ours, q = {q}": f"ours, q = {q}" for q in qs}
    for policy in ("paper's", "paper's, constant rate"):
        pairs[f"{policy}, QScheduler"] = f"{policy}, q = {qs[-1]}"
    return pairs


def _plateaus(plan: Plan) -> list[Cell]:
    return [cell for cell in _cells(plan, QS) if cell.label.startswith("paper's")]


def _paths(plan: Plan) -> list[Cell]:
    ends = ("QScheduler", f"q = {QS[0]}", f"q = {QS[-1]}")
    return [cell for cell in _cells(plan, QS)
            if cell.numbers == "int8" and cell.label.endswith(ends)]  # fmt: skip


EXPERIMENTS = (
    Experiment(
        "T4",
        "Fixed q and QScheduler, MobileNetV2",
        "Does a fixed q plateau as the paper's figure shows (about 55, 70, 80, 85, 85 % at q = 4, "
        "8, 16, 32, 64), and does QScheduler reach the best of them?",
        partial(_cells, qs=QS),
        PLATEAUS
        | {f"paper's, {row}": a for row, a in (("q = 64", 85.4), ("QScheduler", 85.09))}
        | {"float32, ours, q = 32": 89.38, "float32, ours, q = 64": 91.73},
        "ours, q = 64",
        DIFFERS,
        pairs=_pairs(QS),
    ),
    Experiment(
        "T3",
        "Fixed q and QScheduler, ResNet18 to layer3",
        "The same of ResNet18, whose best fixed q in the paper is 1024.",
        partial(_cells, qs=LONG_QS),
        {"paper's, q = 1024": 86.05, "paper's, QScheduler": 86.21},
        "ours, q = 1024",
        (*DIFFERS, "ResNet18 ends at the mean over layer3; the paper's has layer4."),
        pairs=_pairs(LONG_QS),
    ),
    Experiment(
        "F3",
        "Plateaus of a fixed q under the paper's policy",
        "Where does each q stop getting better, and does it stop because of the rate's decay?",
        _plateaus,
        PLATEAUS,
        "paper's, q = 64",
        differs=DIFFERS,
    ),
    Experiment(
        "F4",
        "QScheduler's path between the smallest q and the largest",
        "When does QScheduler raise q, and what does that bring over the forwards spent?",
        _paths,
        {"paper's, QScheduler": 85.09},
        "paper's, q = 64",
        differs=DIFFERS,
    ),
)
