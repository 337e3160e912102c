"""Which dump is which tensor: by name, then by order and shape.

Names are compared as they are, then without the number in front and with everything but letters
and digits alike (003_stem_relu.npy is stem/relu), then with the name of the node that makes the
tensor. What is left over is matched in order: as many pairs as possible, and among the ways to do
that the one whose values agree best.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .fit import Fitted, UnfitError, Wanted, fit
from .sides import Dump

SAMPLED = 4096
"""Values of a tensor that are looked at to choose between ways to match."""
PAIR, PASS_WANTED, PASS_DUMP = range(3)
Values = Mapping[str, np.ndarray]


class Pair(NamedTuple):
    """A tensor with the dump it was found in.

    by       "name" or "order"
    fitted   None where the dump cannot be the tensor, and then `reason` says why
    """

    wanted: Wanted
    dump: Dump
    by: str
    fitted: Fitted | None
    reason: str = ""


class Matching(NamedTuple):
    """Pairs in the order of the tensors wanted, and what has no partner."""

    pairs: tuple[Pair, ...]
    missing: tuple[Wanted, ...]
    extra: tuple[Dump, ...]


def match(
    wanted: Sequence[Wanted], dumps: Sequence[Dump], values: Values, layout: str | None = None
) -> Matching:
    """Find every wanted tensor among the dumps.

    values   of wanted tensors, to choose between ways to match by order
    layout   of dumps of rank 4, see `fit`
    """
    found: dict[str, Pair] = {}
    for rule in (_exact, _loose, _by_node):
        named = [w for w in wanted if w.name not in found]
        free = [d for d in dumps if all(p.dump is not d for p in found.values())]
        for w, d in _by_name(named, free, rule):
            found[w.name] = _pair(w, d, layout)
    left = [w for w in wanted if w.name not in found]
    free = [d for d in dumps if all(p.dump is not d for p in found.values())]
    for pair in _by_order(left, free, values, layout):
        found[pair.wanted.name] = pair
    return Matching(
        pairs=tuple(found[w.name] for w in wanted if w.name in found),
        missing=tuple(w for w in wanted if w.name not in found),
        extra=tuple(d for d in dumps if all(p.dump is not d for p in found.values())),
    )


Rule = Callable[[Wanted | Dump], str]


def _exact(thing: Wanted | Dump) -> str:
    return thing.name


def _loose(thing: Wanted | Dump) -> str:
    return _bare(thing.name)


def _by_node(thing: Wanted | Dump) -> str:
    return _bare(thing.node if isinstance(thing, Wanted) else thing.name)


def _bare(name: str) -> str:
    """A name without the number in front; everything but letters and digits alike."""
    numberless = re.sub(r"^[0-9]+[^A-Za-z0-9]+", "", name)
    return re.sub(r"[^a-z0-9]+", "_", numberless.lower()).strip("_")


def _by_name(
    wanted: Sequence[Wanted], dumps: Sequence[Dump], rule: Rule
) -> Iterator[tuple[Wanted, Dump]]:
    """Pairs whose names agree under a rule and belong to nobody else."""
    names = Counter(map(rule, wanted)), Counter(map(rule, dumps))
    by_name = {rule(dump): dump for dump in dumps}
    for w in wanted:
        name = rule(w)
        if name and names[0][name] == names[1][name] == 1:
            yield w, by_name[name]


def _pair(wanted: Wanted, dump: Dump, layout: str | None) -> Pair:
    try:
        return Pair(wanted, dump, "name", fit(dump, wanted, layout))
    except UnfitError as error:
        return Pair(wanted, dump, "name", None, str(error))


def _by_order(
    wanted: Sequence[Wanted], dumps: Sequence[Dump], values: Values, layout: str | None
) -> Iterator[Pair]:
    """The most pairs that keep both orders, and among those the ones whose values agree best."""
    steps = _steps(wanted, dumps, values, layout)
    i = j = 0
    while (i, j) in steps:
        step, fitted = steps[i, j]
        if step == PAIR:
            yield Pair(wanted[i], dumps[j], "order", fitted)
        i, j = i + (step != PASS_DUMP), j + (step != PASS_WANTED)


def _steps(
    wanted: Sequence[Wanted], dumps: Sequence[Dump], values: Values, layout: str | None
) -> dict[tuple[int, int], tuple[int, Fitted | None]]:
    """What to do at wanted tensor i and dump j, for every i and j; later ones decide first."""
    best = {(len(wanted), j): (0, 0.0) for j in range(len(dumps) + 1)}
    best |= {(i, len(dumps)): (0, 0.0) for i in range(len(wanted) + 1)}
    steps: dict[tuple[int, int], tuple[int, Fitted | None]] = {}
    for i in reversed(range(len(wanted))):
        for j in reversed(range(len(dumps))):
            choices = [(best[i + 1, j], PASS_WANTED), (best[i, j + 1], PASS_DUMP)]
            fitted = _fits(dumps[j], wanted[i], layout)
            if fitted is not None:
                unpaired, disagreement = best[i + 1, j + 1]
                share = _disagreement(fitted.values, values.get(wanted[i].name))
                choices.append(((unpaired - 1, disagreement + share), PAIR))
            best[i, j], step = min(choices)
            steps[i, j] = step, fitted
    return steps


def _fits(dump: Dump, wanted: Wanted, layout: str | None) -> Fitted | None:
    try:
        return fit(dump, wanted, layout)
    except UnfitError:
        return None


def _disagreement(actual: np.ndarray, expected: np.ndarray | None) -> float:
    """Share of values that differ, of those that are looked at."""
    if expected is None or not expected.size:
        return 0.0
    step = max(1, expected.size // SAMPLED)
    return float(np.mean(actual.reshape(-1)[::step] != expected.reshape(-1)[::step]))
