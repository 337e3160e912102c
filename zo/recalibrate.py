"""Scales that follow the weights and logits: a scale doubles where codes crowd at a rail.

    weights of channel c   V = rs((w << 16) + r, 1), split as in the update; bias = rs(bias, 1);
                           shift_c += 1; m = sat32(2m); e_c += 1
    logits                 every shift -= 1; the loss takes the tables of twice the scale

Multipliers do not change, so a doubling is exact. e_c makes the channel's learning rate fall by 4:
in codes the same real step shrinks by 2, and the gradient per code has grown by 2.
Call it after an epoch's evaluation; it doubles a channel at most once per call.
"""

import numpy as np
from numpy.typing import NDArray

from .fixed_point import rs, sat32
from .loss import EXPONENTS, CrossEntropy
from .perturb import Rails
from .twins import twin
from .update import State

WEIGHTS_PERCENT = 1
LOGITS_PERCENT = 60
FROZEN_PROFILES = ("neural-art",)


def check_profile(profile: str, where: str = "recalibrate") -> None:
    """Raise ValueError where the arithmetic's coefficients cannot change after compilation."""
    if profile in FROZEN_PROFILES:
        raise ValueError(
            f"{where}: scales cannot double under profile {profile}, whose rule neural_art has the "
            "coefficients of weighted operators frozen in the compiled stream; set "
            "recalibrate=False (--no-recalibration) and leave head-room"
        )


def recalibrate_weights(
    state: State, bias: NDArray[np.int32], shift: NDArray[np.int32], between: Rails
) -> tuple[int, ...]:
    """Double the weight scale of each channel with more than 1 % of its codes at a rail, in place.

    bias      int32 (C,), the layer's, in accumulator units
    shift     int32 (C,), the layer's requantisation, > 0 is left; for float multipliers call
              `double_channels` and double them instead
    returns   the doubled channels, ascending
    """
    channels = double_channels(state, between)
    index = list(channels)
    bias[index] = rs(bias[index].astype(np.int64), 1)
    shift[index] += 1
    return channels


def double_channels(state: State, between: Rails) -> tuple[int, ...]:
    """Halve codes and residual, double momentum and count it in e_c, where codes crowd at a rail.

    Without a residual the half that is lost in an odd code is gone.
    returns   the channels, ascending
    """
    counts = np.zeros(state.doublings.size, np.int64)
    count_at_rails(state.codes, state.inner, between, counts)
    crowded = counts * 100 > WEIGHTS_PERCENT * (state.codes.size // counts.size)
    halve_channels(state.codes, state.residual, state.momentum, state.inner, crowded)
    state.doublings[crowded] += 1
    return tuple(int(c) for c in np.flatnonzero(crowded))


def recalibrate_logits(
    at_rail: int, entries: int, shift: NDArray[np.int32], loss: CrossEntropy
) -> CrossEntropy:
    """Double the logits' scale where more than 60 % of the validation logits are at a rail.

    at_rail   how many of the `entries` logits of the validation set are -128 or 127
    shift     int32 (C,) of the head's requantisation; each falls by 1, in place
    returns   the loss of the new scale, or the one given (also after six doublings)
    """
    if at_rail * 100 <= LOGITS_PERCENT * entries or loss.exponent + 1 == EXPONENTS:
        return loss
    shift -= 1
    return loss.doubled()


@twin
def count_at_rails(
    codes: NDArray[np.int8], inner: int, between: Rails, counts: NDArray[np.int64]
) -> None:
    """counts (C,) = codes (n,) equal to lo or hi in each channel."""
    at_rail = (codes == between.lo) | (codes == between.hi)
    counts[:] = at_rail.reshape(-1, counts.size, inner).sum(axis=(0, 2))


@twin
def halve_channels(
    codes: NDArray[np.int8],
    residual: NDArray[np.int16],
    momentum: NDArray[np.int32],
    inner: int,
    crowded: NDArray[np.bool_],
) -> None:
    """Halve (codes, residual) (n,) and double momentum (n,) in the channels marked in crowded (C,).

    residual and momentum may be empty.
    """
    chosen = np.broadcast_to(
        crowded[:, None], (codes.size // (crowded.size * inner), crowded.size, inner)
    ).reshape(-1)
    master = codes.astype(np.int64) << 16
    if residual.size:
        master += residual
    half = rs(master, 1)
    new = rs(half, 16)
    codes[chosen] = new[chosen]
    if residual.size:
        residual[chosen] = (half - (new << 16))[chosen]
    if momentum.size:
        momentum[chosen] = sat32(2 * momentum[chosen].astype(np.int64))
