"""The experiments by name."""

from ..experiment import Experiment
from ..study import Study
from . import (
    device,
    estimators,
    fixed_q,
    head_room,
    own_rates,
    profiles,
    q_max,
    restore,
    rules,
    scheduler_settings,
    schedules,
    shifts,
)

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for module in (own_rates, fixed_q, q_max, scheduler_settings, schedules, rules, estimators,
                   head_room, profiles)
    for experiment in module.EXPERIMENTS
}  # fmt: skip
STUDIES: dict[str, Study] = {
    study.name: study for module in (device, shifts, restore) for study in module.STUDIES
}
