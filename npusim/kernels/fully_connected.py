"""Fully connected layer, (N,I) x (O,I), int8 x int8 -> int8.

    acc[n,o] = bias[o] + sum over i of (x[n,i] - x_zero_point) * w[o,i]

Sources: TFLite reference_integer_ops::FullyConnected and FullyConnectedPerChannel.
"""

import numpy as np

from ..jit import jit
from .conv2d import dot
from .requantize import requantize_rows


@jit
def fully_connected(x, weights, bias, g, r, y, patch, acc):
    """Multiply int8 rows by an int8 matrix, with int32 accumulators that wrap.

    x         int8 (N*I,)
    weights   int8 (O*I,)
    bias      int32 (O,)
    g         FullyConnected
    r         Requantization
    y         int8 (N*O,), written
    patch     int16 (I,), scratch: x - x_zero_point, |value| <= 255
    acc       int32 (O,), scratch
    """
    zero_point = np.int16(g.x_zero_point)
    for n in range(g.n):
        for i in range(g.i):
            patch[i] = np.int16(np.int16(x[n * g.i + i]) - zero_point)
        for o in range(g.o):
            acc[o] = np.int32(bias[o] + dot(patch, weights, o * g.i, g.i))
        requantize_rows(acc, 1, g.o, r, y, n * g.o)
