"""A verdict on every tensor, in the order of execution.

A tensor that differs is judged from the other side's own inputs: the nodes that lead to it are run
on side B's tensors, by A's model. What they make is what B should have; only what is left over is
the tensor's own fault. So one early fault does not hide the rest.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from ..affine import LIMITS
from ..graph import Graph, ModelError
from .case import Alone, Case
from .causes import UNKNOWN, Cause, explain
from .figures import figures, subtract
from .heat import maps
from .histogram import histogram
from .matching import Pair
from .places import place
from .replay import Part, leading_to
from .report import DEPARTS, EQUAL, FOLLOWS, INHERITED, UNFIT, Judged

Arrays = Mapping[str, np.ndarray]


@dataclass(frozen=True, eq=False)
class Reference:
    """Side A, as tensors are judged by it.

    values   of every tensor by name
    makers   tensor -> name and operator of the node that makes it
    reads    tensor -> tensors that node reads; None where the wiring is not known
    graph    the model; None without
    """

    values: Arrays
    makers: Mapping[str, tuple[str, str]]
    reads: Mapping[str, Sequence[str]] | None
    graph: Graph | None


@dataclass(frozen=True, eq=False)
class Expectation:
    """What a tensor should be: its codes, from whose inputs, and the node with these inputs.

    alone   None where more than one node leads to the tensor, or none is known
    """

    values: np.ndarray
    judged_from: str = ""
    alone: Alone | None = None


@dataclass(eq=False)
class Seen:
    """Side B so far.

    dumped   its tensors as they are, in the model's types
    meant    the same, but as the device must have had them where a dump is explained whole
    faulty   tensors that are not equal
    """

    dumped: dict[str, np.ndarray] = field(default_factory=dict)
    meant: dict[str, np.ndarray] = field(default_factory=dict)
    faulty: set[str] = field(default_factory=set)


def judge(reference: Reference, pairs: Sequence[Pair]) -> Iterator[Judged]:
    """A verdict on every pair; pairs stand in the order of execution."""
    seen = Seen()
    for pair in pairs:
        judged = _judged(reference, pair, seen)
        if judged.verdict != EQUAL:
            seen.faulty.add(judged.name)
        yield judged


def _judged(reference: Reference, pair: Pair, seen: Seen) -> Judged:
    node, op = reference.makers.get(pair.wanted.name, ("", ""))
    expected = reference.values[pair.wanted.name]
    blank = Judged(
        name=pair.wanted.name,
        node=node,
        op=op,
        shape=pair.wanted.shape,
        dtype=pair.wanted.dtype,
        matched=pair.by,
        file=pair.dump.file,
        read_as=pair.fitted.read_as if pair.fitted else "",
        verdict=UNFIT,
        reason=pair.reason,
    )
    if pair.fitted is None:
        return blank
    actual = pair.fitted.values
    total = figures(expected, actual, pair.wanted.quantization)
    blank = replace(blank, total=total)
    if not total.differing:
        _remember(seen, pair, actual, actual)
        return replace(blank, verdict=EQUAL)
    if reference.graph is None:
        return _by_order(reference, pair, blank, seen)
    return _by_model(reference, pair, blank, seen)


def _by_order(reference: Reference, pair: Pair, blank: Judged, seen: Seen) -> Judged:
    """Without a model: a fault of its own unless it stands behind another."""
    expected = Expectation(reference.values[blank.name])
    behind = _behind(reference, blank.name, seen)
    cause = None if behind else _cause(reference, pair, expected)
    return _with_place(replace(blank, verdict=FOLLOWS if behind else DEPARTS, cause=cause),
                       expected, pair)  # fmt: skip


def _by_model(reference: Reference, pair: Pair, blank: Judged, seen: Seen) -> Judged:
    """With a model: its own fault is what the model does not make of B's inputs."""
    assert pair.fitted is not None
    actual = pair.fitted.values
    candidates = list(_expectations(reference, blank.name, seen))
    for candidate in candidates:
        if not np.count_nonzero(subtract(candidate.values, actual)):
            _remember(seen, pair, actual, actual)
            own = figures(candidate.values, actual, pair.wanted.quantization)
            judged = replace(blank, own=own, judged_from=candidate.judged_from, verdict=INHERITED)
            return _with_place(judged, Expectation(reference.values[blank.name]), pair)
    best, cause = _best(reference, pair, candidates)
    _remember(seen, pair, actual, best.values if cause.whole else actual)
    own = figures(best.values, actual, pair.wanted.quantization)
    judged = replace(blank, own=own, judged_from=best.judged_from, verdict=DEPARTS, cause=cause)
    return _with_place(judged, best, pair)


