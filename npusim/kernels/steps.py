"""From a row of the operation table to a kernel's call, by family."""

import numpy as np
from numba.np.unsafe.ndarray import to_fixed_tuple

from ..jit import jit
from . import table
from .conv2d import conv2d
from .depthwise_conv2d import depthwise_conv2d
from .elementwise import add, mul, rescale
from .fully_connected import fully_connected
from .layout import pad, transpose
from .mean import mean
from .operands import int32_operand, operand, pairs, reals, requantization, rounding, vector
from .ordered import conv2d_ordered, depthwise_conv2d_ordered, fully_connected_ordered
from .pool import average_pool2d, max_pool2d
from .quantize import dequantize, quantize
from .softmax import softmax
from .softmax_x86 import softmax_x86
from .structs import (
    Accumulation,
    Add,
    AddXnnpack,
    Conv2d,
    Dequantize,
    FullyConnected,
    Mean,
    MeanXnnpack,
    Mul,
    Pool2d,
    Quantize,
    Rescale,
    RescaleXnnpack,
    Softmax,
    SoftmaxX86,
)
from .xnnpack import add_xnnpack, mean_xnnpack, rescale_xnnpack

P = table.PARAMETERS


@jit
def weighted_step(row, arena, constants, fault):
    """conv2d, depthwise_conv2d, fully_connected and their ordered twins."""
    operation = row[table.OPERATION]
    x, y = operand(row, table.X, arena, constants), operand(row, table.Y, arena, constants)
    weights = operand(row, table.WEIGHTS, arena, constants)
    bias = int32_operand(row, table.BIAS, arena, constants)
    patch = operand(row, table.SCRATCH, arena, constants).view(np.int16)
    sums = operand(row, table.SUMS, arena, constants)
    if operation == table.CONV2D:
        g, r, _ = conv_structs(row, arena, constants)
        conv2d(x, weights, bias, g, r, y, patch, sums.view(np.int32))
    elif operation == table.DEPTHWISE_CONV2D:
        g, r, _ = conv_structs(row, arena, constants)
        depthwise_conv2d(x, weights, bias, g, r, y, sums.view(np.int32))
    elif operation == table.FULLY_CONNECTED:
        f, r, _ = fully_connected_structs(row, arena, constants)
        fully_connected(x, weights, bias, f, r, y, patch, sums.view(np.int32))
    elif operation == table.CONV2D_ORDERED:
        g, r, a = conv_structs(row, arena, constants)
        conv2d_ordered(x, weights, bias, g, r, a, y, *halves(sums), fault)
    elif operation == table.DEPTHWISE_CONV2D_ORDERED:
        g, r, a = conv_structs(row, arena, constants)
        depthwise_conv2d_ordered(x, weights, bias, g, r, a, y, *halves(sums), fault)
    else:
        f, r, a = fully_connected_structs(row, arena, constants)
        fully_connected_ordered(x, weights, bias, f, r, a, y, *halves(sums), fault)


@jit
def halves(scratch):
    """Two int64 arrays of equal length in one piece of scratch."""
    wide = scratch.view(np.int64)
    half = len(wide) // 2
    return wide[:half], wide[half:]


@jit
def conv_structs(row, arena, constants):
    """(Conv2d, Requantization, Accumulation) of a convolution's row."""
    r, a = tail_structs(row, P + 17, arena, constants)
    return Conv2d(*to_fixed_tuple(row[P : P + 17], 17)), r, a


@jit
def fully_connected_structs(row, arena, constants):
    """(FullyConnected, Requantization, Accumulation) of a fully connected layer's row."""
    r, a = tail_structs(row, P + 4, arena, constants)
    return FullyConnected(*to_fixed_tuple(row[P : P + 4], 4)), r, a


@jit
def tail_structs(row, start, arena, constants):
    """(Requantization, Accumulation), their numbers from column `start` on."""
    r = requantization(row, start, arena, constants)
    return r, Accumulation(row[start + table.TAIL], row[start + table.TAIL + 1])


@jit
def elementwise_step(row, arena, constants):
    """add and mul."""
    operation = row[table.OPERATION]
    a, b = operand(row, table.X, arena, constants), operand(row, table.WEIGHTS, arena, constants)
    y = operand(row, table.Y, arena, constants)
    scratch = int32_operand(row, table.SCRATCH, arena, constants)
    walk = pairs(row, constants)
    if operation == table.ADD:
        left = requantization(row, P + 4, arena, constants, 0, 3)
        right = requantization(row, P + 4 + table.TAIL, arena, constants, 1, 3)
        p = Add(row[P], row[P + 1], row[P + 2], row[P + 3], left, right)
        r = requantization(row, P + 4 + 2 * table.TAIL, arena, constants, 2, 3)
        add(a, b, p, r, walk, y, scratch)
    elif operation == table.MUL:
        r = requantization(row, P + 2, arena, constants)
        mul(a, b, Mul(row[P], row[P + 1]), r, walk, y, scratch)
    else:
        add_xnnpack(a, b, AddXnnpack(*to_fixed_tuple(row[P : P + 8], 8)), walk, y, scratch)


@jit
def reduction_step(row, arena, constants):
    """Pools, mean and softmax."""
    operation = row[table.OPERATION]
    x, y = operand(row, table.X, arena, constants), operand(row, table.Y, arena, constants)
    sums = int32_operand(row, table.SCRATCH, arena, constants)
    if operation == table.MEAN or operation == table.MEAN_XNNPACK:
        mean_step(row, arena, constants)
    elif operation == table.SOFTMAX:
        softmax(x, Softmax(*to_fixed_tuple(row[P : P + 5], 5)), y, sums)
    elif operation == table.SOFTMAX_X86:
        softmax_x86(x, SoftmaxX86(row[P], row[P + 1], reals(row, table.V0, constants)), y)
    else:
        g = Pool2d(*to_fixed_tuple(row[P : P + 14], 14))
        if operation == table.AVERAGE_POOL2D:
            average_pool2d(x, g, y, sums)
        else:
            max_pool2d(x, g, y)


