"""The comparison all kernel tests make."""

from __future__ import annotations

from typing import Any

import numpy as np
from kernels import shaped

from npusim import reference


def assert_kernel_matches_reference(function: str, *arguments: Any) -> None:
    """The compiled kernel and the NumPy reference give the same type, shape and bits."""
    expected = getattr(reference, function)(*arguments)
    actual = getattr(shaped, function)(*arguments)
    assert actual.dtype == expected.dtype
    assert actual.shape == expected.shape
    assert actual.tobytes() == expected.tobytes(), (
        f"{np.count_nonzero(actual != expected)} of {expected.size} differ"
    )
