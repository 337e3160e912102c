"""Operators that only move data; every element type."""

import numpy as np


def pad(x: np.ndarray, padding: tuple[tuple[int, int], ...], value: float) -> np.ndarray:
    """`value` before and after each dimension; `value` is the zero point of a quantised tensor."""
    return np.pad(x, padding, constant_values=value)


def reshape(x: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """The same elements in row-major order under another shape."""
    return x.reshape(shape)


def transpose(x: np.ndarray, permutation: tuple[int, ...]) -> np.ndarray:
    """y's dimension d is x's dimension permutation[d]."""
    return np.ascontiguousarray(x.transpose(permutation))
