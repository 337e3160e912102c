"""Adaptation without labels: channel statistics matched to those of the source, in integers.

    R  = deviation_source / deviation_target               clamped to 1/4 .. 4
    M' = R * M
    b' = b + (mean_source / R - mean_target) / M           in accumulator units

Layer by layer, each measured behind the adapted ones before it: a device that cannot keep the
activations of all images runs them once per layer. Here they are kept, so that each layer runs
twice, before its adaptation and after. Only biases, multipliers and shifts change. A channel is
left alone where either deviation is below half a code (dead, or silent in one of the two), or where
its bias or the change of it would leave +-2^30, or its shift -31..31. The relu's cut is taken as it
is: on the digits, one pass on what is visible is worth as much as matching the accumulators before
the relu, and more passes gain nothing.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from npusim import Prefix, Session
from npusim.rules import stated

from .fixed_point import floor_log2, rs_channels
from .moments import (
    FRACTION,
    IMAGES_AT_ONCE,
    ChannelSums,
    Moments,
    Statistics,
    stored_statistics,
)

SILENT = 1 << (FRACTION - 1)
"""Below this deviation, in 2^-16 code, a channel says nothing."""
RATIO_MIN, RATIO_MAX = 1 << (FRACTION - 2), 1 << (FRACTION + 2)
BIAS_LIMIT = 2**30
SHIFT_MIN, SHIFT_MAX = -31, 31


class Adaptation(NamedTuple):
    """What `adapt` did.

    adapted    node name -> how many of its channels changed
    channels   node name -> how many it has
    forwards   forwards of one image where no activation is kept: images times layers
    """

    adapted: dict[str, int]
    channels: dict[str, int]
    forwards: int


class Scales(NamedTuple):
    """Bias, multiplier and shift of a layer's channels, int32 (C,)."""

    bias: NDArray[np.int32]
    multiplier: NDArray[np.int32]
    shift: NDArray[np.int32]


def adapt(session: Session, images: np.ndarray, statistics: Statistics | None = None) -> Adaptation:
    """Match the statistics of `images` to the source's, in place in the session.

    images       (N, ..) unlabelled, codes or real numbers; 100 to 300 are enough
    statistics   of the source, from `measure_statistics`; those stored in the graph if None
    returns      counts; `session.snapshot()` is the adapted graph
    raises       ValueError when there are no statistics, or of other nodes, or no images, or when
                 the profile freezes a layer's coefficients
    The activations that one layer passes on are held for all images at once.
    """
    source = stored_statistics(session.graph) if statistics is None else statistics
    names = [node.name for node in session.graph.nodes if node.name in source]
    _check_source(session, source, names)
    adapted: dict[str, int] = {}
    state: np.ndarray | Prefix = images
    for name in names:
        target = _moments_behind(session, state, name)
        r = session.requantization[name]
        layer = Scales(session.biases[name], r.multiplier, r.shift)
        adapted[name] = match_channels(layer, source[name], target)
        state = session.prefix(state, until=name)
    channels = {name: len(session.biases[name]) for name in names}
    return Adaptation(adapted, channels, len(images) * len(names))


def match_channels(layer: Scales, source: Moments, target: Moments) -> int:
    """Change a layer's channels, in place, so that target moments become source moments.

    returns   how many channels changed
    """
    alive = (source.deviation >= SILENT) & (target.deviation >= SILENT) & (layer.multiplier > 0)
    ratio = deviation_ratio(source.deviation, target.deviation)
    wanted = ((source.mean.astype(np.int64) << FRACTION) + (ratio >> 1)) // ratio - target.mean
    change = accumulator_units(wanted, layer)
    bias = layer.bias + change
    multiplier, shift = scaled(layer, ratio)
    alive &= (np.abs(change) < BIAS_LIMIT) & (np.abs(bias) < BIAS_LIMIT)
    alive &= (shift >= SHIFT_MIN) & (shift <= SHIFT_MAX)
    for values, changed in zip(layer, (bias, multiplier, shift), strict=True):
        values[alive] = changed[alive]
    return int(np.count_nonzero(alive))


def deviation_ratio(source: NDArray[np.int32], target: NDArray[np.int32]) -> NDArray[np.int64]:
    """source / target in Q16, to nearest, clamped to 1/4 .. 4."""
    divisor = np.maximum(target.astype(np.int64), 1)
    ratio = ((source.astype(np.int64) << FRACTION) + (divisor >> 1)) // divisor
    return np.clip(ratio, RATIO_MIN, RATIO_MAX)


def accumulator_units(wanted: NDArray[np.int64], layer: Scales) -> NDArray[np.int64]:
    """wanted * 2^-16 / M to nearest, ties toward +inf; wanted in 2^-16 output code, below 2^28.

    M = multiplier * 2^(shift - 31). Where the quotient is 2^31 or more the result is 2^31, too far.
    """
    left = 31 - FRACTION - layer.shift.astype(np.int64)
    # |wanted| * 2^left >= 2^62 and multiplier < 2^31: the quotient is 2^31 or more
    far = np.abs(wanted) >> np.clip(62 - left, 0, 62) != 0
    numerator = np.where(far, 0, wanted) << np.maximum(left, 0)
    divisor = np.maximum(layer.multiplier.astype(np.int64), 1) << np.maximum(-left, 0)
    return np.where(far, 2**31, (numerator + (divisor >> 1)) // divisor)


def scaled(layer: Scales, ratio: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Multiplier in [2^30, 2^31) and shift of M * ratio, ratio in Q16; a multiplier 0 stays 0."""
    product = layer.multiplier * ratio  # below 2^49
    excess = floor_log2(np.maximum(product, 1)) - 30
    multiplier = rs_channels(product[None, :, None], excess)[0, :, 0]
    carry = multiplier >> 31  # rounded up to 2^31
    return multiplier >> carry, layer.shift + excess + carry - FRACTION


def _check_source(session: Session, source: Statistics, names: Sequence[str]) -> None:
    if not source:
        raise ValueError(
            f"adapt: graph {session.graph.name} must hold statistics of its source, got none; "
            "measure them on source images with measure_statistics"
        )
    unknown = sorted(set(source) - set(names))
    if unknown:
        raise ValueError(
            f"adapt: statistics must be of nodes of graph {session.graph.name}, got {unknown[0]!r}"
        )
    frozen = [name for name in names if name not in session.requantization]
    if frozen:
        how = stated(session.graph, session.graph.node(frozen[0]))
        raise ValueError(
            f"adapt: {frozen[0]}: {how}: bias and multipliers cannot change, being coefficients "
            "frozen in the compiled stream; adapt under another profile and compile what comes of "
            "it"
        )


def _moments_behind(session: Session, state: np.ndarray | Prefix, name: str) -> Moments:
    """Of a node's output, for images or what they have become before it."""
    sums = ChannelSums(session.graph, name)
    for start in range(0, len(state), IMAGES_AT_ONCE):
        behind = session.prefix(state[start : start + IMAGES_AT_ONCE], until=name)
        sums.add(session.prefix_tensor(behind, sums.tensor.name))
    return sums.moments()
