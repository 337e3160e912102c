"""Slow twins of npusim's operators: loops over Python integers, one visible step at a time.

Tensors come in as nested sequences or arrays of codes and leave as int64 arrays. An `affine` is
(scale, zero_point); `quantization` holds one for each tensor in the operator's order, weights
having a list of scales, one per output channel or a single one. A `window` is (stride, dilation,
"SAME" or "VALID"). Scales are float32 values. Arithmetic: profile tflm.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .rounding import (
    LIMITS,
    activation_range,
    clamp,
    divide_away,
    quantize_multiplier,
    requantize_double_rounding,
    round_away,
    wrap32,
)

Affine = tuple[float, int]
Window = tuple[tuple[int, int], tuple[int, int], str]
Weighted = tuple[Affine, Sequence[float], Affine]
Step = Callable[[int, int], int]
ADD_LEFT_SHIFT = 20


def conv2d(
    x: Any, weights: Any, bias: Any, quantization: Weighted, window: Window, activation: str
) -> np.ndarray:
    """x (N, H, W, C), weights (O, KH, KW, I), bias (O) or None -> (N, OH, OW, O)."""
    acc = conv2d_accumulators(x, weights, bias, quantization[0][1], window)
    return requantize_channels(acc, quantization, activation)


def conv2d_accumulators(
    x: Any, weights: Any, bias: Any, x_zero_point: int, window: Window, step: Step = operator.add
) -> np.ndarray:
    """The sums of conv2d as Python integers.

    `step` adds a number to the accumulator: first the bias, then every product in the order kernel
    row, kernel column, input channel.
    """
    (n, h, w, c), (o, kh, kw, i) = np.shape(x), np.shape(weights)
    (oh, ow), origin = _output_size((h, w), (kh, kw), window)
    x, weights = np.asarray(x).tolist(), np.asarray(weights).tolist()
    per_group = o // (c // i)
    acc = np.zeros((n, oh, ow, o), object)
    for b, row, column, out in np.ndindex(acc.shape):
        first = out // per_group * i
        total = 0 if bias is None else step(0, int(bias[out]))
        for r, s, ih, iw in _cells((row, column), (kh, kw), (h, w), origin, window):
            for k in range(i):
                code = x[b][ih][iw][first + k]
                total = step(total, (code - x_zero_point) * weights[out][r][s][k])
        acc[b, row, column, out] = total
    return acc


def depthwise_conv2d(
    x: Any, weights: Any, bias: Any, quantization: Weighted, window: Window, activation: str
) -> np.ndarray:
    """x (N, H, W, C), weights (1, KH, KW, C*M), bias (C*M) or None -> (N, OH, OW, C*M)."""
    acc = depthwise_conv2d_accumulators(x, weights, bias, quantization[0][1], window)
    return requantize_channels(acc, quantization, activation)


def depthwise_conv2d_accumulators(
    x: Any, weights: Any, bias: Any, x_zero_point: int, window: Window, step: Step = operator.add
) -> np.ndarray:
    """The sums of depthwise_conv2d as Python integers; output channel c*M + m reads channel c."""
    (n, h, w, c), (_, kh, kw, o) = np.shape(x), np.shape(weights)
    (oh, ow), origin = _output_size((h, w), (kh, kw), window)
    x, weights = np.asarray(x).tolist(), np.asarray(weights).tolist()
    acc = np.zeros((n, oh, ow, o), object)
    for b, row, column, out in np.ndindex(acc.shape):
        total = 0 if bias is None else step(0, int(bias[out]))
        for r, s, ih, iw in _cells((row, column), (kh, kw), (h, w), origin, window):
            code = x[b][ih][iw][out // (o // c)]
            total = step(total, (code - x_zero_point) * weights[0][r][s][out])
        acc[b, row, column, out] = total
    return acc


def fully_connected(
    x: Any, weights: Any, bias: Any, quantization: Weighted, keep_dims: bool, activation: str
) -> np.ndarray:
    """x (..., I), weights (O, I), bias (O) or None -> (rows, O), or (..., O) with keep_dims."""
    acc = fully_connected_accumulators(x, weights, bias, quantization[0][1])
    y = requantize_channels(acc, quantization, activation)
    return y.reshape(*np.shape(x)[:-1], -1) if keep_dims else y


def fully_connected_accumulators(
    x: Any, weights: Any, bias: Any, x_zero_point: int, step: Step = operator.add
) -> np.ndarray:
    """The sums of fully_connected as Python integers, (rows, O)."""
    o, i = np.shape(weights)
    x, weights = np.reshape(x, (-1, i)).tolist(), np.asarray(weights).tolist()
    acc = np.zeros((len(x), o), object)
    for row, out in np.ndindex(acc.shape):
        total = 0 if bias is None else step(0, int(bias[out]))
        for k in range(i):
            total = step(total, (x[row][k] - x_zero_point) * weights[out][k])
        acc[row, out] = total
    return acc


def add(a: Any, b: Any, quantization: tuple[Affine, Affine, Affine], activation: str) -> np.ndarray:
    """a + b with broadcasting: operands times 2^20, two rescalings, a sum, a third one."""
    (a_scale, a_zero), (b_scale, b_zero), (y_scale, y_zero) = quantization
    twice_max = 2 * max(a_scale, b_scale)
    a_rule = quantize_multiplier(a_scale / twice_max)
    b_rule = quantize_multiplier(b_scale / twice_max)
    y_rule = quantize_multiplier(twice_max / (2**ADD_LEFT_SHIFT * y_scale))
    low, high = activation_range(activation, quantization[2])

    def one(a_code: int, b_code: int) -> int:
        scaled_a = requantize_double_rounding((a_code - a_zero) << ADD_LEFT_SHIFT, *a_rule)
        scaled_b = requantize_double_rounding((b_code - b_zero) << ADD_LEFT_SHIFT, *b_rule)
        total = requantize_double_rounding(scaled_a + scaled_b, *y_rule)
        return clamp(total + y_zero, low, high)

    return _pairwise(one, a, b)


def mul(a: Any, b: Any, quantization: tuple[Affine, Affine, Affine], activation: str) -> np.ndarray:
    """a * b with broadcasting."""
    (a_scale, a_zero), (b_scale, b_zero), (y_scale, y_zero) = quantization
    rule = quantize_multiplier(a_scale * b_scale / y_scale)
    low, high = activation_range(activation, quantization[2])

    def one(a_code: int, b_code: int) -> int:
        product = requantize_double_rounding((a_code - a_zero) * (b_code - b_zero), *rule)
        return clamp(product + y_zero, low, high)

    return _pairwise(one, a, b)


def average_pool2d(
    x: Any, kernel: tuple[int, int], window: Window, activation: str, affine: Affine
) -> np.ndarray:
    """Sum of a window's codes over the count of its cells inside the image."""
    return _pool(
        lambda codes: divide_away(sum(codes), len(codes)), x, kernel, window, (activation, affine)
    )


