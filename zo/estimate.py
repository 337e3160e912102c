"""From losses to gradients: coefficients c_i over one denominator, then g = sum_i c_i*z_i.

    one_sided   c_i = L_i - L_0                         den = q*B*k          q+1 forwards
    centred     c_i = q*(L_i - L_0) - sum_j(L_j - L_0)  den = q*(q-1)*B*k    q+1 forwards, q >= 2
    central     c_i = L(+)_i - L(-)_i                   den = 2*q*B*k        2q forwards
    sign        c_i = sign(L_i - L_0)*B*2^16            den = q*B*k          q+1 forwards
    hadamard    as one_sided, along rows of a Hadamard matrix instead of independent signs

Nothing is divided before the denominator. z is regenerated, so one pass over all samples and a
pass after each forward give the same bits. Sums are int64; `check_range` proves that they fit.
`centred` compares each loss with the mean of the others: c_i/(q-1) is a leave-one-out difference.
`hadamard` takes orthogonal directions: it pays where q is not small beside the number of weights,
and with as many samples as weights (a power of two) the estimate of a linear loss is exact.
`sign` asks only whether a perturbation helped, as if by one nat an image: a loss needs no scale.
Sources: "QScheduler" (arXiv 2607.18802) for one_sided, SPSA (Spall 1992) for central,
ElasticZO-INT8 (arXiv 2501.04287) for sign.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .perturb import flat_codes
from .prng import Stream, sign_tile
from .twins import twin

ESTIMATORS = ("one_sided", "centred", "central", "sign", "hadamard")
RANGE_BITS = 46


class Estimate(NamedTuple):
    """The gradient of the mean loss per weight step is sum_i c_i*z_i / den, in 2^-16.

    c     int64 (q,)
    den   int > 0
    """

    c: NDArray[np.int64]
    den: int


def one_sided(base: int, losses: NDArray[np.int64], k: int, batch: int) -> Estimate:
    """Differences to the unperturbed loss.

    base     L_0, the loss summed over the batch
    losses   L_1 .. L_q, int64 (q,)
    k        perturbation in weight steps
    batch    B, images per batch
    """
    return Estimate(losses - base, losses.size * batch * k)


def centred(base: int, losses: NDArray[np.int64], k: int, batch: int) -> Estimate:
    """As `one_sided` minus the mean of the differences; ValueError unless q >= 2."""
    q = losses.size
    if q < 2:
        raise ValueError(f"estimate: centred needs q of at least 2, got {q}; use one_sided")
    difference = losses - base
    return Estimate(q * difference - difference.sum(), q * (q - 1) * batch * k)


def central(plus: NDArray[np.int64], minus: NDArray[np.int64], k: int, batch: int) -> Estimate:
    """Differences between the losses (q,) at w + k*z_i and at w - k*z_i."""
    return Estimate(plus - minus, 2 * plus.size * batch * k)


def sign(base: int, losses: NDArray[np.int64], k: int, batch: int) -> Estimate:
    """As `one_sided`, with the sign of each difference times one nat per image in its place."""
    return Estimate(np.sign(losses - base) * (batch << 16), losses.size * batch * k)


UserEstimator = Callable[[int, NDArray[np.int64], int, int], Estimate]
"""(base, losses (q,), k, batch) -> Estimate, as the functions above. Nothing is proven of it before
the run: each step is checked instead."""


def user_estimate(
    function: UserEstimator, base: int, losses: NDArray[np.int64], k: int, batch: int
) -> Estimate:
    """What a user's function gives; TypeError, ValueError unless int64 sums are safe with it."""
    name = getattr(function, "__name__", "estimator")
    c, den = function(base, losses, k, batch)
    found = np.asarray(c)
    if found.dtype != np.int64 or found.shape != losses.shape:
        raise TypeError(
            f"{name}: coefficients must be int64 {losses.shape}, got {found.dtype} {found.shape}"
        )
    if isinstance(den, bool) or not isinstance(den, int) or not 0 < den < 1 << RANGE_BITS:
        raise ValueError(f"{name}: den must be an integer in 1..2^{RANGE_BITS}-1, got {den!r}")
    total = sum(abs(int(x)) for x in found)
    if total >= 1 << RANGE_BITS:
        raise ValueError(f"{name}: the sum of |c| must stay below 2^{RANGE_BITS}, got {total}")
    return Estimate(np.ascontiguousarray(found), den)


def check_range(estimator: str, q: int, bound: int, reach: int = 1) -> None:
    """Prove that no sum of a step overflows int64: sum_i |c_i| * reach < 2^46.

    estimator   one of ESTIMATORS
    q           the largest number of samples that may occur
    bound       every loss of a batch lies in 0..bound, see `Loss.bound`; of sign, B*2^16
    reach       largest |z|: 1, or k when perturbations saturate
    raises      ValueError with the numbers; g times a 16-bit multiplier must stay below 2^62
    """
    if estimator not in ESTIMATORS:
        raise ValueError(f"estimate: must be one of {', '.join(ESTIMATORS)}, got {estimator!r}")
    largest = largest_sum(estimator, q, bound, reach)
    if largest >= 1 << RANGE_BITS:
        raise ValueError(
            f"estimate: the sum of |c| must stay below 2^{RANGE_BITS}, got {largest} for "
            f"{estimator} with q = {q} and losses up to {bound}; lower q, the batch or the "
            "logit scale"
        )


