"""T13: the same training under other arithmetics."""

from collections.abc import Mapping
from typing import Any

from ..cell import Cell
from ..experiment import Experiment, Plan
from .runs import fixed

PROFILES = ("tflm", "litert-ref", "xnnpack", "single-rounding")
UNKNOWNS: Mapping[str, Mapping[str, Any]] = {
    "neural-art by the rules": {},
    "neural-art, ties to even": {"ties": "even"},
    "neural-art, ties up": {"ties": "up"},
    "neural-art, s0 two less": {"s0_more": -2},
    "neural-art, s0 one less": {"s0_more": -1},
    "neural-art, s0 one more": {"s0_more": 1},
    "neural-art, 24-bit partial sums": {"partial_bits": 24},
}
"""What no document says of the silicon: the rules' guess, and each other possibility."""


def _cells(plan: Plan) -> list[Cell]:
    method = {"recalibrate": False}
    named = [fixed(16, plan, profile, profile=profile, method=method) for profile in PROFILES]
    return named + [
        fixed(16, plan, label, profile="neural-art", method=method, unknowns=unknowns)
        for label, unknowns in UNKNOWNS.items()
    ]


EXPERIMENTS = (
    Experiment(
        "T13",
        "Training under other arithmetics",
        "Does it matter to training how a device rounds, and what is unknown of Neural-ART?",
        _cells,
        baseline="tflm",
        differs=("Of the head alone, under a fixed scale, since Neural-ART's coefficients cannot "
                 "change.",
                 "Each head is trained and judged under the same arithmetic. s0 of 0 cannot be "
                 "less; s0 is counted from the rules' for the head at the start."),
        spread=True,
    ),
)  # fmt: skip