@jit
def mean_step(row, arena, constants):
    """mean and mean_xnnpack."""
    x, y = operand(row, table.X, arena, constants), operand(row, table.Y, arena, constants)
    sums = int32_operand(row, table.SCRATCH, arena, constants)
    shape, strides = vector(row, table.V0, constants), vector(row, table.V1, constants)
    if row[table.OPERATION] == table.MEAN:
        r = requantization(row, P + 2, arena, constants)
        mean(x, shape, strides, Mean(row[P], row[P + 1]), r, y, sums)
    else:
        numbers = reals(row, table.V2, constants)
        p = MeanXnnpack(numbers[0], numbers[1], row[P], row[P + 1])
        mean_xnnpack(x, shape, strides, p, y, sums)


@jit
def data_step(row, arena, constants):
    """pad, transpose, move, quantize, dequantize and rescale."""
    operation = row[table.OPERATION]
    x, y = operand(row, table.X, arena, constants), operand(row, table.Y, arena, constants)
    if operation == table.PAD:
        pad_step(row, x, y, constants)
    elif operation == table.TRANSPOSE:
        transpose_step(row, x, y, constants)
    elif operation == table.MOVE:
        for i in range(np.uintp(y.size)):
            y[i] = x[i]
    elif operation < table.DEQUANTIZE:
        quantize_step(row, x, y, constants)
    elif operation < table.RESCALE:
        dequantize_step(row, x, y, constants)
    elif operation < table.RESCALE_XNNPACK:
        rescale_step(row, x, y, arena, constants)
    else:
        rescale_xnnpack(x, RescaleXnnpack(*to_fixed_tuple(row[P : P + 5], 5)), y)


@jit
def pad_step(row, x, y, constants):
    """pad, by the elements' size."""
    shape, strides = vector(row, table.V0, constants), vector(row, table.V1, constants)
    start, value, size = row[P], row[P + 1], row[P + 2]
    if size == 1:
        pad(x, shape, strides, start, np.int8(value), y)
    elif size == 2:
        pad(x.view(np.int16), shape, strides, start, np.int16(value), y.view(np.int16))
    elif size == 4:
        pad(x.view(np.int32), shape, strides, start, np.int32(value), y.view(np.int32))
    else:
        pad(x.view(np.int64), shape, strides, start, value, y.view(np.int64))


@jit
def transpose_step(row, x, y, constants):
    """transpose, by the elements' size."""
    shape, strides = vector(row, table.V0, constants), vector(row, table.V1, constants)
    if row[P] == 1:
        transpose(x, shape, strides, y)
    elif row[P] == 2:
        transpose(x.view(np.int16), shape, strides, y.view(np.int16))
    elif row[P] == 4:
        transpose(x.view(np.int32), shape, strides, y.view(np.int32))
    else:
        transpose(x.view(np.int64), shape, strides, y.view(np.int64))


@jit
def quantize_step(row, x, y, constants):
    """quantize, by the type of the codes (table.CODE_TYPES)."""
    p = Quantize(reals(row, table.V0, constants)[0], row[P], rounding(row, P + 1))
    code = row[table.OPERATION] - table.QUANTIZE
    if code == 0:
        quantize(x.view(np.float32), p, y)
    elif code == 1:
        quantize(x.view(np.float32), p, y.view(np.uint8))
    else:
        quantize(x.view(np.float32), p, y.view(np.int16))


@jit
def dequantize_step(row, x, y, constants):
    """dequantize, by the type of the codes (table.CODE_TYPES)."""
    p = Dequantize(reals(row, table.V0, constants)[0], row[P], rounding(row, P + 1))
    code = row[table.OPERATION] - table.DEQUANTIZE
    if code == 0:
        dequantize(x, p, y.view(np.float32))
    elif code == 1:
        dequantize(x.view(np.uint8), p, y.view(np.float32))
    else:
        dequantize(x.view(np.int16), p, y.view(np.float32))


@jit
def rescale_step(row, x, y, arena, constants):
    """rescale, by the pair of types (table.RESCALES)."""
    p, r = Rescale(row[P]), requantization(row, P + 1, arena, constants)
    acc = int32_operand(row, table.SCRATCH, arena, constants)
    pair = row[table.OPERATION] - table.RESCALE
    if pair == 0:
        rescale(x, p, r, y, acc)
    elif pair == 1:
        rescale(x, p, r, y.view(np.uint8), acc)
    elif pair == 2:
        rescale(x, p, r, y.view(np.int16), acc)
    elif pair == 3:
        rescale(x, p, r, y.view(np.int32), acc)
    elif pair == 4:
        rescale(x.view(np.uint8), p, r, y, acc)
    elif pair == 5:
        rescale(x.view(np.int16), p, r, y, acc)
    elif pair == 6:
        rescale(x.view(np.int16), p, r, y.view(np.int16), acc)
    elif pair == 7:
        rescale(x.view(np.int16), p, r, y.view(np.int32), acc)
    elif pair == 8:
        rescale(x.view(np.int32), p, r, y, acc)
    else:
        rescale(x.view(np.int32), p, r, y.view(np.int16), acc)