def largest_sum(estimator: str, q: int, bound: int, reach: int = 1) -> int:
    """The largest sum_i |c_i| * reach that may occur; arguments as of `check_range`."""
    # Half of the losses at 0 and half at the bound make it largest when centred: q*q/2*bound.
    return reach * q * bound * (q if estimator == "centred" else 2) // 2


def check_halves(largest: int, weights: int) -> None:
    """Prove that sums of |g| over so many weights fit int64, where sum_i |c_i| <= largest."""
    if largest * weights >= 1 << 63:
        raise ValueError(
            f"estimate: sums over the gradient must stay below 2^63, got {weights} weights of up "
            f"to {largest} each; lower q, the batch or the number of trained weights"
        )


def check_rows(estimator: str, q: int, weights: int) -> None:
    """ValueError where Hadamard rows of a tensor of so many weights would repeat within a step."""
    rows = 1 << (weights - 1).bit_length()
    if estimator == "hadamard" and q > rows:
        raise ValueError(
            f"estimate: hadamard must have q of {rows} at most for {weights} weights, whose rows "
            f"repeat then, got {q}; lower q-max or take one_sided"
        )


def accumulate(
    gradient: NDArray[np.int64],
    c: NDArray[np.int64],
    stream: Stream,
    *,
    sample: int = 0,
    first: int = 0,
) -> None:
    """gradient += sum_i c_i * z_(sample+i), in place, with the signs regenerated.

    gradient   int64 (n,), contiguous: the weights first .. first+n-1 of the tensor
    c          int64 (m,): all coefficients, or those of the samples sample .. sample+m-1
    raises     TypeError for other types
    """
    check_int64("gradient", gradient)
    check_int64("coefficients", c)
    accumulate_signs(gradient, c, stream, sample, first)


def accumulate_saturated(
    gradient: NDArray[np.int64],
    c: NDArray[np.int64],
    original: NDArray[np.int8],
    k: int,
    stream: Stream,
    *,
    first: int = 0,
) -> None:
    """gradient += sum_i c_i * (clamp(w + k*z_i) - w), in place: the steps really taken.

    gradient   int64 (n,), contiguous: the weights first .. first+n-1 of the tensor
    original   w of these weights, int8 (n,), contiguous
    The steps are up to k, so the denominator is k times that of `Estimate`.
    """
    check_int64("gradient", gradient)
    check_int64("coefficients", c)
    accumulate_steps(gradient, c, flat_codes(original), k, stream, first)


def add_halves(half: NDArray[np.int64], whole: NDArray[np.int64], sums: NDArray[np.int64]) -> None:
    """sums (2,) += (sum |g_A - g_B|, sum |g_A + g_B|), in place.

    half, whole   g_A and g_A + g_B, int64 (n,), contiguous: the estimate from the first q div 2
                  samples, and from all of them
    `check_halves` proves that nothing overflows.
    """
    check_int64("half", half)
    check_int64("whole", whole)
    add_differences(half, whole, sums)


def check_int64(name: str, array: NDArray[np.int64]) -> None:
    """Raise TypeError unless the array is int64, one-dimensional and contiguous."""
    if array.dtype != np.int64 or array.ndim != 1 or not array.flags.c_contiguous:
        raise TypeError(f"{name}: must be contiguous int64 (n,), got {array.dtype} {array.shape}")


@twin
def accumulate_signs(
    gradient: NDArray[np.int64], c: NDArray[np.int64], stream: Stream, sample: int, first: int
) -> None:
    """gradient (n,) += sum_i c_i * z_(sample+i)[first:first+n]."""
    for i, coefficient in enumerate(c):
        gradient += coefficient * sign_tile(stream, sample + i, first, gradient.size)


@twin
def accumulate_steps(
    gradient: NDArray[np.int64],
    c: NDArray[np.int64],
    original: NDArray[np.int8],
    k: int,
    stream: Stream,
    first: int,
) -> None:
    """gradient (n,) += sum_i c_i * (clamp(original + k*z_i[first:first+n]) - original)."""
    w = original.astype(np.int64)
    for i, coefficient in enumerate(c):
        z = sign_tile(stream, i, first, w.size).astype(np.int64)
        gradient += coefficient * (np.clip(w + k * z, -128, 127) - w)


@twin
def add_differences(
    half: NDArray[np.int64], whole: NDArray[np.int64], sums: NDArray[np.int64]
) -> None:
    """sums (2,) += (sum |2*half - whole|, sum |whole|) over (n,)."""
    sums += (np.abs(2 * half - whole).sum(), np.abs(whole).sum())
