"""Mean over any axes, int8 -> int8.

    y = clamp(zero_point + R(sum of (x - x_zero_point))),  1 / count is part of R's multiplier

Sources: TFLite reference_ops::QuantizedMeanOrSum.
"""

import numpy as np

from ..jit import jit
from .arith import int8_code, wrap32
from .offset import offset, rows_of


@jit
def mean(x, shape, y_strides, p, y, sums):
    """Sum along the reduced axes, then requantise.

    x           int8, flat
    shape       int64 (R,), walk over x, merged: no dimension of length 1 unless it is the only one
    y_strides   int64 (R,), of y in that walk: 0 along reduced axes
    p           Mean
    y           int8, flat, written
    sums        int32, as long as y, scratch; sums wrap
    """
    for o in range(np.uintp(y.size)):
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
    zero_points = p.cells * p.x_zero_point
    for o in range(np.uintp(y.size)):
        acc = wrap32(np.int64(sums[o]) - zero_points)
        y[o] = int8_code(acc, p.multiplier, p.shift, p.y_zero_point, p.act_min, p.act_max)
