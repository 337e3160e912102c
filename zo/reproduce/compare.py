"""Ways back to accuracy, compared on the same test images.

McNemar's exact test: of the images that one way has right and the other wrong, and those the other
way round, does one kind come up more often than a coin would say? Seeds share test images, so their
p values are not independent; twice their median is a p value whatever they share (Ruger 1978; Vovk
and Wang, "Combining p-values via averaging", Biometrika 2020).
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from .experiment import interval
from .repair import Repair, Repaired
from .task import HEALTHY

Results = Sequence[tuple[Repair, Repaired]]


class Compared(NamedTuple):
    """One way under one shift with so many labelled images.

    accuracy    of test images, per cent, mean over seeds
    deviation   over seeds, 0 of a single one
    outcomes    seed by seed
    against     label of the best other way
    p           of the test against it; 1 without another way
    """

    shift: str
    images: int
    label: str
    accuracy: float
    deviation: float
    outcomes: tuple[Repaired, ...]
    against: str
    p: float


class Versus(NamedTuple):
    """One way against another, seed by seed.

    points   test accuracy of the one minus the other's, in per cent, mean over seeds, and
    half     of its 95 % interval by Student's t; infinite for one seed
    p        of McNemar's test, of all seeds together
    seeds    how many
    """

    shift: str
    images: int
    points: float
    half: float
    p: float
    seeds: int


def mcnemar(one: NDArray[np.bool_], other: NDArray[np.bool_]) -> float:
    """Exact two-sided p value that two ways are equally often right on these images (n,)."""
    from scipy import stats

    only_one = int(np.count_nonzero(one & ~other))
    only_other = int(np.count_nonzero(other & ~one))
    if not only_one + only_other:
        return 1.0
    return float(stats.binomtest(only_one, only_one + only_other).pvalue)


def combined(values: Sequence[float]) -> float:
    """One p value of several that may depend on each other: twice the median, 1 at most."""
    return values[0] if len(values) == 1 else min(1.0, 2 * float(np.median(values)))


def compare(results: Results) -> list[Compared]:
    """Every way against the best other one under its shift, in the order of the runs."""
    groups = _groups(results)
    return [_compared(where, label, ways) for where, ways in groups.items() for label in ways]


def versus(results: Results, one: str, other: str) -> list[Versus]:
    """One way against another under every shift where both were run, by their labels."""
    found = []
    for where, ways in _groups(results).items():
        if one in ways and other in ways:
            pairs = list(zip(ways[one], ways[other], strict=True))
            points = interval([100 * (a.accuracy - b.accuracy) for a, b in pairs])
            p = combined([mcnemar(a.answers, b.answers) for a, b in pairs])
            found.append(Versus(*where, *points, p, len(pairs)))
    return found


def healthy(results: Results) -> Results:
    """The runs without a shift."""
    return [(repair, outcome) for repair, outcome in results if repair.shift == HEALTHY]


def shifted(results: Results) -> Results:
    """All others."""
    return [(repair, outcome) for repair, outcome in results if repair.shift != HEALTHY]


def _groups(results: Results) -> dict[tuple[str, int], dict[str, list[Repaired]]]:
    """Outcomes seed by seed, by shift and number of labelled images, then by label."""
    groups: dict[tuple[str, int], dict[str, list[Repaired]]] = {}
    for repair, outcome in results:
        ways = groups.setdefault((repair.shift, repair.images), {})
        ways.setdefault(repair.label, []).append(outcome)
    return groups


def _compared(where: tuple[str, int], label: str, ways: dict[str, list[Repaired]]) -> Compared:
    found = [100 * outcome.accuracy for outcome in ways[label]]
    others = [name for name in ways if name != label]
    best = max(others, key=lambda name: np.mean([o.accuracy for o in ways[name]]), default="")
    pairs = zip(ways[label], ways[best], strict=True) if best else ()
    p = combined([mcnemar(a.answers, b.answers) for a, b in pairs] or [1.0])
    deviation = float(np.std(found, ddof=1)) if len(found) > 1 else 0.0
    return Compared(*where, label, float(np.mean(found)), deviation, tuple(ways[label]), best, p)
