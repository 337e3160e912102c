"""The compiled executor: walks an operation table for a slice of images, without the GIL.

Nothing is specialised per model: one compiled function serves every graph.
"""

import numpy as np
from numba.np.unsafe.ndarray import to_fixed_tuple

from ..jit import jit
from . import table
from .conv2d import conv2d
from .depthwise_conv2d import depthwise_conv2d
from .fully_connected import fully_connected
from .ordered import conv2d_ordered, depthwise_conv2d_ordered, fully_connected_ordered
from .structs import Accumulation, Conv2d, FullyConnected, Requantization

P = table.PARAMETERS


@jit
def execute(rows, arena, constants, loads, source, stores, sink, fault):
    """Run the operations once per image.

    rows        int64 (nodes, WIDTH), the part of the table to run
    arena       int8, this thread's memory
    constants   int8
    loads       int64 (n, 3): column of source, arena offset, bytes; copied in before the first node
    source      int8 (images, ..)
    stores      int64 (n, 3): column of sink, arena offset, bytes; copied out after the last node
    sink        int8 (images, ..), written
    fault       int64 (4,): image, node, output index, sum of the first overflow; image -1 if none
    """
    for image in range(source.shape[0]):
        for i in range(loads.shape[0]):
            copy(source[image], loads[i, 0], arena, loads[i, 1], loads[i, 2])
        for k in range(rows.shape[0]):
            step(rows[k], arena, constants, fault[2:])
            if fault[2] >= 0:
                fault[0] = image
                fault[1] = rows[k, table.NODE]
                return
        for i in range(stores.shape[0]):
            copy(arena, stores[i, 1], sink[image], stores[i, 0], stores[i, 2])


@jit
def copy(source, start, target, position, n):
    """target[position : position + n] = source[start : start + n]"""
    target[position : position + n] = source[start : start + n]


@jit
def step(row, arena, constants, fault):
    """Execute one row of the table."""
    operation = row[table.OPERATION]
    x = operand(row, table.X, arena, constants)
    y = operand(row, table.Y, arena, constants)
    if operation <= table.FULLY_CONNECTED_ORDERED:
        weighted(row, x, y, arena, constants, fault)
    elif operation == table.MOVE and row[3] != row[3 + 3 * table.Y]:
        y[:] = x


@jit
def operand(row, slot, arena, constants):
    """The bytes of one operand."""
    column = table.OPERANDS + slot * table.OPERAND_COLUMNS
    start = row[column + 1]
    stop = start + row[column + 2]
    if row[column] == table.ARENA:
        return arena[start:stop]
    return constants[start:stop]


@jit
def weighted(row, x, y, arena, constants, fault):
    """conv2d, depthwise_conv2d, fully_connected and their ordered twins."""
    operation = row[table.OPERATION]
    weights = operand(row, table.WEIGHTS, arena, constants)
    bias = operand(row, table.BIAS, arena, constants).view(np.int32)
    scratch = operand(row, table.SCRATCH, arena, constants)
    sums = operand(row, table.SUMS, arena, constants)
    multiplier = operand(row, table.MULTIPLIER, arena, constants).view(np.int32)
    shift = operand(row, table.SHIFT, arena, constants).view(np.int32)
    fields = 4 if operation >= table.FULLY_CONNECTED else 17
    tail = row[P + fields : P + fields + 6]
    r = Requantization(multiplier, shift, tail[0], tail[1], tail[2], tail[3])
    a = Accumulation(tail[4], tail[5])
    if operation >= table.FULLY_CONNECTED:
        g = FullyConnected(*to_fixed_tuple(row[P : P + 4], 4))
        if operation == table.FULLY_CONNECTED:
            patch = scratch.view(np.int16)
            fully_connected(x, weights, bias, g, r, y, patch, sums.view(np.int32))
        else:
            fully_connected_ordered(x, weights, bias, g, r, a, y, sums.view(np.int64), fault)
        return
    c = Conv2d(*to_fixed_tuple(row[P : P + 17], 17))
    if operation == table.CONV2D:
        conv2d(x, weights, bias, c, r, y, scratch.view(np.int16), sums.view(np.int32))
    elif operation == table.CONV2D_ORDERED:
        conv2d_ordered(x, weights, bias, c, r, a, y, sums.view(np.int64), fault)
    elif operation == table.DEPTHWISE_CONV2D:
        depthwise_conv2d(x, weights, bias, c, r, y, sums.view(np.int32))
    else:
        depthwise_conv2d_ordered(x, weights, bias, c, r, a, y, sums.view(np.int64), fault)
