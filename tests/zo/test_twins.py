"""Each NumPy function has a compiled namesake, and NumPy mode runs without numba."""

import inspect
import os
import subprocess
import sys
from importlib import import_module

import pytest

MODULES = (
    "prng", "perturb", "loss", "estimate", "exact_head", "update", "recalibrate", "sampled_head",
    "warm_up",
)  # fmt: skip


def twins(module):
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


def test_numpy_mode_never_imports_numba():
    program = (
        "import sys\n"
        "from zo import bias, estimate, exact_head, loss, perturb, prng, rate, recalibrate\n"
        "from zo import schedule, update\n"
        "import numpy as np\n"
        "print(prng.signs(1, 2, 3, 4, 5).tolist(), prng.shuffle(1, 2, 4).tolist())\n"
        "print([name for name in sys.modules if name.startswith(('numba', 'llvmlite'))])\n"
    )
    environment = {**os.environ, "NPUSIM_ISA": "numpy"}

    done = subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
    )

    assert done.stdout.splitlines()[1] == "[]"
