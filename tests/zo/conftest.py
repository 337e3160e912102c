"""Fixtures of the training tests."""

import pytest


@pytest.fixture(params=["numpy", "numba"])
def backend(request, monkeypatch):
    """Runs the test with the NumPy functions of zo, then with the compiled ones."""
    monkeypatch.setenv("NPUSIM_ISA", "numpy" if request.param == "numpy" else "portable")
    return request.param
