"""The experiments by name."""

from ..experiment import Experiment
from . import estimators, fixed_q, head_room, profiles, q_max, rules, scheduler_settings, schedules

EXPERIMENTS: dict[str, Experiment] = {
    experiment.name: experiment
    for module in (fixed_q, q_max, scheduler_settings, schedules, rules, estimators, head_room,
                   profiles)
    for experiment in module.EXPERIMENTS
}  # fmt: skip
