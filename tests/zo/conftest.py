"""Fixtures of the training tests."""

import os
from pathlib import Path

import pytest

CLONE = Path(__file__).resolve().parents[2]


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


@pytest.fixture(params=["numpy", "numba"])
def backend(request, monkeypatch):
    """Runs the test with the NumPy functions of zo, then with the compiled ones."""
    monkeypatch.setenv("NPUSIM_ISA", "numpy" if request.param == "numpy" else "portable")
    return request.param
