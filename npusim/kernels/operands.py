"""Reading a row of the operation table: operands as arrays, numbers as structs."""

import numpy as np

from ..jit import jit
from . import table


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
def real(row, slot, constants):
    """A float32 from the constants."""
    column = table.OPERANDS + slot * table.OPERAND_COLUMNS
    start = row[column + 1]
    return constants[start : start + 4].view(np.float32)[0]


@jit
def copy(source, start, target, position, n):
    """target[position : position + n] = source[start : start + n]"""
    target[position : position + n] = source[start : start + n]
