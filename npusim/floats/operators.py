"""The operators of float graphs: windows as rows of a matrix, one matrix product, the activation.

Images are NHWC, convolution weights OHWI, depthwise weights (1, KH, KW, C*M), fully connected
weights (O, I), as in the integer graph; sizes and padding are those of `npusim.shapes`. Every
function computes in the type of its arguments.
Letters: N H W C input, O output channels, I input channels of a group, KH KW kernel, OH OW output.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from ..shapes import Attributes, window_2d


def windows(
    x: np.ndarray, kernel: tuple[int, int], attributes: Attributes, fill: float = 0.0
) -> np.ndarray:
    """The patches a kernel sees: (N, H, W, C) -> (N, OH, OW, KH, KW, C), a view of the padded x.

    kernel       (KH, KW)
    attributes   "stride", "padding" and, if not (1, 1), "dilation"
    fill         the value of padded cells
    """
    (oh, top), (ow, left) = window_2d(attributes, x.shape[1], x.shape[2], kernel)
    (sh, sw), (dh, dw) = attributes["stride"], attributes.get("dilation", (1, 1))
    reach = ((kernel[0] - 1) * dh + 1, (kernel[1] - 1) * dw + 1)
    bottom = max((oh - 1) * sh + reach[0] - x.shape[1] - top, 0)
    right = max((ow - 1) * sw + reach[1] - x.shape[2] - left, 0)
    padding = [(0, 0), (top, bottom), (left, right), (0, 0)]
    padded = np.pad(x, padding, constant_values=fill)
    views = sliding_window_view(padded, reach, axis=(1, 2))
    views = views[:, : (oh - 1) * sh + 1 : sh, : (ow - 1) * sw + 1 : sw, :, ::dh, ::dw]
    return views.transpose(0, 1, 2, 4, 5, 3)


def conv2d(x: np.ndarray, w: np.ndarray, bias: np.ndarray, attributes: Attributes) -> np.ndarray:
    """`y[n,i,j,o] = bias[o] + sum x[n, i*sh + kh*dh - top, ...] * w[o,kh,kw,c]`, by groups.

    x         (N, H, W, C)
    w         (O, KH, KW, I), C / I groups
    bias      (O,)
    returns   (N, OH, OW, O), before the activation
    """
    groups = x.shape[3] // w.shape[3]
    patches = windows(x, w.shape[1:3], attributes)
    sums = [
        _rows(part) @ rows.reshape(len(rows), -1).T
        for part, rows in zip(np.split(patches, groups, 5), np.split(w, groups), strict=True)
    ]
    joined = sums[0] if groups == 1 else np.concatenate(sums, axis=1)
    return (joined + bias).reshape(*patches.shape[:3], len(w))


def depthwise_conv2d(
    x: np.ndarray, w: np.ndarray, bias: np.ndarray, attributes: Attributes
) -> np.ndarray:
    """`y[n,i,j,c*M+m] = bias[c*M+m] + sum x[n, i*sh + kh*dh - top, ..., c] * w[0,kh,kw,c*M+m]`.

    x         (N, H, W, C)
    w         (1, KH, KW, C*M)
    returns   (N, OH, OW, C*M), before the activation
    """
    _, kh, kw, outputs = w.shape
    patches = windows(x, (kh, kw), attributes)
    repeats = outputs // x.shape[3]
    y = np.zeros((*patches.shape[:3], outputs), np.result_type(x, w))
    for row, column in np.ndindex(kh, kw):
        y += np.repeat(patches[:, :, :, row, column], repeats, axis=3) * w[0, row, column]
    return y + bias


def fully_connected(
    x: np.ndarray, w: np.ndarray, bias: np.ndarray, attributes: Attributes
) -> np.ndarray:
    """`y[n,o] = bias[o] + sum x[n,i] * w[o,i]`; (N, ..., I) stays so where "keep_dims" says."""
    rows = x if attributes["keep_dims"] else x.reshape(-1, w.shape[1])
    return rows @ w.T + bias


def batch_norm(
    x: np.ndarray,
    constants: Sequence[np.ndarray],
    attributes: Attributes,
) -> np.ndarray:
    """`y = (x - mean) * gamma / sqrt(variance + epsilon) + beta`, by channel of the last axis.

    constants   gamma, beta, mean, variance, each (C,)
    """
    factor, shift = factor_and_shift(constants, attributes["epsilon"])
    return x * factor.astype(x.dtype) + shift.astype(x.dtype)


def factor_and_shift(
    constants: Sequence[np.ndarray], epsilon: float
) -> tuple[np.ndarray, np.ndarray]:
    """A batch norm as `y = factor * x + shift`: float64 (C,) each."""
    gamma, beta, mean, variance = (c.astype(np.float64) for c in constants)
    factor = gamma / np.sqrt(variance + epsilon)
    return factor, beta - mean * factor


def max_pool2d(x: np.ndarray, attributes: Attributes) -> np.ndarray:
    """The largest valid cell of every window: (N, H, W, C) -> (N, OH, OW, C)."""
    return windows(x, attributes["kernel"], attributes, -np.inf).max((3, 4))


def average_pool2d(x: np.ndarray, attributes: Attributes) -> np.ndarray:
    """The mean of every window's valid cells: (N, H, W, C) -> (N, OH, OW, C)."""
    cells = windows(np.ones((1, *x.shape[1:3], 1), x.dtype), attributes["kernel"], attributes)
    return windows(x, attributes["kernel"], attributes).sum((3, 4)) / cells.sum((3, 4))


