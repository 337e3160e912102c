"""Calls of zo/c/ladder.c, evidence.c and gate.c, and of the wide products of metric.c."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from zo.evidence import MEASURES, Evidence, is_noisy
from zo.gate import Gate
from zo.ladder import next_rung, rung_above

from ..records import Case
from .schedule import flat, fraction

LARGEST = 2**46


def cases(random: np.random.Generator) -> Iterator[Case]:
    yield from _products(random)
    yield from _rungs(random)
    for measure in MEASURES:
        for _ in range(100):
            yield _noise(random, measure)
        yield from _epochs(random, measure)


def _products(random: np.random.Generator) -> Iterator[Case]:
    """Products at and around equality, up to 126 bits."""
    for _ in range(200):
        a, b = (int(random.integers(0, 2 ** int(random.integers(1, 64)))) for _ in "ab")
        c, d = (b, min(2**63 - 1, max(0, a + int(random.integers(-1, 2)))))
        given = {"a": a, "b": b, "c": c, "d": d}
        yield Case("zo_product_exceeds", given, {"return": int(a * b > c * d)})


def _rungs(random: np.random.Generator) -> Iterator[Case]:
    for _ in range(50):
        rungs = np.unique(random.integers(1, 2**20, random.integers(1, 12))).astype(np.int32)
        q = int(random.choice(rungs))
        factor = Fraction(str(random.choice(["1.1", "1.5", "2.0", "3.0", "100.0"])))
        given = {"rungs": rungs, "count": len(rungs), "q": q}
        scaled = {**given, "factor": fraction(factor)}
        yield Case("zo_next_rung", scaled, {"return": next_rung(rungs.tolist(), q, factor)})
        yield Case("zo_rung_above", given, {"return": rung_above(rungs.tolist(), q)})


def evidence(random: np.random.Generator) -> Evidence:
    """A step near a threshold of 1, or far from it, up to the largest sums."""
    weights = int(random.integers(1, 10**6))
    base, q = int(random.integers(0, LARGEST)), int(random.choice([2, 3, 8, 64]))
    width = int(random.choice([1, 3, 1000, LARGEST // q - 1]))
    losses = np.clip(base + random.integers(-width, width + 1, q), 0, LARGEST)
    together = int(random.choice([0, 1, 10**6, 2**63 - 1]))
    apart = min(2**63 - 1, max(0, together + int(random.integers(-1, 2))))
    changed = int(random.integers(0, weights + 1))
    return Evidence(base, losses, changed, weights, apart, together)


def in_c(shown: Evidence) -> dict[str, Any]:
    return {**shown._asdict(), "q": shown.losses.size}


def _noise(random: np.random.Generator, measure: str) -> Case:
    shown = evidence(random)
    threshold = Fraction(str(random.choice(["1", "0.5", "0.9", "1.000001", "1000.0"])))
    given = {"measure": MEASURES.index(measure), "evidence": in_c(shown)}
    given["threshold"] = fraction(threshold)
    return Case("zo_is_noisy", given, {"return": int(is_noisy(measure, shown, threshold))})


def gate(made: Gate, noisy_steps: int, steps: int) -> dict[str, Any]:
    """A gate in C's form, from its saved state and the steps of this epoch."""
    saved = made.state_dict()
    settings = saved["settings"]
    return {
        "measure": MEASURES.index(settings["measure"]),
        "rungs": np.array(settings["rungs"], np.int32),
        "count": len(settings["rungs"]),
        "patience": settings["patience"],
        "threshold": fraction(Fraction(settings["threshold"])),
        "q": saved["q"],
        "noisy_epochs": saved["noisy_epochs"],
        "noisy_steps": noisy_steps,
        "steps": steps,
    }


def _epochs(random: np.random.Generator, measure: str) -> Iterator[Case]:
    """Epochs of a few steps; every call starts from the state that Python reached."""
    made = Gate(measure, 2, patience=2, q_max=100)
    threshold = Fraction(made.state_dict()["settings"]["threshold"])
    for _ in range(12):
        noisy, count = 0, int(random.integers(0, 5))
        for steps in range(count):
            shown = evidence(random)
            given = {"gate": gate(made, noisy, steps), "evidence": in_c(shown)}
            made.observe(shown)
            noisy += is_noisy(measure, shown, threshold)
            yield Case("zo_gate_observe", given, flat(gate(made, noisy, steps + 1), "gate"))
        given = {"gate": gate(made, noisy, count), "metric": {"correct": 1, "total": 2}}
        q = made.step((1, 2))
        yield Case("zo_gate_step", given, {"return": q, **flat(gate(made, 0, 0), "gate")})
