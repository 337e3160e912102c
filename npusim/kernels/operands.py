"""Reading a row of the operation table: operands as arrays, numbers as structs."""

import numpy as np

from ..jit import jit
from . import table
from .structs import Pairs, Requantization, Rounding


@jit
def operand(row, slot, arena, constants):
    """The bytes of one operand, int8."""
    column = table.OPERANDS + slot * table.OPERAND_COLUMNS
    start = row[column + 1]
    stop = start + row[column + 2]
    if row[column] == table.ARENA:
        return arena[start:stop]
    return constants[start:stop]


@jit
def int32_operand(row, slot, arena, constants):
    """One operand as int32."""
    return operand(row, slot, arena, constants).view(np.int32)


@jit
def vector(row, slot, constants):
    """A vector of numbers from the constants, int64."""
    column = table.OPERANDS + slot * table.OPERAND_COLUMNS
    start = row[column + 1]
    return constants[start : start + row[column + 2]].view(np.int64)


@jit
def reals(row, slot, constants):
    """Numbers from the constants, float32."""
    column = table.OPERANDS + slot * table.OPERAND_COLUMNS
    start = row[column + 1]
    return constants[start : start + row[column + 2]].view(np.float32)


@jit
def rounding(row, start):
    """A Rounding, its numbers from column `start` on."""
    return Rounding(row[start], row[start + 1], row[start + 2])


@jit
def requantization(row, start, arena, constants, place=0, count=1):
    """A Requantization, its numbers from column `start` on.

    place, count   which one it is of those that share the row's multipliers, shifts and scales
    """
    multiplier = int32_operand(row, table.MULTIPLIER, arena, constants)
    shift = int32_operand(row, table.SHIFT, arena, constants)
    scale = operand(row, table.SCALE, arena, constants).view(np.float64)
    n = len(multiplier) // count
    first, last = place * n, (place + 1) * n
    return Requantization(multiplier[first:last], shift[first:last], scale[first:last],
                          row[start], row[start + 1], row[start + 2],
                          rounding(row, start + 3))  # fmt: skip


@jit
def pairs(row, constants):
    """The walk of an operator on two operands."""
    return Pairs(vector(row, table.V0, constants), vector(row, table.V1, constants),
                 vector(row, table.V2, constants))  # fmt: skip


@jit
def copy(source, start, target, position, n):
    """target[position : position + n] = source[start : start + n]"""
    target[position : position + n] = source[start : start + n]
