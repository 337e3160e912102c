"""LiteRT's softmax on x86: exponentials from a table, sums and products in float32."""

import numpy as np

from ..kernels.structs import SoftmaxX86


def softmax_x86(x: np.ndarray, p: SoftmaxX86) -> np.ndarray:
    """Softmax over the last dimension; the sum is formed in the order of the codes.

    x         int8 (..., D)
    returns   int8 (..., D), scale 1/256 and zero point -128
    """
    wide = x.astype(np.int64)
    exponentials = p.table[wide.max(-1, keepdims=True) - wide]
    total = np.add.accumulate(exponentials, -1, np.float32)[..., -1:]
    factor = np.float32(1) / (total * np.float32(1 / 256))
    shares = np.floor(exponentials * factor + np.float32(0.5)).astype(np.int64)
    return np.minimum(shares - 128, 127).astype(np.int8)
