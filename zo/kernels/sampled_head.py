"""A head under many perturbations, by a matrix of signs; see `zo.sampled_head`."""

import numpy as np

from npusim.jit import jit
from npusim.kernels.conv2d import dot
from npusim.kernels.requantize import requantize_rows


@jit
def base_accumulators(x, zero_point, weights, bias, acc):
    features = x.shape[1]
    flat = weights.reshape(-1)
    patch = np.empty(features, np.int16)
    for b in range(x.shape[0]):
        deviations(x[b], zero_point, patch)
        for c in range(bias.size):
            acc[b, c] = np.int32(bias[c] + dot(patch, flat, c * features, features))


@jit
def sampled_logits(x, zero_point, acc, z, k, r, out):
    features, classes = x.shape[1], acc.shape[1]
    patch = np.empty(features, np.int16)
    total = np.empty(classes, np.int32)
    for b in range(x.shape[0]):
        deviations(x[b], zero_point, patch)
        for sample in range(z.shape[0]):
            for c in range(classes):
                product = dot(patch, z[sample], c * features, features)
                total[c] = np.int32(acc[b, c] + k * product)
            requantize_rows(total, 1, classes, r, out[sample, b], 0)


@jit
def deviations(row, zero_point, patch):
    """patch (I,) int16 = row (I,) int8 - zero_point."""
    for i in range(row.size):
        patch[i] = np.int16(np.int16(row[i]) - zero_point)
