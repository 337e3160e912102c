"""A head alone under q perturbations: one product with its weights, then only signs.

    acc_i = x*(W + k*z_i) + b = (x*W + b) + k*(x*z_i)

The sums are integers, so this is exact wherever accumulators wrap or cannot overflow; then the
weights need not be written q times. Letters: B batch, I features, C classes, S samples, N words of
64 signs that hold C*I.
"""

import numpy as np
from numpy.typing import NDArray

from npusim.kernels.structs import Requantization
from npusim.reference.requantize import requantize

from .prng import Stream, sign_bits, unpacked
from .twins import twin

SAMPLES_AT_ONCE = 64
"""Signs of so many samples are held at a time, C*I bits each."""


@twin
def base_accumulators(
    x: NDArray[np.int8],
    zero_point: int,
    weights: NDArray[np.int8],
    bias: NDArray[np.int32],
    acc: NDArray[np.int32],
) -> None:
    """acc (B, C) = bias (C,) + (x (B, I) - zero_point) weights (C, I)^T, wrapping to 32 bits."""
    deviation = x.astype(np.int64) - zero_point
    acc[:] = (bias + deviation @ weights.astype(np.int64).T).astype(np.int32)


@twin
def sampled_logits(
    x: NDArray[np.int8],
    zero_point: int,
    acc: NDArray[np.int32],
    bits: NDArray[np.uint64],
    k: int,
    r: Requantization,
    out: NDArray[np.int8],
) -> None:
    """out (S, B, C) = codes of acc (B, C) + k * (x (B, I) - zero_point) z^T.

    z (S, C*I) are the signs of bits (S, N), see `prng.sign_bits`.
    """
    deviation = x.astype(np.int64) - zero_point
    signs = unpacked(bits, acc.shape[1] * x.shape[1]).reshape(-1, x.shape[1]).astype(np.int64)
    product = (deviation @ signs.T).reshape(len(x), len(bits), -1).transpose(1, 0, 2)
    total = (acc + k * product).astype(np.int32)
    out[:] = requantize(total.astype(np.int64), r)


def logits_of_samples(
    x: NDArray[np.int8],
    zero_point: int,
    acc: NDArray[np.int32],
    r: Requantization,
    draw: tuple[Stream, int, int, int],
) -> NDArray[np.int8]:
    """Logits (S, B, C) of the samples that `draw` = (stream, first sample, S, k) names."""
    stream, first, samples, k = draw
    out = np.empty((samples, *acc.shape), np.int8)
    n = acc.shape[1] * x.shape[1]
    for start in range(0, samples, SAMPLES_AT_ONCE):
        part = out[start : start + SAMPLES_AT_ONCE]
        bits = sign_bits(stream, first + start, len(part), n)
        sampled_logits(x, zero_point, acc, bits, k, r, part)
    return out
