"""T13: the same training under other arithmetics."""

from ..cell import Cell
from ..experiment import Experiment, Plan
from .runs import fixed

PROFILES = ("tflm", "litert-ref", "xnnpack", "single-rounding")


def _cells(plan: Plan) -> list[Cell]:
    return [fixed(16, plan, profile, profile=profile, method={"recalibrate": False})
            for profile in PROFILES]  # fmt: skip


EXPERIMENTS = (
    Experiment(
        "T13",
        "Training under other arithmetics",
        "Does it matter to training how a device rounds?",
        _cells,
        baseline="tflm",
        differs=("Of the head alone, under a fixed scale, since Neural-ART's coefficients cannot "
                 "change.",),
    ),
)  # fmt: skip
