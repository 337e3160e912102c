"""The exact gradient of a last fully connected layer: one forward, an outer product.

    p_j = ((E_j << 16) + (S >> 1)) div S,   S = sum_j E_j
    err = p - 65536*onehot, and 0 where a = 127 with err < 0 or a = -128 with err > 0
    g[c, d] = sum_b err[b, c] * (x[b, d] - zp_x)

A logit at its rail cannot move further that way; without that gate 11-28 % of the weights run to
their own rails. No layer needs a backward kernel. Use it when the features can be read and only the
head is trained; zeroth order is for layers below, fused graphs and losses without derivative.
"""

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from .fixed_point import Ratio, ratios
from .loss import CrossEntropy, check_labels
from .twins import twin
from .update import FRACTION_BITS

ERROR_BITS = 16
MAX_BATCH = 1 << 20


def head_error(
    logits: NDArray[np.int8], labels: NDArray[np.int64], loss: CrossEntropy
) -> NDArray[np.int32]:
    """Derivative of the loss by each logit, gated at the rails.

    logits    int8 (B, C), scale and zero point 0 as in `loss`
    labels    int64 (B,)
    returns   int32 (B, C) in 2^-16, |err| <= 65536
    """
    check_labels(labels, loss.classes)
    error = np.empty(logits.shape, np.int32)
    fill_error(np.ascontiguousarray(logits), labels, loss.exp, error)
    return error


def head_gradient(
    error: NDArray[np.int32], x: NDArray[np.int8], zero_point: int
) -> NDArray[np.int64]:
    """sum_b err[b, c] * (x[b, d] - zp_x): int64 (C*D,), row-major as the weights (C, D).

    error   int32 (B, C) from `head_error`
    x       int8 (B, D), the head's input; for trainable biases ones (B, 1) with zero point 0
    raises  ValueError for batches above 2^20, where the sum could leave int64 in the next step
    """
    if len(error) > MAX_BATCH or len(error) != len(x):
        raise ValueError(f"exact head: batches must be equal, at most {MAX_BATCH}, got "
                         f"{len(error)} errors and {len(x)} inputs")  # fmt: skip
    gradient = np.empty((error.shape[1], x.shape[1]), np.int64)
    outer_product(error, np.ascontiguousarray(x), zero_point, gradient)
    return gradient.reshape(-1)


def head_scale(input_scale: float, weight_scales: Sequence[float], batch: int) -> Ratio:
    """(A_c, sh_c) of `gh = rs(g*A_c, sh_c)`: A_c*2^-sh_c = s_x*S_w[c]*2^F/B; made before training.

    weight_scales   S_w (C,); for biases times the channel's unit
    batch           B
    raises          as `doubled_scale`
    """
    step = Fraction(float(input_scale)) * 2**FRACTION_BITS / batch
    scale = ratios(step * Fraction(float(s)) for s in weight_scales)
    return doubled_scale(scale, np.zeros(len(scale.multiplier), np.int32), batch)


def doubled_scale(scale: Ratio, doublings: NDArray[np.int32], batch: int) -> Ratio:
    """`head_scale` after e_c doublings (C,) of the weights' scale: sh_c falls by 1 for each.

    raises   ValueError if g*A_c, shifted, could leave int64
    """
    right_shift = scale.right_shift - doublings
    largest = (batch << ERROR_BITS) * 255 * int(scale.multiplier.max())
    if largest.bit_length() - min(0, int(right_shift.min())) > 62:
        raise ValueError(f"exact head: gradients must stay below 2^62, got {largest} "
                         f"shifted by {right_shift.min()}; lower the batch")  # fmt: skip
    return Ratio(scale.multiplier, right_shift)


@twin
def fill_error(
    logits: NDArray[np.int8],
    labels: NDArray[np.int64],
    exp: NDArray[np.int32],
    error: NDArray[np.int32],
) -> None:
    """error (B, C) of logits (B, C) for labels (B,); exp is E (256,)."""
    a = logits.astype(np.int64)
    weight = exp.astype(np.int64)[a.max(axis=1, keepdims=True) - a]
    total = weight.sum(axis=1, keepdims=True)
    err = ((weight << ERROR_BITS) + (total >> 1)) // total
    err[np.arange(labels.size), labels] -= 1 << ERROR_BITS
    err[((a == 127) & (err < 0)) | ((a == -128) & (err > 0))] = 0
    error[:] = err


@twin
def outer_product(
    error: NDArray[np.int32],
    x: NDArray[np.int8],
    zero_point: int,
    gradient: NDArray[np.int64],
) -> None:
    """gradient (C, D) = error^T (C, B) times x - zero_point (B, D)."""
    gradient[:] = error.astype(np.int64).T @ (x.astype(np.int64) - zero_point)