def max_pool2d(
    x: Any, kernel: tuple[int, int], window: Window, activation: str, affine: Affine
) -> np.ndarray:
    """The largest code of each window."""
    return _pool(max, x, kernel, window, (activation, affine))


def mean(
    x: Any, axes: Sequence[int], keep_dims: bool, quantization: tuple[Affine, Affine]
) -> np.ndarray:
    """Mean over axes; the division by the count is folded into the multiplier, truncated."""
    (x_scale, x_zero), (y_scale, y_zero) = quantization
    shape = np.shape(x)
    count = math.prod(shape[axis] for axis in axes)
    multiplier, shift = quantize_multiplier(x_scale / y_scale)
    fold = min(int(math.log2(count)), 32, 31 + shift)
    rule = (multiplier << fold) // count, shift - fold
    kept = [1 if axis in axes else size for axis, size in enumerate(shape)]
    sums = np.zeros(kept, object)
    for index in np.ndindex(shape):
        place = tuple(0 if axis in axes else i for axis, i in enumerate(index))
        sums[place] += int(x[index]) - x_zero
    y = _each(lambda acc: clamp(requantize_double_rounding(acc, *rule) + y_zero, -128, 127), sums)
    return y if keep_dims else y.reshape([n for axis, n in enumerate(shape) if axis not in axes])


def pad(x: Any, padding: Sequence[tuple[int, int]], value: int) -> np.ndarray:
    """`value` in padding[axis] = (before, after) new cells at the ends of every axis."""
    shape = [n + before + after for n, (before, after) in zip(np.shape(x), padding, strict=True)]
    y = np.full(shape, value, np.int64)
    for index in np.ndindex(np.shape(x)):
        y[tuple(i + before for i, (before, _) in zip(index, padding, strict=True))] = x[index]
    return y


def reshape(x: Any, shape: Sequence[int]) -> np.ndarray:
    """The same codes in another shape."""
    return np.array(np.asarray(x).ravel().tolist(), np.int64).reshape(shape)


def transpose(x: Any, permutation: Sequence[int]) -> np.ndarray:
    """Output axis i is input axis permutation[i]."""
    y = np.zeros([np.shape(x)[axis] for axis in permutation], np.int64)
    for index in np.ndindex(np.shape(x)):
        y[tuple(index[axis] for axis in permutation)] = x[index]
    return y


