"""Every C function of npusim against Python, bit for bit: drawn arguments, and those at limits."""

from functools import cache
from importlib import import_module

import numpy as np
import pytest
from kernels.layers import LAYERS

from c.agreement import differences, unchecked
from c.dispatch import callable_functions
from c.npu_cases.weighted import call, layer, ordered_call
from npusim.kernels.structs import OVERFLOW, Accumulation

FUZZED = (
    "elementwise", "pool", "mean", "softmax", "quantize", "layout", "xnnpack", "neural_art",
    "neural_art_units",
)  # fmt: skip
MODULES = (
    "arith", "requantize", "conv2d", "depthwise_conv2d", "fully_connected", "ordered", *FUZZED,
)  # fmt: skip
SEED = 20261203
TENTH, REST = range(100), pytest.param(range(100, 1000), marks=pytest.mark.full)


@cache
def cases(module):
    random = np.random.default_rng(SEED)
    return tuple(import_module(f"c.npu_cases.{module}").cases(random))


@cache
def fuzz(module, seeds):
    """Drawn calls: of every operator of the module as many as there are seeds."""
    random = np.random.default_rng(seeds[0])
    return tuple(import_module(f"c.npu_cases.{module}").fuzz(random, len(seeds)))


@pytest.mark.parametrize("module", MODULES)
def test_c_matches_python(npusim_code, npusim_runner, module):
    assert differences(npusim_code.declarations, npusim_runner, cases(module)) == []


@pytest.mark.parametrize("module", MODULES)
def test_cases_check_everything_c_may_change(npusim_code, module):
    drawn = fuzz(module, TENTH) if module in FUZZED else ()
    found = {
        case.function: unchecked(npusim_code.declarations, case) for case in cases(module) + drawn
    }
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_every_function_is_called(npusim_code):
    called = {case.function for module in MODULES for case in cases(module)}
    called |= {case.function for module in FUZZED for case in fuzz(module, TENTH)}
    callable_names = {function.name for function in callable_functions(npusim_code.declarations)}
    assert callable_names - called == set()


@pytest.mark.parametrize("seeds", [TENTH, REST], ids=["tenth", "rest"])
@pytest.mark.parametrize("module", FUZZED)
def test_drawn_calls_match(npusim_code, npusim_runner, module, seeds):
    assert differences(npusim_code.declarations, npusim_runner, fuzz(module, seeds)) == []


@pytest.mark.parametrize("seeds", [TENTH, REST], ids=["tenth", "rest"])
@pytest.mark.parametrize("op", LAYERS)
def test_layers_of_the_python_kernels_match(npusim_code, npusim_runner, op, seeds):
    fuzz = [call(op, layer(op, seed)) for seed in seeds]
    assert differences(npusim_code.declarations, npusim_runner, fuzz) == []


@pytest.mark.parametrize("seeds", [TENTH, REST], ids=["tenth", "rest"])
@pytest.mark.parametrize("op", LAYERS)
def test_layers_with_narrow_accumulators_match(npusim_code, npusim_runner, op, seeds):
    """Widths and overflows in turn."""
    fuzz = [
        ordered_call(op, layer(op, seed), Accumulation(8 + seed % 57, seed % len(OVERFLOW)))
        for seed in seeds
    ]
    assert differences(npusim_code.declarations, npusim_runner, fuzz) == []
