"""What tests of every folder share."""

import os
from pathlib import Path

import hypothesis
import pytest

from npusim import jit

# what a test reads on standard error must not depend on whether kernels are compiled already
jit.notice.text = None

# a busy machine is not a failure
hypothesis.settings.register_profile("npusim", deadline=None)
hypothesis.settings.load_profile("npusim")

CLONE = Path(__file__).resolve().parents[1]


@pytest.fixture
def shared():
    """Finds a file of the shared data by its path there; skips the test where it is absent."""
    root = Path(os.environ.get("NPUSIM_SHARED", CLONE.parent / "shared"))

    def find(name):
        path = root / name
        if not path.exists():
            pytest.skip(f"{path} is absent; set NPUSIM_SHARED to the folder of shared data")
        return path

    return find


@pytest.fixture(params=["numpy", "portable"])
def isa(request, monkeypatch):
    """Runs a test in both executors: the NumPy reference, and the compiled kernels."""
    monkeypatch.setenv("NPUSIM_ISA", request.param)
    return request.param
