"""The compiled kernels under the reference's signatures: shaped arrays in, a new array out."""

from __future__ import annotations

import numpy as np

from npusim import strides
from npusim.headroom import AccumulatorError
from npusim.kernels import conv2d as conv2d_kernels
from npusim.kernels import depthwise_conv2d as depthwise_kernels
from npusim.kernels import elementwise, layout, ordered, pool, xnnpack
from npusim.kernels import fully_connected as fully_connected_kernels
from npusim.kernels import mean as mean_kernels
from npusim.kernels import quantize as quantize_kernels
from npusim.kernels import softmax as softmax_kernels
from npusim.kernels import softmax_x86 as softmax_x86_kernels
from npusim.kernels.structs import PIECE, Pairs


def conv2d(x, weights, bias, g, r, a=None):
    """The plain kernel, or the ordered one when an accumulator is given."""
    y = np.empty((g.n, g.oh, g.ow, g.o), np.int8)
    operands = (x.ravel(), weights.ravel(), bias, g, r)
    if a is None:
        patch = np.empty(weights[0].size, np.int16)
        acc = np.empty(g.ow * g.o, np.int32)
        conv2d_kernels.conv2d(*operands, y.reshape(-1), patch, acc)
        return y
    return _ordered(ordered.conv2d_ordered, operands, a, y)


def depthwise_conv2d(x, weights, bias, g, r, a=None):
    y = np.empty((g.n, g.oh, g.ow, g.o), np.int8)
    operands = (x.ravel(), weights.ravel(), bias, g, r)
    if a is None:
        acc = np.empty(g.ow * g.o, np.int32)
        depthwise_kernels.depthwise_conv2d(*operands, y.reshape(-1), acc)
        return y
    return _ordered(ordered.depthwise_conv2d_ordered, operands, a, y)


def fully_connected(x, weights, bias, g, r, a=None):
    y = np.empty((g.n, g.o), np.int8)
    operands = (x.ravel(), weights.ravel(), bias, g, r)
    if a is None:
        patch, acc = np.empty(g.i, np.int16), np.empty(g.o, np.int32)
        fully_connected_kernels.fully_connected(*operands, y.reshape(-1), patch, acc)
        return y
    return _ordered(ordered.fully_connected_ordered, operands, a, y)


def add(a, b, p, r):
    return _broadcast(elementwise.add, 3, a, b, p, r)


def add_xnnpack(a, b, p):
    return _broadcast(xnnpack.add_xnnpack, 2, a, b, p)


def mul(a, b, p, r):
    return _broadcast(elementwise.mul, 2, a, b, p, r)


def rescale(x, p, r, dtype):
    y = np.empty(x.shape, dtype)
    scratch = np.empty(PIECE, np.int32)
    elementwise.rescale(x.ravel(), p, r, y.reshape(-1), scratch)
    return y


def rescale_xnnpack(x, p):
    y = np.empty(x.shape, x.dtype)
    xnnpack.rescale_xnnpack(x.ravel(), p, y.reshape(-1))
    return y


def average_pool2d(x, g):
    y = np.empty((g.n, g.oh, g.ow, g.c), np.int8)
    pool.average_pool2d(x.ravel(), g, y.reshape(-1), np.empty(g.c, np.int32))
    return y


def max_pool2d(x, g):
    y = np.empty((g.n, g.oh, g.ow, g.c), np.int8)
    pool.max_pool2d(x.ravel(), g, y.reshape(-1))
    return y


def mean(x, axes, p, r, keep_dims=False):
    y = np.empty(x.sum(axes, keepdims=keep_dims).shape, np.int8)
    walk = strides.reduction(x.shape, axes)
    sums = np.empty(y.size, np.int32)
    flat = y.reshape(-1)
    mean_kernels.mean(x.ravel(), walk.shape, *walk.strides, p, r, flat, sums)
    return y


def mean_xnnpack(x, axes, p, keep_dims=False):
    y = np.empty(x.sum(axes, keepdims=keep_dims).shape, np.int8)
    walk = strides.reduction(x.shape, axes)
    sums = np.empty(y.size, np.int32)
    xnnpack.mean_xnnpack(x.ravel(), walk.shape, *walk.strides, p, y.reshape(-1), sums)
    return y


def softmax(x, p):
    y = np.empty(x.shape, np.int8)
    softmax_kernels.softmax(x.ravel(), p, y.reshape(-1), np.empty(p.depth, np.int32))
    return y


def softmax_x86(x, p):
    y = np.empty(x.shape, np.int8)
    softmax_x86_kernels.softmax_x86(x.ravel(), p, y.reshape(-1))
    return y


def quantize(x, p, dtype):
    y = np.empty(x.shape, dtype)
    quantize_kernels.quantize(x.ravel(), p, y.reshape(-1))
    return y


def dequantize(x, p):
    y = np.empty(x.shape, np.float32)
    quantize_kernels.dequantize(x.ravel(), p, y.reshape(-1))
    return y


def pad(x, padding, value):
    padded = [n + before + after for n, (before, after) in zip(x.shape, padding, strict=True)]
    y = np.empty(padded, x.dtype)
    walk, start = strides.placement(x.shape, padding)
    layout.pad(x.ravel(), walk.shape, *walk.strides, start, value, y.reshape(-1))
    return y


def transpose(x, permutation):
    y = np.empty([x.shape[axis] for axis in permutation], x.dtype)
    walk = strides.transposition(x.shape, permutation)
    layout.transpose(x.ravel(), walk.shape, *walk.strides, y.reshape(-1))
    return y


def _broadcast(kernel, pieces, a, b, *structs):
    y = np.empty(np.broadcast_shapes(a.shape, b.shape), np.int8)
    walk = strides.broadcast(a.shape, b.shape, y.shape)
    scratch = np.empty(pieces * PIECE, np.int32)
    pairs = Pairs(walk.shape, *walk.strides)
    kernel(a.ravel(), b.ravel(), *structs, pairs, y.reshape(-1), scratch)
    return y


def _ordered(kernel, operands, a, y):
    """Run an ordered kernel; an overflow it notes is raised as the reference raises it."""
    fault = np.full(2, -1, np.int64)
    acc, first = np.empty((2, y.shape[-1]), np.int64)
    kernel(*operands, a, y.reshape(-1), acc, first, fault)
    if fault[0] >= 0:
        raise AccumulatorError(int(fault[0]), int(fault[1]))
    return y
