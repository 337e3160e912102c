"""Perturbation of int8 weights in place, exactly undone.

    w' = w + k*z,   k >= 1 weight steps,   w in [lo, hi] = [-127 + k, 127 - k]

Between the rails nothing saturates, so subtracting k*z gives back every bit without mask or copy.
`saturate` is the other mode, for models whose weights must not be clipped: it clamps, and the
caller restores from a copy.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .prng import Stream, check_range, sign_tile
from .twins import twin


class Rails(NamedTuple):
    """The codes between which trainable weights live."""

    lo: int
    hi: int


FULL_RANGE = Rails(-128, 127)
MAX_STEP = 126
"""The largest k: codes -1, 0 and 1 are left."""


def rails(k: int) -> Rails:
    """[-127 + k, 127 - k]: what leaves room for one perturbation of k steps.

    raises   ValueError unless 1 <= k <= 126
    """
    _check_step(k)
    return Rails(k - 127, 127 - k)


def clip_to_rails(weights: NDArray[np.int8], between: Rails) -> int:
    """Clamp weights to the rails in place, once, when a model is loaded.

    returns   how many weights moved
    """
    flat = flat_codes(weights)
    outside = (flat < between.lo) | (flat > between.hi)
    np.clip(flat, between.lo, between.hi, out=flat)
    return int(np.count_nonzero(outside))


def perturb(weights: NDArray[np.int8], k: int, stream: Stream, sample: int) -> None:
    """weights += k*z_sample, in place.

    weights   int8, any shape, C-contiguous, between rails(k); index n of z is row-major
    k         weight steps; a negative one goes the other way (central differences)
    stream    of the tensor and step, see `prng.sign_stream`
    sample    0 for the first perturbation
    raises    TypeError for another dtype or layout, ValueError for k or a sample out of range
    """
    _check_step(abs(k))
    check_range("sample", sample, 1 << 32)
    add_signs(flat_codes(weights), k, stream, sample)


def restore(weights: NDArray[np.int8], k: int, stream: Stream, sample: int) -> None:
    """weights -= k*z_sample, in place: undoes `perturb` with the same arguments."""
    _check_step(abs(k))
    check_range("sample", sample, 1 << 32)
    add_signs(flat_codes(weights), -k, stream, sample)


def advance(weights: NDArray[np.int8], k: int, stream: Stream, sample: int) -> None:
    """From one perturbation to the next in one pass: weights += k*(z_(sample+1) - z_sample)."""
    _check_step(abs(k))
    check_range("next sample", sample + 1, 1 << 32)
    move_signs(flat_codes(weights), k, stream, sample)


def saturate(
    weights: NDArray[np.int8], original: NDArray[np.int8], k: int, stream: Stream, sample: int
) -> None:
    """weights = clamp(original + k*z_sample) to int8, in place; restore by copying `original`.

    original   int8, the shape of weights, any code; the gradient counts the steps really taken,
               see `estimate.accumulate_saturated`
    """
    check_range("sample", sample, 1 << 32)
    add_signs_saturated(flat_codes(weights), flat_codes(original), k, stream, sample)


def flat_codes(weights: NDArray[np.int8]) -> NDArray[np.int8]:
    """A flat view of int8 weights.

    raises   TypeError unless the array is int8 and C-contiguous (a copy would not be in place)
    """
    if weights.dtype != np.int8 or not weights.flags.c_contiguous:
        layout = "contiguous" if weights.flags.c_contiguous else "strided"
        raise TypeError(f"weights: must be contiguous int8, got {layout} {weights.dtype}")
    return weights.reshape(-1)


@twin
def add_signs(weights: NDArray[np.int8], k: int, stream: Stream, sample: int) -> None:
    """weights (n,) += k*z, in place; the sum must fit int8."""
    weights += np.int8(k) * sign_tile(stream, sample, 0, weights.size)


@twin
def move_signs(weights: NDArray[np.int8], k: int, stream: Stream, sample: int) -> None:
    """weights (n,) += k*(z_(sample+1) - z_sample), in place; the sum must fit int8."""
    before = sign_tile(stream, sample, 0, weights.size).astype(np.int16)
    after = sign_tile(stream, sample + 1, 0, weights.size)
    weights[:] = weights + k * (after - before)


@twin
def add_signs_saturated(
    weights: NDArray[np.int8], original: NDArray[np.int8], k: int, stream: Stream, sample: int
) -> None:
    """weights (n,) = clamp(original + k*z) to int8."""
    z = sign_tile(stream, sample, 0, weights.size).astype(np.int16)
    weights[:] = np.clip(original + k * z, *FULL_RANGE)


def _check_step(k: int) -> None:
    if not 1 <= k <= MAX_STEP:
        raise ValueError(f"perturb: k must be 1..{MAX_STEP} weight steps, got {k}")
