"""Operators that only move data: pad and transpose.

    pad         y[start + sum of i_d * y_strides_d] = x[i], value elsewhere
    transpose   y[i] = x[sum of i_d * x_strides_d]

Elements of one to eight bytes: the caller views them as int8, int16, int32 or int64.
"""

import numpy as np

from ..jit import jit
from .offset import offset, rows_of


@jit
def pad(x, shape, y_strides, start, value, y):
    """Surround x with a value.

    x           flat
    shape       int64 (R,), walk over x
    y_strides   int64 (R,), of y in that walk, the last is 1
    start       position of x's first element in y
    value       the element outside x: the zero point of a quantised tensor
    y           flat, of x's type, written
    """
    for i in range(np.uintp(y.size)):
        y[i] = value
    n = np.uintp(shape[-1])
    for row in range(rows_of(shape)):
        source = np.uintp(row) * n
        target = np.uintp(start + offset(row, shape, y_strides))
        for i in range(n):
            y[target + i] = x[source + i]


@jit
def transpose(x, shape, x_strides, y):
    """Permute dimensions.

    x           flat
    shape       int64 (R,), walk over y
    x_strides   int64 (R,), of x in that walk
    y           flat, of x's type, written
    """
    n, step = np.uintp(shape[-1]), np.uintp(x_strides[-1])
    for row in range(rows_of(shape)):
        source = np.uintp(offset(row, shape, x_strides))
        target = np.uintp(row) * n
        for i in range(n):
            y[target + i] = x[source + i * step]
