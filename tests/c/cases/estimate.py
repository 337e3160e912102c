"""Calls of zo/c/estimate.c."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from zo import estimate

from ..records import Case
from .arguments import draw_stream, status, stream

FIRST = (0, 1, 17, 100, 128, 1000, 2**32)
SIZES = (0, 1, 3, 4, 16, 31, 128, 129, 300)
SAMPLES = (0, 1, 2, 3, 4, 5, 8, 9, 64, 257)


def cases(random: np.random.Generator) -> Iterator[Case]:
    for q in (1, 2, 3, 8, 64):
        yield from _coefficients(random, q)
    yield _too_few()
    yield from _ranges(random)
    for n in SIZES:
        for m in random.choice(SAMPLES, 4, replace=False):
            yield _accumulate(random, n, int(m))
            yield _accumulate_steps(random, n, int(m))
        yield _differences(random, n)
    yield _accumulate(random, 128, 257)
    yield _accumulate(random, 700, 600)


def draw_losses(random: np.random.Generator, n: int) -> np.ndarray:
    """Half at 0 or at a bound, which makes differences as large as they can be."""
    bound = 2**40
    inner = random.integers(0, bound + 1, n)
    return np.where(random.random(n) < 0.5, random.choice([0, bound], n), inner)


def _estimate(found: estimate.Estimate) -> dict[str, Any]:
    return {"found.c": found.c, "found.den": found.den}


def _coefficients(random: np.random.Generator, q: int) -> Iterator[Case]:
    base, losses, minus = int(draw_losses(random, 1)[0]), *(draw_losses(random, q) for _ in "ab")
    k, batch = int(random.integers(1, 127)), int(random.integers(1, 257))
    found = {"c": np.zeros(q, np.int64), "den": 0}
    shared = {"q": q, "k": k, "batch": batch, "found": found}
    given = {"base": base, "losses": losses, **shared}
    one = estimate.one_sided(base, losses, k, batch)
    yield Case("zo_one_sided", given, _estimate(one))
    if q > 1:
        expected = _estimate(estimate.centred(base, losses, k, batch))
        yield Case("zo_centred", given, {"return": status("OK"), **expected})
    expected = _estimate(estimate.central(losses, minus, k, batch))
    yield Case("zo_central", {"plus": losses, "minus": minus, **shared}, expected)
    yield Case("zo_sign", given, _estimate(estimate.sign(base, losses, k, batch)))
    equal = {**given, "losses": np.full(q, base)}
    yield Case("zo_sign", equal, _estimate(estimate.sign(base, equal["losses"], k, batch)))


def _too_few() -> Case:
    given = {"base": 5, "losses": np.array([7]), "q": 1, "k": 1, "batch": 1}
    found = {"c": np.array([3]), "den": 4}
    expected = {"return": status("BAD_SAMPLES"), "found.c": np.array([3]), "found.den": 4}
    return Case("zo_centred", {**given, "found": found}, expected)


def _ranges(random: np.random.Generator) -> Iterator[Case]:
    """Products just below and just above the limit, and far beyond int64."""
    for i, name in enumerate(estimate.ESTIMATORS):
        for q in (1, 2, 3, 1000, 2**31 - 1):
            for reach in (1, 7, 126):
                factor = reach * q * (q if name == "centred" else 2)
                edge = -(-(2**47) // factor)
                for bound in (0, 1, max(edge - 1, 0), edge, edge + 1, 2**63 - 1):
                    given = {"estimator": i, "q": q, "bound": bound, "reach": reach}
                    result = status("OK" if _is_legal(name, q, bound, reach) else "BAD_RANGE")
                    yield Case("zo_check_range", given, {"return": result})


def _is_legal(name: str, q: int, bound: int, reach: int) -> bool:
    try:
        estimate.check_range(name, q, bound, reach)
    except ValueError:
        return False
    return True


def _draw_coefficients(random: np.random.Generator, m: int) -> np.ndarray:
    """Sum of |c| just below 2^46: one very large, or all alike, or anything."""
    limit = 2**46 - 1
    if m == 0:
        return np.zeros(0, np.int64)
    share = {
        0: np.eye(1, m, int(random.integers(0, m)))[0] * limit,
        1: np.full(m, limit // m),
        2: random.integers(0, limit // m + 1, m),
    }[int(random.integers(0, 3))]
    return share.astype(np.int64) * random.choice([-1, 1], m)


def _accumulate(random: np.random.Generator, n: int, m: int) -> Case:
    c, drawn = _draw_coefficients(random, m), draw_stream(random)
    sample, first = int(random.integers(0, 2**32 - m)), int(random.choice(FIRST))
    gradient = random.integers(-(2**46), 2**46, n)
    given = {"gradient": gradient.copy(), "n": n, "c": c, "m": m, "stream": stream(drawn)}
    estimate.accumulate(gradient, c, drawn, sample=sample, first=first)
    return Case(
        "zo_accumulate_signs", {**given, "sample": sample, "first": first}, {"gradient": gradient}
    )


def _accumulate_steps(random: np.random.Generator, n: int, m: int) -> Case:
    c, drawn = _draw_coefficients(random, m) >> 8, draw_stream(random)
    k, first = int(random.choice([1, 4, 126, 300])), int(random.choice(FIRST))
    original = random.choice([-128, -127, 0, 126, 127], n).astype(np.int8)
    gradient = random.integers(-(2**46), 2**46, n)
    given = {"gradient": gradient.copy(), "n": n, "c": c, "m": m, "original": original}
    estimate.accumulate_saturated(gradient, c, original, k, drawn, first=first)
    given |= {"k": k, "stream": stream(drawn), "first": first}
    return Case("zo_accumulate_steps", given, {"gradient": gradient})


def _differences(random: np.random.Generator, n: int) -> Case:
    half, whole = random.integers(-(2**46), 2**46, (2, n))
    given = {"half": half, "n": n, "whole": whole, "sums": np.array([3, 2**50])}
    sums = given["sums"].copy()
    estimate.add_halves(half, whole, sums)
    return Case("zo_add_differences", given, {"sums": sums})
