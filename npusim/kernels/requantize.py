"""The tail of weighted operators: int32 accumulators of one output position to codes.

    y[o] = clamp(requantize_<rule>(acc[o], multiplier[o], shift[o]) + zero_point, act_min, act_max)

The rule is chosen once per row of accumulators, so that each rule keeps a function of its own.
"""

import numpy as np

from ..jit import jit
from .arith import int8_code


@jit
def requantize_row(acc, n, channel, r, y, start):
    """Requantise a row of accumulators of neighbouring channels.

    acc       int32 or int64, the first n are read
    channel   output channel of acc[0]
    r         Requantization
    y         int8, flat; y[start : start + n] is written
    """
    first, position = np.uintp(channel), np.uintp(start)
    for i in range(np.uintp(n)):
        o = first + i
        y[position + i] = int8_code(
            acc[i], r.multiplier[o], r.shift[o], r.zero_point, r.act_min, r.act_max
        )
