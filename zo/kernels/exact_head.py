"""The exact head's error and outer product; see `zo.exact_head`."""

import numpy as np

from npusim.jit import jit


@jit
def fill_error(logits, labels, exp, error):
    for b in range(labels.size):
        a = logits[b]
        largest = np.int64(-128)
        for j in range(a.size):
            largest = max(largest, np.int64(a[j]))
        total = np.int64(0)
        for j in range(a.size):
            total += np.int64(exp[largest - a[j]])
        for j in range(a.size):
            weight = np.int64(exp[largest - a[j]])
            err = ((weight << 16) + (total >> 1)) // total
            if j == labels[b]:
                err -= 1 << 16
            # The rail gate: a saturated logit cannot follow an error that pushes it outwards.
            if (a[j] == 127 and err < 0) or (a[j] == -128 and err > 0):
                err = np.int64(0)
            error[b, j] = err


@jit
def outer_product(error, x, zero_point, gradient):
    gradient[:] = 0
    for c in range(gradient.shape[0]):
        row = gradient[c]
        for b in range(x.shape[0]):
            err = np.int64(error[b, c])
            features = x[b]
            for d in range(features.size):
                row[d] += err * (np.int64(features[d]) - zero_point)
