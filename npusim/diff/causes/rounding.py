"""Codes that are rounded otherwise: another rule, or one more rounding on the way."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np

from ..case import SIMULATED, SYMPTOM, Case, Explanation

TIE = 1e-6
"""Codes within which a result counts as exactly between two codes."""
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
    alone = case.alone
    if alone is None:
        yield from _one_code(case)
    elif alone.ideal is not None and alone.ideal.steps.shape == case.actual.shape:
        ideal = alone.ideal
        distance = np.abs(ideal.steps - np.floor(ideal.steps) - 0.5)
        for name, rule in RULES.items():
            consistent = ideal.clamp(rule(ideal.steps)) == case.actual
            yield Explanation("rounding", f"results are rounded {name}", _evidence(case, distance),
                              consistent, SIMULATED)  # fmt: skip
        near = ~case.differing | ((distance <= NEAR_TIE) & (np.abs(case.difference) == 1))
        sentence = "results are rounded by another rule, or once more on the way"
        yield Explanation("rounding", sentence, _evidence(case, distance), near, SYMPTOM)


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
