"""Every C function of zo against Python, bit for bit: random arguments, and those at the limits."""

from functools import cache
from importlib import import_module

import numpy as np
import pytest

from c.agreement import differences, unchecked
from c.dispatch import callable_functions

MODULES = (
    "fixed_point", "prng", "perturb", "loss", "estimate", "update", "recalibrate", "schedule",
    "gate", "cost_aware", "adapt", "run_state",
)  # fmt: skip
SEED = 20261201

# what test_step_matches_python.py calls, and what only steps call
IN_STEPS = {"replay_steps", "zo_draw_stream", "zo_trainable_exact", "zo_trainable_write"}


@cache
def cases(module):
    random = np.random.default_rng(SEED)
    return tuple(import_module(f"c.cases.{module}").cases(random))


@pytest.mark.parametrize("module", MODULES)
def test_c_matches_python(zo_code, runner, module):
    assert differences(zo_code.declarations, runner, cases(module)) == []


@pytest.mark.parametrize("module", MODULES)
def test_cases_check_everything_c_may_change(zo_code, module):
    found = {case.function: unchecked(zo_code.declarations, case) for case in cases(module)}
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_every_function_is_called(zo_code):
    called = {case.function for module in MODULES for case in cases(module)}
    callable_names = {function.name for function in callable_functions(zo_code.declarations)}
    assert callable_names - called == IN_STEPS
