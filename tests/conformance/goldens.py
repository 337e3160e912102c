"""Golden files: where they lie, and their cases as test parameters.

NPUSIM_SHARED names the folder of shared data, by default `shared` beside the clone.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import pytest

CLONE = Path(__file__).resolve().parents[2]


def path_of(name: str) -> Path:
    """Where a golden file is expected."""
    root = Path(os.environ.get("NPUSIM_SHARED", CLONE.parent / "shared"))
    return root / "conformance" / name


def parameters(name: str, cases: Callable[[h5py.File], list[Any]]) -> list[Any]:
    """What `cases` lists from an open file; a single skipped parameter where it is absent."""
    path = path_of(name)
    if not path.exists():
        reason = f"{path} is absent; set NPUSIM_SHARED to the folder of shared data"
        return [pytest.param(None, marks=pytest.mark.skip(reason=reason), id="absent")]
    with h5py.File(path, "r") as file:
        return cases(file)
