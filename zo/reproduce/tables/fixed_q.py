"""T3, T4 and their curves F3, F4: fixed q against QScheduler."""

from collections.abc import Sequence
from functools import partial

from ..cell import Cell
from ..experiment import Experiment, Plan
from .runs import CONSTANT, PAPER, SHARED_RATE, fixed, scheduler

QS = (4, 8, 16, 32, 64)
DIFFERS = (
    "The classifier is trained on frozen features of the network, not the network's last layers.",
    "Images are split 70/10/20 by the seed; accuracy is of the validation images, as the paper's, "
    "and the test beside it is of images that nothing was chosen by.",
    "Warm-up stops at 30 % accuracy; weights start from ImageNet's.",
)


def _cells(plan: Plan, qs: Sequence[int]) -> list[Cell]:
    cells = [fixed(q, plan, f"ours, q = {q}") for q in qs]
    cells.append(scheduler(plan, "ours, QScheduler", samples={"q_max": qs[-1]}))
    paper = {"rate": SHARED_RATE, "method": PAPER}
    cells += [fixed(q, plan, f"paper's, q = {q}", **paper) for q in qs]
    cells.append(scheduler(plan, "paper's, QScheduler", samples={"q_max": qs[-1]}, **paper))
    flat = {"rate": SHARED_RATE, "method": {**PAPER, **CONSTANT}}
    cells += [fixed(q, plan, f"paper's, constant rate, q = {q}", **flat) for q in qs]
    cells.append(scheduler(plan, "paper's, constant rate, QScheduler",
                           samples={"q_max": qs[-1]}, **flat))  # fmt: skip
    cells += [fixed(q, plan, f"float32, ours, q = {q}", numbers="float32") for q in qs]
    return cells


EXPERIMENTS = (
    Experiment(
        "T4",
        "Fixed q and QScheduler, MobileNetV2",
        "Does a fixed q plateau as the paper's figure shows (about 55, 70, 80, 85, 85 % at q = 4, "
        "8, 16, 32, 64), and does QScheduler reach the best of them?",
        partial(_cells, qs=QS),
        {f"paper's, q = {q}": a for q, a in zip(QS, (55.0, 70.0, 80.0, 85.0, 85.4), strict=True)}
        | {"paper's, QScheduler": 85.09},
        "ours, q = 64",
        DIFFERS,
    ),
    Experiment(
        "T3",
        "Fixed q and QScheduler, ResNet18 to layer3",
        "The same of ResNet18, whose best fixed q in the paper is 1024.",
        partial(_cells, qs=(8, 64, 256, 1024)),
        {"paper's, q = 1024": 86.05, "paper's, QScheduler": 86.21},
        "ours, q = 1024",
        (*DIFFERS, "ResNet18 ends at the mean over layer3; the paper's has layer4."),
    ),
)
