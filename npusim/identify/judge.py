"""From a dump to a report."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from math import prod

import numpy as np

from ..diff.compare import batches_in, said, wanted_tensors
from ..diff.fit import UnfitError, Wanted, fit
from ..diff.matching import Matching, match
from ..diff.replay import leading_to
from ..diff.sides import Dump, Side
from ..graph import Graph
from .equality import range_made
from .hidden import verdicts as hidden_verdicts
from .ranges import Range
from .report import Report, accumulators_of, devices_of, kinds_of
from .verdict import SKIPPED, Verdict, unjudged, verdict

Arrays = Mapping[str, np.ndarray]


def identify(
    side: Side, graph: Graph, inputs: Arrays | None = None, layout: str | None = None
) -> Report:
    """Which arithmetic explains a device's tensors.

    side     the dump
    graph    the model it ran; its own profile and accumulator do not count
    inputs   the model's inputs by name, where the dump does not hold them
    layout   of dumps of rank 4: "NHWC" or "NCHW"; found by their shapes if None
    raises   ValueError where no node can be judged
    """
    wanted = wanted_tensors(graph, side)
    if batches_in(side, graph) is not None:
        _check_inputs(side, wanted, inputs or {})
    matching = match(wanted, side.dumps, {}, layout)
    taken, left_out = _taken(matching)
    notes = (*said(matching, "dump"), *_unused(matching, layout), *left_out)
    known = {**(inputs or {}), **taken}
    ranges: dict[str, Range] = {}
    found = _in_order(graph, judged(graph, known, ranges))
    _check_fits(side, graph, matching, known, all(v.status == SKIPPED for v in found))
    return assembled(graph, found, Report(
        side.path, graph.name, _images(graph, known), (), (), (), None, notes, known, ranges
    ))  # fmt: skip


def _unused(matching: Matching, layout: str | None) -> Iterator[str]:
    """Why dumps are no tensors of the model."""
    for dump in matching.extra:
        name = dump.file or dump.name
        yield f"{name} is left out: {_why(dump, matching.missing, layout)}"


def _taken(matching: Matching) -> tuple[dict[str, np.ndarray], list[str]]:
    """Codes by tensor, in the graph's types; and which tensors are left out, and why."""
    known, notes = {}, []
    for pair in matching.pairs:
        wanted = pair.wanted
        if pair.fitted is None:
            notes.append(f"{wanted.name} is left out: {pair.reason}")
        elif not _holds(wanted.dtype, pair.fitted.values):
            notes.append(f"{wanted.name} is left out: its values are no {wanted.dtype}")
        else:
            known[wanted.name] = pair.fitted.values.astype(wanted.dtype)
    return known, notes


def _check_fits(side: Side, graph: Graph, matching: Matching, known: Arrays, nothing: bool) -> None:
    """ValueError for a dump of another model, or one of which nothing can be judged.

    nothing   whether no node was judged
    """
    unfit = [p for p in matching.pairs if p.fitted is None]
    # without an input that fits, what is left over fits by chance
    if unfit and (nothing or any(not p.wanted.node and p.wanted.name not in known for p in unfit)):
        raise ValueError(f"{side.path}: must be a dump of {graph.name}, got another: "
                         f"{unfit[0].wanted.name}: {unfit[0].reason}")  # fmt: skip
    if nothing:
        raise ValueError(f"{side.path}: must hold a tensor of {graph.name} and what it is made "
                         "from, got neither; name the model's input with --input")  # fmt: skip


def _why(dump: Dump, missing: Sequence[Wanted], layout: str | None) -> str:
    """Why a dump is no tensor that is missing."""
    for wanted in missing:
        if not dump.raw and dump.values.size == prod(wanted.shape):
            try:
                fit(dump, wanted, layout)
            except UnfitError as error:
                return str(error)
    return "no tensor that is missing has its name, or its shape and place"


def _check_inputs(side: Side, wanted: Sequence[Wanted], inputs: Arrays) -> None:
    """ValueError where inputs are of other shapes than the dump's images have."""
    shapes = {w.name: w.shape for w in wanted}
    for name, values in inputs.items():
        if values.shape != shapes[name]:
            raise ValueError(f"input {name}: must be {shapes[name]}, as {side.path} has it, got "
                             f"{values.shape}")  # fmt: skip


def judged(graph: Graph, known: Arrays, ranges: dict[str, Range]) -> Iterator[Verdict]:
    """A verdict on every node that leads to a known tensor, and on those that lead to none.

    known    codes by name, in the graph's types
    ranges   codes that tensors can have at all; added to
    """
    seen = set()
    for node in graph.nodes:
        name = graph.tensors[node.outputs[0]].name
        if name not in known:
            continue
        part = leading_to(graph, name, known)
        inputs = {i: known[i] for i in part.inputs if i in known}
        missing = [i for i in part.inputs if i not in known]
        if missing:
            reason = f"the dump does not hold {missing[0]}, an input of the model"
            yield from (unjudged(graph, graph.node(n.name), reason) for n in part.graph.nodes)
        elif len(part.graph.nodes) == 1:
            found = verdict(part, inputs, known[name], ranges)
            made = range_made(part.graph, part.last, found.survivors, ranges)
            if made is not None:
                ranges[name] = made
            yield found
        else:
            yield from hidden_verdicts(part, inputs, known[name])
        seen |= {n.name for n in part.graph.nodes}
    for node in graph.nodes:
        if node.name not in seen:
            name = graph.tensors[node.outputs[0]].name
            yield unjudged(graph, node, f"the dump holds neither {name} nor a tensor that follows "
                           "from it")  # fmt: skip


def assembled(graph: Graph, verdicts: Sequence[Verdict], blank: Report) -> Report:
    """The report of verdicts."""
    return replace(
        blank,
        verdicts=tuple(verdicts),
        kinds=kinds_of([v for v in verdicts if not v.moves]),
        devices=devices_of(graph, verdicts),
        accumulators=accumulators_of(verdicts),
    )


def _in_order(graph: Graph, verdicts: Iterator[Verdict]) -> list[Verdict]:
    """One verdict per node, in the order of execution; of a node judged twice the surer one."""
    best: dict[str, Verdict] = {}
    for v in verdicts:
        other = best.get(v.node)
        if other is None or len(v.together) < len(other.together) or other.status == SKIPPED:
            best[v.node] = v
    return [best[node.name] for node in graph.nodes]


def _images(graph: Graph, known: Arrays) -> int:
    name = graph.tensors[graph.inputs[0]].name
    arrays = known.get(name, next(iter(known.values())))
    return len(arrays) if arrays.ndim else 1


def _holds(dtype: str, values: np.ndarray) -> bool:
    if np.dtype(dtype).kind not in "iu" or not values.size:
        return True
    limits = np.iinfo(dtype)
    return bool(values.min() >= limits.min and values.max() <= limits.max)
