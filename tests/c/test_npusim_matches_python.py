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

MODULES = (
    "arith", "requantize", "conv2d", "depthwise_conv2d", "fully_connected", "ordered",
    "arith", "requantize", "elementwise", "pool", "mean", "softmax", "quantize", "layout",
    "xnnpack", "neural_art", "neural_art_units",
)  # fmt: skip
SEED = 20261203
FEW = 100
COUNTS = [FEW, pytest.param(10 * FEW, marks=pytest.mark.full)]
"""Fuzz cases of each operator, besides those at limits."""


@cache
def cases(module, count=FEW):
    random = np.random.default_rng(SEED)
    return tuple(import_module(f"c.npu_cases.{module}").cases(random, count))


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("module", MODULES)
def test_c_matches_python(npusim_code, npusim_runner, module, count):
    assert differences(npusim_code.declarations, npusim_runner, cases(module, count)) == []


@pytest.mark.parametrize("module", MODULES)
def test_cases_check_everything_c_may_change(npusim_code, module):
    found = {case.function: unchecked(npusim_code.declarations, case) for case in cases(module)}
    assert {name: paths for name, paths in found.items() if paths} == {}


def test_every_function_is_called(npusim_code):
    called = {case.function for module in MODULES for case in cases(module)}
    callable_names = {function.name for function in callable_functions(npusim_code.declarations)}
    assert callable_names - called == set()


TENTH, REST = range(100), pytest.param(range(100, 1000), marks=pytest.mark.full)


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