def mean(x: np.ndarray, attributes: Attributes) -> np.ndarray:
    """The mean over "axes"."""
    return x.mean(attributes["axes"], keepdims=attributes["keep_dims"])


def pad(x: np.ndarray, attributes: Attributes) -> np.ndarray:
    """Zeros before and after, along each axis."""
    return np.pad(x, attributes["padding"])


def reshape(x: np.ndarray, attributes: Attributes) -> np.ndarray:
    """(N, ..) -> (N, ..): what follows the images is the target's."""
    return x.reshape(len(x), *attributes["shape"][1:])


def softmax(x: np.ndarray, attributes: Attributes) -> np.ndarray:
    """`exp(beta x) / sum exp(beta x)` over the last axis."""
    powers = np.exp((x - x.max(-1, keepdims=True)) * x.dtype.type(attributes["beta"]))
    return powers / powers.sum(-1, keepdims=True)


ACTIVATION: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda y: y,
    "relu": lambda y: np.maximum(y, y.dtype.type(0)),
    "relu6": lambda y: np.clip(y, y.dtype.type(0), y.dtype.type(6)),
    "relu_n1_to_1": lambda y: np.clip(y, y.dtype.type(-1), y.dtype.type(1)),
}


def linear(op: str, operands: Sequence[np.ndarray], attributes: Attributes) -> np.ndarray:
    """What an operator of `floats.legal.RULES` computes before its activation.

    operands   in the operator's order; an absent bias is left out
    """
    x, *others = operands
    if op in WEIGHTED:
        w = others[0]
        outputs = w.shape[3] if op == "depthwise_conv2d" else w.shape[0]
        bias = others[1] if len(others) > 1 else np.zeros(outputs, w.dtype)
        return WEIGHTED[op](x, w, bias, attributes)
    if op == "batch_norm":
        return batch_norm(x, others, attributes)
    if op == "add":
        return x + others[0]
    return _UNARY[op](x, attributes)


def activated(y: np.ndarray, attributes: Attributes) -> np.ndarray:
    """y behind the activation that an operator's attributes name, if they do."""
    return ACTIVATION[attributes.get("activation", "none")](y)


WEIGHTED: Mapping[str, Callable[[np.ndarray, np.ndarray, np.ndarray, Any], np.ndarray]] = {
    "conv2d": conv2d,
    "depthwise_conv2d": depthwise_conv2d,
    "fully_connected": fully_connected,
}
WINDOWED = ("conv2d", "depthwise_conv2d")
"""Operators whose own padding is zeros."""
_UNARY: Mapping[str, Callable[[np.ndarray, Attributes], np.ndarray]] = {
    "max_pool2d": max_pool2d,
    "average_pool2d": average_pool2d,
    "mean": mean,
    "pad": pad,
    "reshape": reshape,
    "softmax": softmax,
    "relu": lambda x, _: ACTIVATION["relu"](x),
    "relu6": lambda x, _: ACTIVATION["relu6"](x),
}


def _rows(patches: np.ndarray) -> np.ndarray:
    """(N, OH, OW, KH, KW, I) -> (N*OH*OW, KH*KW*I)."""
    return patches.reshape(-1, int(np.prod(patches.shape[3:])))
