"""F5: scales that follow, against scales that leave room from the start."""

from ..cell import Cell
from ..experiment import Experiment, Plan
from .runs import fixed

ROOMS = (1.0, 2.0, 8.0, 32.0)


def _cells(plan: Plan) -> list[Cell]:
    return [
        fixed(64, plan, f"head-room {room:g}, recalibration {'on' if follows else 'off'}",
              headroom=room, method={"recalibrate": follows})
        for room in ROOMS for follows in (False, True)
    ]  # fmt: skip


EXPERIMENTS = (
    Experiment(
        "F5",
        "Recalibration on and off",
        "Does doubling scales while training bring back what a scale without head-room loses?",
        _cells,
        baseline="head-room 8, recalibration off",
    ),
)
