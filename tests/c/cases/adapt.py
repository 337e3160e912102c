"""Calls of zo/c/adapt.c and zo/c/moments.c."""

from collections.abc import Iterator

import numpy as np

from zo import moments
from zo.adapt import Scales, match_channels

from ..records import Case
from .arguments import status


def cases(random: np.random.Generator) -> Iterator[Case]:
    roots = random.integers(0, 2**31, 30)
    edges = np.concatenate([roots**2, np.maximum(roots**2 - 1, 0), roots**2 + 2 * roots])
    for v in (0, 1, 2, 3, 4, 2**62 - 1, *edges.tolist()):
        expected = int(moments.square_root(np.array([v]))[0])
        yield Case("zo_square_root", {"v": v}, {"return": expected})
    for n, c in ((0, 3), (1, 1), (40, 7), (300, 2)):
        yield _sums(random, n, c)
    for _ in range(20):
        yield _moments(random)
    for count in (-1, 0, moments.MAX_CELLS + 1):
        yield _no_moments(count)
    yield _widest()
    for _ in range(40):
        yield _match(random, int(random.integers(1, 30)))


def _sums(random: np.random.Generator, n: int, c: int) -> Case:
    values = random.choice([-128, -1, 0, 127], (n, c)).astype(np.int8)
    sums, zero_point = random.integers(-(2**40), 2**40, (2, c)), int(random.choice([-128, 0, 127]))
    given = {"values": values, "n": n, "c": c, "zero_point": zero_point, "sums": sums.copy()}
    moments.add_sums(values, zero_point, sums)
    return Case("zo_add_sums", given, {"sums": sums.reshape(-1)})


def _moments(random: np.random.Generator) -> Case:
    """Sums that some values have: an even mix of two codes, or all alike."""
    count, c = int(random.choice([1, 2, 3, 100, moments.MAX_CELLS])), 8
    low, high = (random.integers(-255, 256, c) for _ in range(2))
    first = random.integers(0, count + 1, c)
    total = first * low + (count - first) * high
    squares = first * low**2 + (count - first) * high**2
    expected = moments.channel_moments(count, total, squares)
    given = {"count": count, "total": total, "c": c, "squares": squares}
    given["found"] = {"mean": np.zeros(c, np.int32), "deviation": np.zeros(c, np.int32)}
    found = {f"found.{key}": value for key, value in expected._asdict().items()}
    return Case("zo_channel_moments", given, {"return": status("OK"), **found})


def _no_moments(count: int) -> Case:
    one, untouched = np.ones(1, np.int64), np.full(1, 7, np.int32)
    found = {"mean": untouched.copy(), "deviation": untouched.copy()}
    given = {"count": count, "total": one, "c": 1, "squares": one, "found": found}
    expected = {"found.mean": untouched, "found.deviation": untouched}
    return Case("zo_channel_moments", given, {"return": status("BAD_COUNT"), **expected})


def _draw_moments(random: np.random.Generator, c: int) -> moments.Moments:
    """Silent channels, the smallest that count, the largest there are."""
    deviation = random.integers(0, 255 << 16, c) >> random.integers(0, 20, c)
    edge = random.choice([0, (1 << 15) - 1, 1 << 15, 255 << 16], c)
    deviation = np.where(random.random(c) < 0.3, edge, deviation)
    mean = random.integers(-(255 << 16), (255 << 16) + 1, c)
    return moments.Moments(mean.astype(np.int32), deviation.astype(np.int32))


def _widest() -> Case:
    """Equal moments change nothing, also at the largest and smallest shift and multiplier."""
    shift = np.array([-31, 31, -31, 31], np.int32)
    multiplier = np.array([2**30, 2**30, 2**31 - 1, 2**31 - 1], np.int32)
    layer = Scales(np.array([1 - 2**30, 2**30 - 1, 2**30, -(2**30)], np.int32), multiplier, shift)
    same = moments.Moments(np.full(4, 7, np.int32), np.full(4, 1 << 15, np.int32))
    return _matched(layer, same, same)


def _match(random: np.random.Generator, c: int) -> Case:
    multiplier = random.integers(2**30, 2**31, c)
    multiplier[random.random(c) < 0.1] = 0
    multiplier[random.random(c) < 0.1] = 2**31 - 1
    layer = Scales(
        (random.integers(-(2**31), 2**31, c) >> random.integers(0, 31, c)).astype(np.int32),
        multiplier.astype(np.int32),
        random.integers(-31, 32, c).astype(np.int32),
    )
    return _matched(layer, _draw_moments(random, c), _draw_moments(random, c))


def _matched(layer: Scales, source: moments.Moments, target: moments.Moments) -> Case:
    given = {"layer": {key: value.copy() for key, value in layer._asdict().items()}}
    given |= {"c": layer.bias.size, "source": source._asdict(), "target": target._asdict()}
    changed = match_channels(layer, source, target)
    same = {
        f"{name}.{key}": value
        for name, made in (("source", source), ("target", target))
        for key, value in made._asdict().items()
    }
    expected = {f"layer.{key}": value for key, value in layer._asdict().items()}
    return Case("zo_match_channels", given, {"return": changed, **expected, **same})
