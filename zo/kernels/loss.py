"""Integer losses, one image at a time; see `zo.loss`."""

import numpy as np

from npusim.jit import jit

from .fixed_point import floor_log2

LN2_Q24 = np.int64(11629080)


@jit
def ln_q16(v, log):
    """2^16 * ln(v / 2^20) from the table of 257 logarithms in Q24."""
    e = floor_log2(v)
    f = ((v << 24) >> e) - (1 << 24)
    i, r = f >> 16, f & 65535
    slope = np.int64(log[i + 1]) - np.int64(log[i])
    y = (e - 20) * LN2_Q24 + np.int64(log[i]) + ((slope * r + (1 << 15)) >> 16)
    return (y + 128) >> 8


@jit
def cross_entropy(outputs, labels, exp, loss, log, sums):
    for sample in range(outputs.shape[0]):
        total = np.int64(0)
        for b in range(labels.size):
            a = outputs[sample, b]
            largest = np.int64(-128)
            for j in range(a.size):
                largest = max(largest, np.int64(a[j]))
            partition = np.int64(0)
            for j in range(a.size):
                partition += np.int64(exp[largest - a[j]])
            total += np.int64(loss[largest - a[labels[b]]]) + ln_q16(partition, log)
        sums[sample] = total


@jit
def squared_error(outputs, targets):
    total = np.int64(0)
    for i in range(outputs.size):
        difference = np.int64(outputs[i]) - np.int64(targets[i])
        total += difference * difference
    return total


@jit
def count_errors(outputs, labels):
    errors = 0
    for b in range(labels.size):
        best = 0
        for j in range(1, outputs.shape[1]):
            if outputs[b, j] > outputs[b, best]:
                best = j
        errors += best != labels[b]
    return errors
