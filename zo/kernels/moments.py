"""Sums of a layer's output per channel; see `zo.moments`."""

import numpy as np

from npusim.jit import jit


@jit
def add_sums(values, zero_point, sums):
    total, squares = sums[0], sums[1]
    for n in range(values.shape[0]):
        row = values[n]
        for c in range(row.size):
            d = np.int64(row[c]) - zero_point
            total[c] += d
            squares[c] += d * d
