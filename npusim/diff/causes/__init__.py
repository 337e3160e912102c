"""The likely cause of a tensor's departure.

Every module proposes explanations; each says which codes it accounts for. The best founded one
that accounts for almost all of them, and contradicts almost none of the equal ones, is the cause.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..case import FITTED, SIMULATED, SYMPTOM, Case, Explanation
from .border import border
from .changed import changed
from .level import level
from .limits import limits
from .neural_art import neural_art
from .order import order
from .rounding import rounding

FAMILIES: tuple[Callable[[Case], Iterator[Explanation]], ...] = (
    order,
    changed,
    limits,
    neural_art,
    rounding,
    level,
    border,
)
BASES = (SIMULATED, FITTED, SYMPTOM)
MOST_LEFT = 0.1
"""Share of the differing elements that a cause may leave unexplained."""
HARDLY_ANY = 0.01
"""Share below which what is left does not count against a better founded cause."""
PER_FREEDOM = 3
"""Differing elements that every fitted number must account for."""
UNKNOWN = "unknown"


class Cause(NamedTuple):
    """Why a tensor departs.

    kind        such as "padding"; "unknown"
    sentence    in plain words
    evidence    what speaks for it
    basis       "simulated", "fitted" or "symptom"; "" where it is unknown
    explained   share of the differing elements it accounts for
    whole       whether it accounts for every element
    given       parameters that explain it when the node is given them, by name
    """

    kind: str
    sentence: str
    evidence: str
    basis: str
    explained: float
    whole: bool
    given: Mapping[str, Any] = MappingProxyType({})


def explain(case: Case) -> Cause:
    """The likely cause of a case in which some elements differ."""
    total = int(np.count_nonzero(case.differing))
    best: tuple[tuple[int, int, int, int], Explanation] | None = None
    for family in FAMILIES:
        for found in family(case):
            left = int(np.count_nonzero(~found.consistent))
            accounted = total - int(np.count_nonzero(~found.consistent & case.differing))
            if left > MOST_LEFT * total or accounted < max(PER_FREEDOM * found.freedom, 1):
                continue
            rough, basis = int(left > HARDLY_ANY * total), BASES.index(found.basis)
            rank = rough, basis, left + found.unsure, found.freedom
            if best is None or rank < best[0]:
                best = rank, found
    if best is None:
        hint = "" if case.alone else "; more can be tried with the model"
        sentence = f"no single cause accounts for the differences{hint}"
        return Cause(UNKNOWN, sentence, "", "", 0.0, False)
    return _cause(case, best[1], total)


def _cause(case: Case, found: Explanation, total: int) -> Cause:
    contradicted = int(np.count_nonzero(~found.consistent & ~case.differing))
    explained = total - int(np.count_nonzero(~found.consistent & case.differing))
    what = f"{explained:,} of {total:,} differing elements"
    if explained == total:
        what = f"all {total:,} differing elements" if total > 1 else "the only differing element"
    have, look = ("has this very code", "looks") if explained == 1 else ("have these very codes",
                                                                         "look")  # fmt: skip
    sure = {
        SIMULATED: f"simulated so, {what} {have}",
        FITTED: f"it accounts for {what}",
        SYMPTOM: f"{what} {look} so",
    }[found.basis]
    ones = "equal one speaks" if contradicted == 1 else "equal ones speak"
    but = f", but {contradicted:,} {ones} against it" if contradicted else ""
    evidence = "; ".join(filter(None, (f"{sure}{but}", found.evidence)))
    whole = explained == total and not contradicted and found.basis != SYMPTOM
    return Cause(found.kind, found.sentence, evidence, found.basis, explained / total, whole,
                 found.given)  # fmt: skip
