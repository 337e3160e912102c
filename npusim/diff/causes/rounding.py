"""Codes that are rounded otherwise: another rule, or one more rounding on the way."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

import numpy as np

from ...profiles import PROFILES, Arithmetic
from ...rules import arithmetic, choices, is_silent
from ..case import SIMULATED, SYMPTOM, Alone, Case, Explanation
from ..ideal import Ideal
from ..replay import Part

TIE = 1e-6
"""Codes within which a result counts as exactly between two codes."""
TWICE = "double_rounding"
"""In the names of rules that round twice."""
SEVERAL = (TWICE, "neural_art")
"""In the names of rules that round more than once."""
NEAR_TIE = 0.26
"""Rounding twice moves a result by up to a quarter of a code before the last rounding."""


def _half(steps: np.ndarray, tie: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    """Nearest integers; `tie` chooses for those between floor and floor + 1."""
    low = np.floor(steps)
    fraction = steps - low
    nearest = np.where(fraction > 0.5, low + 1, low)
    return np.where(np.abs(fraction - 0.5) <= TIE, tie(low), nearest)


RULES: Mapping[str, Callable[[np.ndarray], np.ndarray]] = {
    "to nearest, ties to even": lambda x: _half(x, lambda low: low + low % 2),
    "to nearest, ties away from zero": lambda x: _half(x, lambda low: low + (low >= 0)),
    "to nearest, ties up": lambda x: _half(x, lambda low: low + 1),
    "to nearest, ties down": lambda x: _half(x, lambda low: low),
    "to nearest, ties toward zero": lambda x: _half(x, lambda low: low + (low < 0)),
    "down (an arithmetic shift without a rounding constant)": lambda x: np.floor(x + TIE),
    "toward zero (a truncating division)": lambda x: np.trunc(x + np.copysign(TIE, x)),
    "up": lambda x: np.ceil(x - TIE),
    "away from zero": lambda x: np.sign(x) * np.ceil(np.abs(x) - TIE),
}
"""Rules on exact results relative to the zero point."""


def rounding(case: Case) -> Iterator[Explanation]:
    """Explanations by rounding; symptoms where the exact results are not known."""
    if int(np.abs(case.difference).max()) > 2:
        return
    if case.alone is None:
        yield from _one_code(case)
        return
    ideal = case.alone.ideal
    if ideal is not None and ideal.steps.shape != case.actual.shape:
        ideal = None
    evidence = "" if ideal is None else _evidence(case, _distance(ideal))
    yield from _by_library(case, case.alone, evidence)
    if ideal is not None:
        yield from _by_exact_results(case, ideal, evidence)


def _by_exact_results(case: Case, ideal: Ideal, evidence: str) -> Iterator[Explanation]:
    """Plain rules that no profile has, and the neighbourhood of ties."""
    for name, rule in RULES.items():
        consistent = ideal.clamp(rule(ideal.steps)) == case.actual
        sentence = f"results are rounded {name}"
        yield Explanation("rounding", sentence, evidence, consistent, SIMULATED)
    near = (_distance(ideal) <= NEAR_TIE) & (np.abs(case.difference) == 1)
    sentence = "results are rounded by another rule, or once more on the way"
    yield Explanation("rounding", sentence, evidence, near | ~case.differing, SYMPTOM)


def _by_library(case: Case, alone: Alone, evidence: str) -> Iterator[Explanation]:
    """The rules that npusim has: those that give the most of the codes, all of them named."""
    own = arithmetic(alone.part.graph, alone.part.last)
    best: list[str] = []
    consistent = ~case.differing
    for name, part in _rules(alone.part, own):
        actual = alone.run(part)
        if actual is None or actual.shape != case.actual.shape:
            continue
        equal = actual == case.actual
        if np.count_nonzero(equal) > np.count_nonzero(consistent):
            best, consistent = [name], equal
        elif best and np.array_equal(equal, consistent):
            best.append(name)
    if best:
        names = " or ".join(filter(None, (", ".join(best[:-1]), best[-1])))
        sentence = f"results are rounded by {names}, not by {own}"
        if TWICE in own.rule and not any(rule in name for rule in SEVERAL for name in best):
            sentence = f"results are rounded once ({names}), not twice ({own})"
        yield Explanation("rounding", sentence, evidence, consistent, SIMULATED)


def _rules(part: Part, own: Arithmetic) -> Iterator[tuple[str, Part]]:
    """Every other rule the node may have; then what other profiles make of it, if that is more."""
    rules = [rule for rule in choices(part.graph, part.last) if rule != own.rule]
    graph = part.under_its_profile().graph
    for rule in rules:
        yield rule, Part(replace(graph, nodes=(replace(part.last, rule=rule),)))
    for profile in PROFILES:
        node = replace(part.last, rule=profile)
        if is_silent(graph, node):
            continue
        other = arithmetic(graph, node)
        if other != own and other.rule not in rules:
            yield f"{other} (profile {profile})", Part(replace(graph, nodes=(node,)))


def _distance(ideal: Ideal) -> np.ndarray:
    """How far every exact result is from a tie."""
    return np.abs(ideal.steps - np.floor(ideal.steps) - 0.5)


def _evidence(case: Case, distance: np.ndarray) -> str:
    farthest = float(distance[case.differing].max())
    up = int(np.count_nonzero(case.difference > 0))
    down = int(np.count_nonzero(case.difference < 0))
    signs = f"{up:,} up and {down:,} down" if up and down else "all up" if up else "all down"
    return f"by one code, {signs}, within {farthest:.2g} of a tie"


def _one_code(case: Case) -> Iterator[Explanation]:
    """Differences of one code; without a model that is all there is to see.

    Rounding down instead of to nearest changes every second code, give or take two deviations;
    what changes more is no rounding.
    """
    ones = np.abs(case.difference) <= 1
    size = case.differing.size
    if np.count_nonzero(case.differing) <= 0.5 * size + size**0.5:
        sentence = "codes differ by one here and there, as under another rounding rule"
        yield Explanation("rounding", sentence, "", ones, SYMPTOM)
