"""Codes at another level: signedness, zero points, biases, scales."""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np

from ..case import FITTED, SIMULATED, Case, Explanation

FEWEST_ROWS = 4
"""Elements of a channel from which a level can be told."""
SLACK = 0.26
"""Codes by which a rounding rule may miss the nearest: rounding twice misses by a quarter."""
SMALLEST_OFFSET = 0.3
SMALLEST_GAIN = 2e-3
"""Offsets and gains nearer to none are the business of rounding."""
NAMED = 4


class Level(NamedTuple):
    """What happened to one channel.

    value        a factor, or codes added
    consistent   bool (rows,)
    """

    value: float
    consistent: np.ndarray


class Channels(NamedTuple):
    """What is known of results before they were rounded, per channel.

    ideal    float64 (rows, C), relative to the zero point
    actual   int64 (rows, C), relative to the zero point
    told     bool (rows, C): whether `ideal` is known there
    error    of `ideal`: without a model the expected codes serve, half a code off
    clamps   smallest and largest actual code, relative to the zero point
    """

    ideal: np.ndarray
    actual: np.ndarray
    told: np.ndarray
    error: float
    clamps: tuple[int, int]


def level(case: Case) -> Iterator[Explanation]:
    """Explanations by level."""
    yield from _signedness(case)
    yield from _offset(case)
    yield from _bias(case)
    yield from _scale(case)


def _signedness(case: Case) -> Iterator[Explanation]:
    """uint8 for int8, or the other way round."""
    if case.dtype not in ("int8", "uint8"):
        return
    e, (low, _) = case.expected, case.limits
    plain = "the codes are {}, with a zero point 128 {}: a dump of the other signedness"
    other = plain.format(*(("uint8", "higher") if low < 0 else ("int8", "lower")))
    ways = {
        "bit 7 of every code is inverted: the other signedness": _wrapped(e + 128, low),
        other: e + (128 if low < 0 else -128),
        "int8 codes were read as uint8" if low < 0 else "uint8 codes were read as int8": (
            e % 256 if low < 0 else _wrapped(e, -128)
        ),
    }
    for sentence, predicted in ways.items():
        yield Explanation("signedness", sentence, "", predicted == case.actual, SIMULATED)


def _wrapped(codes: np.ndarray, low: int) -> np.ndarray:
    """Codes in 8 bits, from `low` on."""
    return (codes - low) % 256 + low


def _offset(case: Case) -> Iterator[Explanation]:
    """One number added to every code."""
    low, high = case.limits
    free = (case.actual > low) & (case.actual < high)
    if not free.any():
        return
    found, counts = np.unique(case.difference[free], return_counts=True)
    c = int(found[np.argmax(counts)])
    if c == 0:
        return
    moved = np.clip(case.expected + c, case.actual.min(), case.actual.max())
    # where the first side is clamped, the second may show what was cut off
    cut = (case.expected == low) if c > 0 else (case.expected == high)
    consistent = (moved == case.actual) | (cut & (np.abs(case.difference) <= abs(c)))
    sentence = f"{c:+d} is added to every code: another zero point"
    if case.zero_point and c == -case.zero_point:
        sentence = f"the zero point {case.zero_point} is not added to the output"
    yield Explanation("zero point", sentence, "", consistent, FITTED, 1)


def _channels(case: Case) -> Channels:
    c, zero = case.expected.shape[-1], case.zero_point
    actual = (case.actual - zero).reshape(-1, c)
    clamps = int(actual.min()), int(actual.max())
    if case.alone is not None and case.alone.ideal is not None:
        steps = case.alone.ideal.steps
        if steps.shape == case.expected.shape:
            everywhere = np.ones(actual.shape, bool)
            return Channels(steps.reshape(-1, c), actual, everywhere, 0.0, clamps)
    expected = (case.expected - zero).reshape(-1, c)
    told = (expected > expected.min()) & (expected < expected.max())
    return Channels(expected.astype(np.float64), actual, told, 0.5, clamps)


def _bias(case: Case) -> Iterator[Explanation]:
    """A constant added to some channels."""
    levels = _levels(case, _added)
    if levels:
        listed = _listed({c: f"{x.value:+.1f} codes" for c, x in levels.items()})
        sentence = f"a constant is added in {listed}: another bias"
        yield _by_channel(case, "bias", sentence, levels)


