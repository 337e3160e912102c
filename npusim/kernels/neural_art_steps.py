"""From a row of the operation table to a call of Neural-ART's kernels."""

import numpy as np
from numba.np.unsafe.ndarray import to_fixed_tuple

from ..jit import jit
from . import table
from .neural_art import conv2d, depthwise_conv2d, fully_connected
from .neural_art_units import add, mean
from .operands import int32_operand, operand, vector
from .structs import Conv2d, FullyConnected, NeuralArt, NeuralArtAdd, NeuralArtMean

P = table.PARAMETERS


@jit
def neural_art_step(row, arena, constants):
    """The operators that run on Neural-ART."""
    operation = row[table.OPERATION]
    x, y = operand(row, table.X, arena, constants), operand(row, table.Y, arena, constants)
    if operation == table.NEURAL_ART_ADD:
        b = operand(row, table.WEIGHTS, arena, constants)
        shape, a_strides = vector(row, table.V0, constants), vector(row, table.V1, constants)
        p = NeuralArtAdd(*to_fixed_tuple(row[P : P + 11], 11))
        add(x, b, p, shape, a_strides, vector(row, table.V2, constants), y)
    elif operation == table.NEURAL_ART_MEAN:
        sums = int32_operand(row, table.SCRATCH, arena, constants)
        mean(x, NeuralArtMean(*to_fixed_tuple(row[P : P + 10], 10)), y, sums)
    else:
        neural_art_weighted_step(row, arena, constants, x, y)


@jit
def neural_art_weighted_step(row, arena, constants, x, y):
    """conv2d, depthwise_conv2d, fully_connected."""
    weights = operand(row, table.WEIGHTS, arena, constants)
    patch = operand(row, table.SCRATCH, arena, constants).view(np.int16)
    if row[table.OPERATION] == table.NEURAL_ART_FULLY_CONNECTED:
        f = FullyConnected(*to_fixed_tuple(row[P : P + 4], 4))
        fully_connected(x, weights, f, tail(row, P + 4, arena, constants), y, patch)
        return
    g = Conv2d(*to_fixed_tuple(row[P : P + 17], 17))
    r = tail(row, P + 17, arena, constants)
    if row[table.OPERATION] == table.NEURAL_ART_CONV2D:
        conv2d(x, weights, g, r, y, patch)
    else:
        sums = operand(row, table.SUMS, arena, constants).view(np.int64)
        depthwise_conv2d(x, weights, g, r, y, sums[: g.o], sums[g.o :])


@jit
def tail(row, start, arena, constants):
    """NeuralArt, its numbers from column `start` on."""
    a_c = int32_operand(row, table.MULTIPLIER, arena, constants)
    bc_c = int32_operand(row, table.BIAS, arena, constants)
    runs = vector(row, table.V0, constants).reshape(-1, 3)
    return NeuralArt(a_c, bc_c, runs, *to_fixed_tuple(row[start : start + 10], 10))
