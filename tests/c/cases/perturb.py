"""Calls of zo/c/perturb.c."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from zo import perturb
from zo.prng import Stream

from ..records import Case
from .arguments import draw_codes, draw_stream, draw_uint32, rails, status, stream

SIZES = (0, 1, 15, 16, 17, 31, 32, 33, 127, 128, 129, 480, 511, 512, 513, 1024, 1300)
STEPS = (1, 2, 3, 64, 126)
MOVES = ("perturb", "restore", "advance")


def cases(random: np.random.Generator) -> Iterator[Case]:
    for k in (-1, 0, 1, 2, 63, 126, 127):
        yield _rails(k)
    for n in SIZES:
        for k in STEPS:
            for name in MOVES:
                yield _move(random, name, n, k * int(random.choice([1, -1])))
            yield _saturated(random, n, k)
        yield _clip(random, n)
    yield from _refusals(random)


def _rails(k: int) -> Case:
    given = {"k": k, "between": {"lo": 7, "hi": 7}}
    legal = 1 <= k <= 126
    between = perturb.rails(k) if legal else perturb.Rails(7, 7)
    expected = {f"between.{field}": value for field, value in between._asdict().items()}
    return Case("zo_rails", given, {"return": status("OK" if legal else "BAD_STEP"), **expected})


def _clip(random: np.random.Generator, n: int) -> Case:
    weights = random.integers(-128, 128, n).astype(np.int8)
    between = perturb.rails(int(random.integers(1, 127)))
    given = {"weights": weights.copy(), "n": n, "between": rails(between)}
    moved = perturb.clip_to_rails(weights, between)
    return Case("zo_clip_to_rails", given, {"return": moved, "weights": weights})


def _arguments(random: np.random.Generator, n: int, k: int) -> tuple[np.ndarray, dict[str, Any]]:
    weights = draw_codes(random, n, perturb.rails(abs(k)))
    drawn, sample = draw_stream(random), min(draw_uint32(random), 2**32 - 2)
    return weights, {
        "weights": weights.copy(), "n": n, "k": k, "stream": stream(drawn), "sample": sample,
    }  # fmt: skip


def _move(random: np.random.Generator, name: str, n: int, k: int) -> Case:
    """Entry points, and now and then the loop behind them."""
    weights, given = _arguments(random, n, k)
    drawn = Stream(**given["stream"])
    if name == "advance":  # starts where sample's perturbation left
        perturb.perturb(weights, k, drawn, given["sample"])
        given["weights"] = weights.copy()
    getattr(perturb, name)(weights, k, drawn, given["sample"])
    loop = {"perturb": "zo_add_signs", "advance": "zo_move_signs"}.get(name)
    if loop and random.random() < 0.3:
        return Case(loop, given, {"weights": weights})
    return Case(f"zo_{name}", given, {"return": status("OK"), "weights": weights})


def _saturated(random: np.random.Generator, n: int, k: int) -> Case:
    steps = int(random.choice([k, 130, 255, 300]))
    original = random.integers(-128, 128, n).astype(np.int8)
    weights, given = _arguments(random, n, 1)
    perturb.saturate(weights, original, steps, Stream(**given["stream"]), given["sample"])
    name = random.choice(["zo_saturate", "zo_add_signs_saturated"])
    return Case(name, {**given, "k": steps, "original": original}, {"weights": weights})


def _refusals(random: np.random.Generator) -> Iterator[Case]:
    for k in (0, 127, -127, 2**31 - 1, -(2**31)):
        for name in MOVES:
            weights, given = _arguments(random, 40, 1)
            given["k"] = k
            yield Case(f"zo_{name}", given, {"return": status("BAD_STEP"), "weights": weights})
    weights, given = _arguments(random, 40, 1)
    given["sample"] = 2**32 - 1
    yield Case("zo_advance", given, {"return": status("BAD_SAMPLE"), "weights": weights})
