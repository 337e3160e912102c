"""Float warm-up of a head, one sum at a time; see `zo.warm_up`."""

import math

import numpy as np

from npusim.jit import jit

LOG2_E = 1.4426950408889634
LN2_HIGH = 0.6931471803691238
LN2_LOW = 1.9082149292705877e-10
EXP_TERMS = tuple(1.0 / math.factorial(n) for n in range(1, 14))


@jit
def exp(x):
    if x < -700.0:
        return 0.0
    n = math.floor(x * LOG2_E + 0.5)
    r = (x - n * LN2_HIGH) - n * LN2_LOW
    series = 0.0
    for i in range(len(EXP_TERMS) - 1, -1, -1):
        series = (series + EXP_TERMS[i]) * r
    return math.ldexp(series + 1.0, np.int32(n))


@jit
def logits(x, weights, bias, out):
    # Classes inside features: each logit still sums from the first feature on, and the compiler
    # can take several classes at once.
    columns = weights.T.copy()
    for b in range(x.shape[0]):
        row = out[b]
        row[:] = bias
        for i in range(x.shape[1]):
            for o in range(row.size):
                row[o] += x[b, i] * columns[i, o]


@jit
def descend(x, labels, weights, bias, rate):
    error = np.empty((x.shape[0], weights.shape[0]))
    logits(x, weights, bias, error)
    for b in range(x.shape[0]):
        row = error[b]
        top = row.max()
        total = 0.0
        for o in range(row.size):
            row[o] = exp(row[o] - top)
            total += row[o]
        for o in range(row.size):
            row[o] /= total
        row[labels[b]] -= 1.0
    gradient = np.zeros_like(weights)
    bias_gradient = np.zeros_like(bias)
    for b in range(x.shape[0]):
        for o in range(bias.size):
            bias_gradient[o] += error[b, o]
            for i in range(x.shape[1]):
                gradient[o, i] += error[b, o] * x[b, i]
    for o in range(bias.size):
        bias[o] -= rate * bias_gradient[o]
        for i in range(x.shape[1]):
            weights[o, i] -= rate * gradient[o, i]