def quantize(x: Any, quantization: tuple[Affine | None, Affine], dtype: str) -> np.ndarray:
    """Real numbers (no input affine) or codes to codes of `dtype`."""
    source, (y_scale, y_zero) = quantization
    low, high = LIMITS[dtype]
    if source is None:
        ratios = np.asarray(x, np.float32) / np.float32(y_scale)
        return _each(lambda ratio: clamp(round_away(float(ratio)) + y_zero, low, high), ratios)
    x_scale, x_zero = source
    rule = quantize_multiplier(x_scale / y_scale)
    return _each(
        lambda c: clamp(requantize_double_rounding(c - x_zero, *rule) + y_zero, low, high), x
    )


def dequantize(x: Any, affine: Affine) -> np.ndarray:
    """scale * (code - zero_point) in float32."""
    scale, zero_point = affine
    reals = [np.float32(scale) * np.float32(code - zero_point) for code in np.ravel(x).tolist()]
    return np.array(reals, np.float32).reshape(np.shape(x))


def relu(x: Any, quantization: tuple[Affine, Affine]) -> np.ndarray:
    """max(x, 0), requantised."""
    return np.maximum(quantize(x, quantization, "int8"), quantization[1][1])


def relu6(x: Any, affine: Affine) -> np.ndarray:
    """min(max(x, 0), 6) in one quantisation."""
    low, high = activation_range("relu6", affine)
    return _each(lambda code: clamp(code, low, high), x)


def requantize_channels(acc: np.ndarray, quantization: Weighted, activation: str) -> np.ndarray:
    """The tail of every weighted operator: wrap, requantise, zero point, clamp."""
    (x_scale, _), w_scales, (y_scale, y_zero) = quantization
    channels = acc.shape[-1]
    scales = list(w_scales) * channels if len(w_scales) == 1 else w_scales
    rules = [quantize_multiplier(x_scale * w_scale / y_scale) for w_scale in scales]
    low, high = activation_range(activation, quantization[2])
    y = np.zeros(acc.shape, np.int64)
    for index in np.ndindex(acc.shape):
        scaled = requantize_double_rounding(wrap32(int(acc[index])), *rules[index[-1]])
        y[index] = clamp(scaled + y_zero, low, high)
    return y


def _output_size(
    size: tuple[int, int], kernel: tuple[int, int], window: Window
) -> tuple[tuple[int, int], tuple[int, int]]:
    """((OH, OW), (top, left)): output size and cells padded before the image."""
    stride, dilation, padding = window
    output, before = [], []
    for axis in range(2):
        reach = (kernel[axis] - 1) * dilation[axis] + 1
        if padding == "SAME":
            output.append(math.ceil(size[axis] / stride[axis]))
            missing = (output[axis] - 1) * stride[axis] + reach - size[axis]
            before.append(max(missing, 0) // 2)
        else:
            output.append((size[axis] - reach) // stride[axis] + 1)
            before.append(0)
    return (output[0], output[1]), (before[0], before[1])


def _cells(
    position: tuple[int, int],
    kernel: tuple[int, int],
    size: tuple[int, int],
    origin: tuple[int, int],
    window: Window,
) -> list[tuple[int, int, int, int]]:
    """(kernel row, kernel column, image row, image column) of the cells inside the image."""
    stride, dilation, _ = window
    cells = []
    for r, s in itertools.product(range(kernel[0]), range(kernel[1])):
        ih = position[0] * stride[0] - origin[0] + r * dilation[0]
        iw = position[1] * stride[1] - origin[1] + s * dilation[1]
        if 0 <= ih < size[0] and 0 <= iw < size[1]:
            cells.append((r, s, ih, iw))
    return cells


def _pool(
    reduce: Callable[[list[int]], int],
    x: Any,
    kernel: tuple[int, int],
    window: Window,
    output: tuple[str, Affine],
) -> np.ndarray:
    n, h, w, c = np.shape(x)
    (oh, ow), origin = _output_size((h, w), kernel, window)
    low, high = activation_range(*output)
    y = np.zeros((n, oh, ow, c), np.int64)
    for b, row, column, channel in np.ndindex(y.shape):
        cells = _cells((row, column), kernel, (h, w), origin, window)
        codes = [int(x[b, ih, iw, channel]) for _, _, ih, iw in cells]
        y[b, row, column, channel] = clamp(reduce(codes), low, high)
    return y


def _pairwise(one: Callable[[int, int], int], a: Any, b: Any) -> np.ndarray:
    a, b = np.broadcast_arrays(a, b)
    codes = [one(p, q) for p, q in zip(a.ravel().tolist(), b.ravel().tolist(), strict=True)]
    return np.array(codes, np.int64).reshape(a.shape)


def _each(one: Callable[[Any], int], x: Any) -> np.ndarray:
    codes = [one(code) for code in np.asarray(x).ravel().tolist()]
    return np.array(codes, np.int64).reshape(np.shape(x))
