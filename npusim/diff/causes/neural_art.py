"""A node on Neural-ART with another parameter: s0, width of partial sums, rules of rounding.

These do not follow from a model, so a board's outputs have to tell them.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple

import numpy as np

from ...kernels.structs import TIES
from ...neural_art.settle import settle
from ...neural_art.stored import STAGES, Label, family, labelled
from ...neural_art.words import stages_in_words
from ..case import SIMULATED, Alone, Case, Explanation
from ..replay import Part

SHIFTS = range(9)
NEAREST = tuple(TIES)[:3]

Given = Mapping[str, Any]
Value = tuple[int | str, ...]


class Trial(NamedTuple):
    """A case, its node with its inputs, and the parameters that this has now, by name."""

    case: Case
    alone: Alone
    present: Mapping[str, Label]


def neural_art(case: Case) -> Iterator[Explanation]:
    """Explanations by one parameter that is another, then by s0 together with ties."""
    if case.alone is None:
        return
    graph = settle(case.alone.part.graph)
    kind, node = family(graph, graph.nodes[-1]), graph.nodes[-1]
    if kind is None:
        return
    trial = Trial(case, case.alone, {label.name: label for label in labelled(graph, node)})
    for name, values in _alternatives(trial.present, STAGES[kind]).items():
        yield from _best(trial, {}, name, values)
    if kind == "weighted":
        s0 = max(SHIFTS, key=lambda n: np.count_nonzero(_equal(trial, {"s0": [n]})))
        if (s0,) != trial.present["s0"].values:
            yield from _best(trial, {"s0": [s0]}, "ties", list(product(NEAREST, repeat=3)))


def _alternatives(present: Mapping[str, Label], stages: int) -> Mapping[str, Sequence[Value]]:
    """What nobody knows without a board, by parameter."""
    found: dict[str, Sequence[Value]] = {
        "s0": [(s0,) for s0 in SHIFTS],
        "partial_bits": [(16,), (24,)],
        "ties": list(product(NEAREST, repeat=stages)),
        "operand_rounding": [(rule,) for rule in TIES],
        "product_rounding": [(rule,) for rule in TIES],
    }
    return {name: values for name, values in found.items() if name in present}


def _best(
    trial: Trial, besides: Given, name: str, values: Sequence[Value]
) -> Iterator[Explanation]:
    """The values of a parameter that give the most of the codes, all of them named.

    besides   what the node is given as well
    """
    present = trial.present[name].values
    near = sorted(values, key=lambda v: _changes(v, present))
    fits = [(v, _equal(trial, {**besides, name: list(v)})) for v in near if v != present]
    consistent = max((equal for _, equal in fits), key=np.count_nonzero)
    if not consistent[trial.case.differing].any():
        return
    found = [v for v, equal in fits if np.array_equal(equal, consistent)]
    plain = {k: v[0] if len(v) == 1 else v for k, v in {**besides, name: list(found[0])}.items()}
    texts = [_sentence(trial, k, _others(trial, plain, k, consistent)) for k in besides]
    texts.append(_sentence(trial, name, found))
    node = trial.alone.part.last.name
    evidence = f"to be given as {json.dumps({node: plain})}"
    if len(found) > 1 and name == "ties":
        evidence += ", where rules that no tie tells apart stay what they were"
    yield Explanation("parameter", " and ".join(texts), evidence, consistent, SIMULATED,
                      len(besides), given=plain)  # fmt: skip


def _others(trial: Trial, given: Given, name: str, consistent: np.ndarray) -> list[Value]:
    """The values of s0 that give the same codes as the one among what is given."""
    return [
        (s0,) for s0 in SHIFTS
        if np.array_equal(_equal(trial, {**given, name: s0}), consistent)
    ]  # fmt: skip


def _equal(trial: Trial, given: Given) -> np.ndarray:
    """Which codes the node makes when it is given something else."""
    alone, codes = trial.alone, trial.case.actual
    try:
        part = Part(settle(alone.part.graph, {alone.part.last.name: given}))
    except ValueError:
        return np.zeros(codes.shape, bool)
    made = alone.run(part)
    return made == codes if made is not None else np.zeros(codes.shape, bool)


def _sentence(trial: Trial, name: str, found: Sequence[Value]) -> str:
    """ "s0 is 2 or 3, not 4 (derived)"; of ties what is decided of every stage"""
    label = trial.present[name]
    if name == "ties":
        words = [tuple(map(str, value)) for value in found]
        own = stages_in_words([tuple(map(str, label.values))])
        return f"ties are {stages_in_words(words)}, not {own} ({label.origin})"
    values = " or ".join(str(value[0]) for value in found)
    return f"{name} is {values}, not {label.values[0]} ({label.origin})"


def _changes(value: Value, present: Value) -> int:
    """In how many places two values of a parameter differ."""
    return sum(a != b for a, b in zip(value, present, strict=True))
