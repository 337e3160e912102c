"""Mean over any axes, int8 -> int8.

    y = R(sum of (x - x_zero_point)),  1 / count is part of R's multiplier

Sources: TFLite reference_ops::QuantizedMeanOrSum.
"""

import numpy as np

from ..jit import jit
from .offset import offset, rows_of
from .requantize import requantize_rows, requantize_tensor


@jit
def mean(x, shape, y_strides, p, r, y, sums):
    """Sum along the reduced axes, then requantise.

    x           int8, flat
    shape       int64 (R,), walk over x, merged: no dimension of length 1 unless it is the only one
    y_strides   int64 (R,), of y in that walk: 0 along reduced axes
    p           Mean
    r           Requantization, of one multiplier or of one for each channel of y
    y           int8, flat, written
    sums        int32, as long as y, scratch; sums wrap
    """
    sum_codes(x, shape, y_strides, sums)
    zero_points = np.int32(p.cells * p.x_zero_point)
    for o in range(np.uintp(y.size)):
        sums[o] = np.int32(sums[o] - zero_points)
    channels = len(r.multiplier)
    if channels == 1:
        requantize_tensor(sums, y.size, r, y, 0)
    else:
        requantize_rows(sums, y.size // channels, channels, r, y, 0)


@jit
def sum_codes(x, shape, y_strides, sums):
    """sums = the codes of x added up along the axes whose stride in y is 0, modulo 2^32."""
    for o in range(np.uintp(sums.size)):
        sums[o] = 0
    n = np.uintp(shape[-1])
    for row in range(rows_of(shape)):
        source, target = np.uintp(row) * n, np.uintp(offset(row, shape, y_strides))
        if y_strides[-1] == 0:
            total = np.int32(0)
            for i in range(n):
                total = np.int32(total + np.int32(x[source + i]))
            sums[target] = np.int32(sums[target] + total)
        else:
            for i in range(n):
                sums[target + i] = np.int32(sums[target + i] + np.int32(x[source + i]))
