"""Each NumPy function has a compiled namesake, and NumPy mode runs without numba."""

import inspect
import os
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from zo import kernels

TESTS = Path(__file__).resolve().parents[1]
KERNELS = Path(kernels.__file__).parent
# fixed_point: its functions take one number in numba, and arrays in NumPy
MODULES = sorted({path.stem for path in KERNELS.glob("*.py")} - {"__init__", "fixed_point"})


def twins(module):
    """The functions of a module that are marked `twin`; cached ones are wrapped as well."""
    functions = vars(import_module(f"zo.{module}")).values()
    return [f for f in functions if hasattr(f, "__wrapped__") and f.__module__ == f"zo.{module}"
            and not hasattr(f, "cache_info")]  # fmt: skip


@pytest.mark.parametrize("module", MODULES)
def test_twins_take_the_same_arguments(module):
    kernels = import_module(f"zo.kernels.{module}")
    functions = twins(module)

    assert functions
    for function in functions:
        compiled = getattr(kernels, function.__name__).py_func
        assert list(inspect.signature(compiled).parameters) == list(
            inspect.signature(function).parameters
        )


PROGRAM = """
import importlib, pkgutil, sys
sys.path[:0] = sys.argv[1:]
import zo
for module in pkgutil.walk_packages(zo.__path__, "zo."):
    if not module.name.startswith("zo.kernels"):
        importlib.import_module(module.name)
from test_train import reference_bits
print(reference_bits())
print([name for name in sys.modules if name.startswith(("numba", "llvmlite"))])
"""


def test_numpy_mode_trains_without_numba():
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(TESTS.parent), str(TESTS), str(TESTS / "zo")],
        env={**os.environ, "NPUSIM_ISA": "numpy"}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout.splitlines()[1] == "[]"
