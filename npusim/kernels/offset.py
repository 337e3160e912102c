"""Rows of a strided walk: how many there are, and where each begins in an operand.

A walk has a shape int64 (R,), R >= 1, and per operand strides int64 (R,) in elements. A row runs
along the last dimension; rows are counted in row-major order of the others.
"""

from ..jit import jit


@jit
def rows_of(shape):
    """Number of rows of a walk."""
    rows = 1
    for d in range(len(shape) - 1):
        rows *= shape[d]
    return rows


@jit
def offset(row, shape, strides):
    """Position of a row's first element in the operand with these strides."""
    position = 0
    for d in range(len(shape) - 2, -1, -1):
        position += row % shape[d] * strides[d]
        row //= shape[d]
    return position