def _best(
    reference: Reference, pair: Pair, candidates: Sequence[Expectation]
) -> tuple[Expectation, Cause]:
    """The first expectation from which the departure has a cause; else the nearest one."""
    assert pair.fitted is not None
    causes = []
    for candidate in candidates:
        causes.append(_cause(reference, pair, candidate))
        if causes[-1].kind != UNKNOWN:
            return candidate, causes[-1]
    actual = pair.fitted.values
    counts = [np.count_nonzero(subtract(c.values, actual)) for c in candidates]
    nearest = int(np.argmin(counts))
    return candidates[nearest], causes[nearest]


def _expectations(reference: Reference, name: str, seen: Seen) -> Iterator[Expectation]:
    """What the tensor should be: from B's inputs, from what these were meant to be, from A's."""
    assert reference.graph is not None
    if name in reference.makers:
        part = leading_to(reference.graph, name, seen.dumped.keys() | seen.meant.keys())
        made = _made(reference, part, seen.dumped)
        if made is not None:
            yield made
        if any(seen.meant.get(i) is not seen.dumped.get(i) for i in part.inputs):
            meant = _made(reference, part, seen.meant)
            if meant is not None:
                yield meant
        inputs = {i: reference.values[i] for i in part.inputs if i in reference.values}
        alone = Alone(part, inputs) if _is_alone(part, inputs) else None
        yield Expectation(reference.values[name], "A's inputs", alone)
    else:
        yield Expectation(reference.values[name])


def _made(reference: Reference, part: Part, known: Arrays) -> Expectation | None:
    """What the model makes of known tensors; side A's where B has none."""
    inputs, whose = {}, []
    for name in part.inputs:
        if name not in known and name not in reference.values:
            return None
        inputs[name] = known[name] if name in known else reference.values[name]
        whose.append(f"{'B' if name in known else 'A'}'s {name}")
    try:
        values = part.run(inputs)
    except (ModelError, TypeError, ValueError):
        return None
    alone = Alone(part, inputs) if _is_alone(part, inputs) else None
    between = [node.name for node in part.graph.nodes[:-1]]
    through = f", through {', '.join(between)}, which B does not show" if between else ""
    return Expectation(values, ", ".join(whose) + through, alone)


def _is_alone(part: Part, inputs: Arrays) -> bool:
    return len(part.graph.nodes) == 1 and set(part.inputs) <= inputs.keys()


def _cause(reference: Reference, pair: Pair, expected: Expectation) -> Cause:
    assert pair.fitted is not None
    wanted, actual = pair.wanted, pair.fitted.values
    if wanted.dtype not in LIMITS:
        sentence = f"{wanted.dtype} values have no codes to explain"
        return Cause(UNKNOWN, sentence, "", "", 0.0, False)
    case = Case(
        expected=expected.values.astype(np.int64),
        actual=actual.astype(np.int64),
        dtype=wanted.dtype,
        quantization=wanted.quantization,
        alone=expected.alone,
        others={k: v for k, v in reference.values.items() if k != wanted.name},
    )
    return explain(case)


def _with_place(judged: Judged, expected: Expectation, pair: Pair) -> Judged:
    assert pair.fitted is not None
    difference = subtract(expected.values, pair.fitted.values)
    found = place(expected.values, pair.fitted.values, difference)
    return replace(judged, place=found, maps=maps(difference), histogram=histogram(difference))


def _remember(seen: Seen, pair: Pair, actual: np.ndarray, meant: np.ndarray) -> None:
    """Keep B's tensor for the nodes that read it, where the model's type can hold it."""
    dtype = np.dtype(pair.wanted.dtype)
    name = pair.wanted.name
    if holds(dtype, actual):
        seen.dumped[name] = seen.meant[name] = actual.astype(dtype)
    if meant is not actual and holds(dtype, meant):
        seen.meant[name] = meant.astype(dtype)


def holds(dtype: np.dtype, values: np.ndarray) -> bool:
    """Whether a type of integers can hold all values; any other type does."""
    if dtype.kind not in "iu" or not values.size:
        return True
    limits = np.iinfo(dtype)
    return bool(values.min() >= limits.min and values.max() <= limits.max)


def _behind(reference: Reference, name: str, seen: Seen) -> bool:
    """Whether a faulty tensor leads to this one."""
    if reference.reads is None:
        return bool(seen.faulty)
    wanted, visited = list(reference.reads.get(name, ())), set()
    while wanted:
        source = wanted.pop()
        if source in seen.faulty:
            return True
        if source not in visited:
            visited.add(source)
            wanted += reference.reads.get(source, ())
    return False