def _scale(case: Case) -> Iterator[Explanation]:
    """Some channels, or all, multiplied by a factor."""
    levels = _levels(case, _multiplied)
    if not levels:
        return
    factors = [x.value for x in levels.values()]
    same = np.ptp(factors) <= 0.02 * abs(factors[0])
    if same and len(levels) == case.expected.shape[-1] > 1:
        sentence = f"every channel is {_factor(factors[0])}: another scale of the output"
    else:
        listed = _listed({c: _factor(x.value) for c, x in levels.items()})
        sentence = f"{listed}: another scale of these channels"
    yield _by_channel(case, "scale", sentence, levels)


def _levels(case: Case, find: Callable[[Channels, int], Level | None]) -> dict[int, Level]:
    """What happened to every channel that differs, where one number says it."""
    if case.expected[..., :1].size < FEWEST_ROWS:
        return {}
    channels = _channels(case)
    touched = case.differing.reshape(channels.actual.shape).any(axis=0)
    found = {c: find(channels, c) for c in np.flatnonzero(touched).tolist()}
    return {c: level for c, level in found.items() if level is not None}


def _added(channels: Channels, c: int) -> Level | None:
    """The constant between ideal and actual codes of a channel, if one fits every element."""
    told = channels.told[:, c]
    if not told.any():
        return None
    half = 0.5 + channels.error + SLACK
    ideal = channels.ideal[:, c]
    low, high = _reach(channels.actual[:, c], half, channels.clamps)
    value = _within(float((low - ideal)[told].max()), float((high - ideal)[told].min()))
    if value is None or abs(value) < max(SMALLEST_OFFSET, 2 * channels.error + SLACK):
        return None
    return Level(value, ~told | _near(channels, c, ideal + value, half))


def _multiplied(channels: Channels, c: int) -> Level | None:
    """The factor between ideal and actual codes of a channel, both relative to zero."""
    told = channels.told[:, c] & (np.abs(channels.ideal[:, c]) >= 1)
    x, y = channels.ideal[told, c], channels.actual[told, c]
    free = (y > channels.clamps[0]) & (y < channels.clamps[1])
    if not free.any():
        return None
    guess = float(np.median(y[free] / x[free]))
    half = 0.5 + SLACK + channels.error * max(1.0, abs(guess))
    low, high = _reach(y, half, channels.clamps)
    ends = np.sort(np.stack([low / x, high / x]), axis=0)
    lowest, highest = float(ends[0].max()), float(ends[1].min())
    value = _within(lowest, highest)
    if value is None or abs(min(max(1.0, lowest), highest) - 1) < SMALLEST_GAIN:
        return None
    near = _near(channels, c, channels.ideal[:, c] * value, half)
    return Level(value, ~channels.told[:, c] | near)


def _reach(
    actual: np.ndarray, half: float, clamps: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray]:
    """Between what and what a result lay before it was rounded, and perhaps clamped."""
    low = np.where(actual <= clamps[0], -np.inf, actual - half)
    return low, np.where(actual >= clamps[1], np.inf, actual + half)


def _within(lowest: float, highest: float) -> float | None:
    """A number of an interval: its middle, or its end if it has one end; None if it is empty."""
    if lowest > highest or not (np.isfinite(lowest) or np.isfinite(highest)):
        return None
    if not np.isfinite(lowest):
        return highest
    return (lowest + highest) / 2 if np.isfinite(highest) else lowest


def _near(channels: Channels, c: int, ideal: np.ndarray, half: float) -> np.ndarray:
    """Where a channel's codes are within `half` of ideal ones that are clamped as they are."""
    return np.abs(np.clip(ideal, *channels.clamps) - channels.actual[:, c]) <= half


def _by_channel(case: Case, kind: str, sentence: str, levels: dict[int, Level]) -> Explanation:
    consistent = (~case.differing).reshape(-1, case.expected.shape[-1])
    for c, found in levels.items():
        consistent[:, c] = found.consistent
    shaped = consistent.reshape(case.expected.shape)
    return Explanation(kind, sentence, "", shaped, FITTED, len(levels))


def _factor(value: float) -> str:
    power = np.log2(abs(value)) if value else 0.0
    shift = f", a shift that is {abs(round(power))} off" if abs(power - round(power)) < 0.01 else ""
    return f"{value:.3g} times what it should be{shift}"


def _listed(texts: dict[int, str]) -> str:
    """ "channel 3: 2 times ..", "channels 3, 7, 9, 12 and 5 more (..)" """
    channels = list(texts)
    if len(channels) == 1:
        return f"channel {channels[0]} ({texts[channels[0]]})"
    named = ", ".join(map(str, channels[:NAMED]))
    more = f" and {len(channels) - NAMED} more" if len(channels) > NAMED else ""
    return f"channels {named}{more} ({texts[channels[0]]} in the first)"
