"""Calls of zo/c/wide.c and cost_aware.c."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from zo.budget import RunShape
from zo.cost import Cost
from zo.cost_aware import CostAware
from zo.evidence import Evidence
from zo.export.settings import LIMBS

from ..records import Case
from .gate import evidence, in_c
from .schedule import flat

WIDTH = 32 * LIMBS
LARGEST_COST, LARGEST_WEIGHTS = 2**63 - 1, 2**40 - 1


def cases(random: np.random.Generator) -> Iterator[Case]:
    yield from _wide(random)
    for _ in range(20):
        yield from _epochs(_made(random), lambda: evidence(random), random)
    for _ in range(5):
        yield from _epochs(_made(random), lambda: _extreme(random), random)
    # nu = 4: each q is predicted to cost 24
    tied = CostAware(8, q_max=8, costs={2: 8, 4: 12, 8: 16})
    yield from _epochs(tied, lambda: Evidence(9, np.array([8, 10], np.int64), 0, 4), random)


def wide(value: int) -> np.ndarray:
    """A wide number of C, uint32 (LIMBS,)."""
    assert 0 <= value < 1 << WIDTH
    return np.array([value >> 32 * i & 0xFFFFFFFF for i in range(LIMBS)], np.uint32)


def _any(random: np.random.Generator, bits: int) -> int:
    """Below 2^bits: of any length, and often with limbs that are all ones."""
    length = int(random.integers(0, bits + 1))
    value = int.from_bytes(random.bytes(WIDTH // 8), "little") >> (WIDTH - length)
    return (1 << length) - 1 - (value >> 64) if random.random() < 0.3 else value


def _wide(random: np.random.Generator) -> Iterator[Case]:
    for _ in range(200):
        a, b = (_any(random, WIDTH - 1) for _ in "ab")
        value = _any(random, 64)
        low, high = sorted((a, b))
        given = {"a": wide(a), "b": wide(b)}
        yield Case("zo_wide_set", {"a": wide(a), "value": value}, {"a": wide(value)})
        yield Case("zo_wide_add", given, {"a": wide(a + b)})
        taken = {"a": wide(high), "b": wide(low)}
        yield Case("zo_wide_subtract", taken, {"a": wide(high - low)})
        factor = {"a": wide(_any(random, WIDTH - 64)), "factor": value}
        product = sum(int(x) << 32 * i for i, x in enumerate(factor["a"])) * value
        yield Case("zo_wide_multiply", factor, {"a": wide(product)})
        for x, y in ((a, b), (a, a), (a, a ^ 1 << int(random.integers(WIDTH - 1)))):
            given = {"a": wide(x), "b": wide(y)}
            yield Case("zo_wide_exceeds", given, {"return": int(x > y)})


def _extreme(random: np.random.Generator) -> Evidence:
    """The largest sums: q*|d| just below 2^62, all of one sign or of both."""
    q = int(random.choice([2, 1024]))
    largest = (1 << 62) // q - 1
    losses = random.choice([0, largest], q) if random.random() < 0.5 else np.full(q, largest)
    base = int(random.choice([0, largest]))
    return Evidence(base, losses.astype(np.int64), 0, LARGEST_WEIGHTS)


def cost_aware(made: CostAware, sums: tuple[int, int, int]) -> dict[str, Any]:
    """A schedule in C's form; (shared, slope, weights) of this epoch."""
    shared, slope, weights = sums
    return {
        "rungs": np.array(made.rungs, np.int32),
        "directions": made.directions,
        "costs": np.array([*made.costs.values()], np.int64),
        "count": len(made.rungs),
        "q": made.q,
        "shared": wide(shared),
        "slope": wide(slope),
        "weights": weights,
    }


def _sums(made: CostAware) -> tuple[int, int, int]:
    return made._shared, made._slope, made._weights


def _after(made: CostAware) -> dict[str, Any]:
    """What a call leaves, by path."""
    found = cost_aware(made, _sums(made))
    arrays = {f"cost_aware.{name}": found[name] for name in ("costs", "shared", "slope")}
    return {**flat(found, "cost_aware"), **arrays}


def _costs(random: np.random.Generator, rungs: tuple[int, ...]) -> dict[int, int]:
    """Costs F + q*s up to the largest, some of them equal for several q."""
    fixed, sample = (int(random.choice([0, 1, 50, 10**6, 10**15])) for _ in "Fs")
    if random.random() < 0.2:
        return dict.fromkeys(rungs, LARGEST_COST)
    return {q: min(LARGEST_COST, 1 + fixed + q * sample) for q in rungs}


def _made(random: np.random.Generator) -> CostAware:
    q_max = int(random.choice([4, 100, 2**20]))
    directions = int(random.choice([1, 333, LARGEST_WEIGHTS]))
    made = CostAware(2, q_max=q_max, costs=lambda rungs: _costs(random, rungs),
                     directions=directions)  # fmt: skip
    made.start(RunShape(1, lambda q: Cost(), "one_sided"))
    return made


def _epochs(
    made: CostAware, shown: Callable[[], Evidence], random: np.random.Generator
) -> Iterator[Case]:
    """Epochs of a few steps; every call starts from the state that Python reached."""
    for _ in range(6):
        for _ in range(int(random.integers(0, 4))):
            step = shown()
            given = {"cost_aware": cost_aware(made, _sums(made)), "evidence": in_c(step)}
            made.observe(step)
            yield Case("zo_cost_aware_observe", given, _after(made))
        given = {
            "cost_aware": cost_aware(made, _sums(made)),
            "metric": {"correct": 1, "total": 2},
        }
        yield Case("zo_cost_aware_step", given, {"return": made.step((1, 2)), **_after(made)})
