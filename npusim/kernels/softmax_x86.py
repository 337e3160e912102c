"""LiteRT's softmax on x86, int8 -> int8: exponentials from a table, sums and products in float32.

    y = floor(table[max - x] * (1 / (sum * 2^-8)) + 1/2) - 128

Source: TFLite optimized_ops::Softmax with its table of exp(-beta * scale * difference).
"""

import numpy as np

from ..jit import jit

OUTPUT_SCALE = np.float32(1 / 256)
OUTPUT_ZERO_POINT = -128


@jit
def softmax_x86(x, p, y):
    """Softmax of each row; the sum is formed in the order of the codes.

    x   int8 (rows*depth,)
    p   SoftmaxX86
    y   int8 (rows*depth,), scale 1/256 and zero point -128, written
    """
    depth = np.uintp(p.depth)
    for row in range(p.rows):
        start = np.uintp(row) * depth
        largest = np.int8(-128)
        for i in range(depth):
            largest = max(largest, x[start + i])
        total = np.float32(0)
        for i in range(depth):
            total = total + p.table[np.uintp(np.int64(largest) - np.int64(x[start + i]))]
        factor = np.float32(1) / (total * OUTPUT_SCALE)
        for i in range(depth):
            share = p.table[np.uintp(np.int64(largest) - np.int64(x[start + i]))] * factor
            code = np.int32(np.floor(share + np.float32(0.5))) + OUTPUT_ZERO_POINT
            y[start + i] = min(code, 127)
