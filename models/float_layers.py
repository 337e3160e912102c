"""Float layers with their gradients, NumPy only: what ``train_digits.py`` trains with.

Each layer is a pair ``name(x, w, ...) -> y`` and ``name_gradient(...)``, for real data of type
float64. Images are (N, H, W, C); conv weights (O, KH, KW, I), depthwise (1, KH, KW, C), fully
connected (O, I): the layouts of the int8 graph. Padding is TensorFlow's SAME.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def same_padding(size: int, kernel: int, stride: int) -> tuple[int, int]:
    """Cells before and after one axis of length `size`: the odd one goes after."""
    total = max((-(-size // stride) - 1) * stride + kernel - size, 0)
    return total // 2, total - total // 2


def windows(x: np.ndarray, kernel: int, stride: int) -> np.ndarray:
    """The patches a kernel sees: (N, H, W, C) -> (N, OH, OW, KH, KW, C), a view."""
    pad = [same_padding(size, kernel, stride) for size in x.shape[1:3]]
    padded = np.pad(x, [(0, 0), *pad, (0, 0)])
    views = sliding_window_view(padded, (kernel, kernel), axis=(1, 2))
    return views[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)


def scatter(patches: np.ndarray, shape: tuple[int, ...], stride: int) -> np.ndarray:
    """The transpose of `windows`: sum patches (N, OH, OW, KH, KW, C) back into `shape`."""
    count, height, width, kernel = patches.shape[:4]
    (top, bottom), (left, right) = (same_padding(size, kernel, stride) for size in shape[1:3])
    padded = np.zeros(
        (shape[0], shape[1] + top + bottom, shape[2] + left + right, shape[3]), patches.dtype
    )
    for row in range(kernel):
        for column in range(kernel):
            rows = slice(row, row + stride * height, stride)
            columns = slice(column, column + stride * width, stride)
            padded[:, rows, columns] += patches[:, :, :, row, column]
    return padded[:count, top : top + shape[1], left : left + shape[2]]


def conv(x: np.ndarray, w: np.ndarray, bias: np.ndarray, stride: int) -> np.ndarray:
    """``y[n,i,j,o] = bias[o] + sum x[n,i*s+kh,j*s+kw,c] * w[o,kh,kw,c]``."""
    patches = windows(x, w.shape[1], stride)
    flat = patches.reshape(*patches.shape[:3], -1)
    return flat @ w.reshape(len(w), -1).T + bias


def conv_gradient(
    x: np.ndarray, w: np.ndarray, stride: int, dy: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of `conv` in x, w and bias, given that of y (N, OH, OW, O)."""
    rows = dy.reshape(-1, dy.shape[-1])
    dpatches = (rows @ w.reshape(len(w), -1)).reshape(*dy.shape[:3], *w.shape[1:])
    return scatter(dpatches, x.shape, stride), *conv_slopes(x, w, stride, dy)


def conv_slopes(
    x: np.ndarray, w: np.ndarray, stride: int, dy: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The gradients in w and bias alone: all that a first layer needs."""
    rows = dy.reshape(-1, dy.shape[-1])
    patches = windows(x, w.shape[1], stride).reshape(len(rows), -1)
    return (rows.T @ patches).reshape(w.shape), rows.sum(0)


def depthwise(x: np.ndarray, w: np.ndarray, bias: np.ndarray, stride: int) -> np.ndarray:
    """``y[n,i,j,c] = bias[c] + sum x[n,i*s+kh,j*s+kw,c] * w[0,kh,kw,c]``."""
    return (windows(x, w.shape[1], stride) * w[0]).sum((3, 4)) + bias


def depthwise_gradient(
    x: np.ndarray, w: np.ndarray, stride: int, dy: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Gradients of `depthwise` in x, w and bias, given that of y (N, OH, OW, C)."""
    spread = dy[:, :, :, None, None]
    dw = (windows(x, w.shape[1], stride) * spread).sum((0, 1, 2))[None]
    return scatter(spread * w[0], x.shape, stride), dw, dy.sum((0, 1, 2))


def cross_entropy(logits: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
    """Mean loss in nat and its gradient (N, M) in the logits (N, M); labels (N,)."""
    shifted = logits - logits.max(1, keepdims=True)
    exponentials = np.exp(shifted)
    totals = exponentials.sum(1, keepdims=True)
    rows = np.arange(len(labels))
    loss = float((np.log(totals[:, 0]) - shifted[rows, labels]).mean())
    gradient = exponentials / totals
    gradient[rows, labels] -= 1.0
    return loss, gradient / len(labels)
