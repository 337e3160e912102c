"""Two sides, tensor by tensor."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..golden import Golden
from ..graph import ABSENT, Graph
from ..headroom import accumulator_text
from ..neural_art.settle import settle
from .fit import Wanted
from .judge import Reference, holds, judge
from .likelier import Likelier, likelier
from .matching import Matching, Pair, match
from .report import DEPARTS, EQUAL, INHERITED, Judged, Party, Report, label
from .sides import Side
from .stated import stated

NAMED = 5
NO_MODEL = (
    "no model: tensors behind the first departure are not judged by themselves, and no other "
    "profile is tried; name it with --model"
)


def diff(a: Side, b: Side, graph: Graph | None = None, layout: str | None = None) -> Report:
    """Compare side B with side A, which is held to be right.

    graph    the model that judges tensors from B's inputs; a's own if None
    layout   of dumps of rank 4: "NHWC" or "NCHW"; found by their shapes if None
    raises   ValueError where nothing can be compared
    """
    graph = _settled(graph or a.graph)
    if a.golden is None and b.golden is not None:
        raise ValueError(f"{a.path}: side A must be the reference, got a {a.kind}; swap the two")
    notes: list[str] = []
    wanted, values = _side_a(a, graph, layout, notes)
    matching = match(wanted, b.dumps, values, layout)
    if not matching.pairs:
        raise ValueError(f"{b.path}: must hold a tensor of {a.path}, got none that has its name or "
                         "its shape")  # fmt: skip
    notes += said(matching, "B")
    reference = _reference(a.golden, graph, values)
    notes += [] if graph is not None else [NO_MODEL]
    told = stated(a.golden, b.golden)
    judged = [replace(t, stated=told.get(t.node, ())) for t in judge(reference, matching.pairs)]
    return Report(
        a=_party(a),
        b=_party(b),
        model="" if graph is None else graph.name,
        tensors=tuple(judged),
        missing=tuple(w.name for w in matching.missing),
        absent={w.name: label(w.name, w.node) for w in matching.missing},
        extra=tuple(d.file or d.name for d in matching.extra),
        notes=(*notes, *told.get("", ())),
        likelier=None if graph is None else _likelier(graph, values, matching.pairs, judged),
    )


def _likelier(
    graph: Graph, values: Mapping[str, np.ndarray], pairs: Sequence[Pair], judged: Sequence[Judged]
) -> Likelier | None:
    """Profiles that explain B better; its tensors are those dumped, A's where there are none."""
    dumped = {
        p.wanted.name: p.fitted.values.astype(p.wanted.dtype)
        for p in pairs
        if p.fitted is not None and holds(np.dtype(p.wanted.dtype), p.fitted.values)
    }
    inputs = {graph.tensors[i].name for i in graph.inputs}
    known = {name: array for name, array in values.items() if name in inputs} | dumped
    departing = [t.name for t in judged if t.verdict == DEPARTS and t.node and t.name in dumped]
    others = [t.name for t in judged if t.verdict in (EQUAL, INHERITED) and t.node]
    return likelier(graph, departing, others, known) if departing else None


def _settled(graph: Graph | None) -> Graph | None:
    return None if graph is None else settle(graph)


def _side_a(
    a: Side, graph: Graph | None, layout: str | None, notes: list[str]
) -> tuple[Sequence[Wanted], Mapping[str, np.ndarray]]:
    """Side A's tensors in order, and their values."""
    if a.golden is not None:
        makers = _makers(a.golden)
        recorded = list(a.golden.sequence())
        wanted = [
            Wanted(t.name, t.shape, t.dtype, t.quantization, makers.get(t.name, ("", ""))[0])
            for t in recorded
        ]
        return wanted, {t.name: t.values for t in recorded if t.values is not None}
    if graph is None:
        wanted = [Wanted(d.name, d.values.shape, _dtype(d.values, d.raw), None) for d in a.dumps]
        return wanted, {d.name: d.values.view(_dtype(d.values, d.raw)) for d in a.dumps}
    matching = match(wanted_tensors(graph, a), a.dumps, {}, layout)
    notes += said(matching, "A")
    fitted = {p.wanted.name: p.fitted for p in matching.pairs if p.fitted is not None}
    values = {name: f.values for name, f in fitted.items()}
    return [p.wanted for p in matching.pairs if p.fitted is not None], values


def _dtype(values: np.ndarray, raw: bool) -> str:
    """Raw bytes of unknown type are taken for int8."""
    return "int8" if raw else values.dtype.name


def wanted_tensors(graph: Graph, side: Side) -> list[Wanted]:
    """A graph's inputs and activations in the order of execution, for the batch of a side."""
    made = [(i, node.name) for node in graph.nodes for i in node.outputs]
    tensors = [(graph.tensors[i], node) for i, node in (*((i, "") for i in graph.inputs), *made)]
    batches = batches_in(side, graph) or 1
    return [
        Wanted(t.name, (batches * t.shape[0], *t.shape[1:]) if t.shape else (), t.dtype,
               t.quantization, node)
        for t, node in tensors
    ]  # fmt: skip


def batches_in(side: Side, graph: Graph) -> int | None:
    """How often a side holds the graph's batch; None where no shape tells."""
    inner = [*graph.inputs, *(i for node in graph.nodes for i in node.outputs)]
    counts = Counter(
        len(dump.values) // t.shape[0]
        for dump in side.dumps
        for t in (graph.tensors[i] for i in inner)
        if not dump.raw and t.shape and dump.values.shape[1:] == t.shape[1:]
    )
    return counts.most_common(1)[0][0] if counts else None


def _reference(
    golden: Golden | None, graph: Graph | None, values: Mapping[str, np.ndarray]
) -> Reference:
    source = graph or golden
    if source is None:
        return Reference(values, {}, None, None)
    reads = {
        source.tensors[o].name: [
            source.tensors[i].name
            for i in node.inputs
            if i != ABSENT and source.tensors[i].kind != "constant"
        ]
        for node in source.nodes
        for o in node.outputs
    }
    return Reference(values, _makers(source), reads, graph)


def _makers(source: Graph | Golden) -> dict[str, tuple[str, str]]:
    return {
        source.tensors[o].name: (node.name, node.op) for node in source.nodes for o in node.outputs
    }


def _party(side: Side) -> Party:
    golden = side.golden
    if golden is None:
        return Party(side.path, side.kind, "", "", len(side.dumps))
    accumulator = accumulator_text(golden.profile, golden.accumulator)
    return Party(side.path, side.kind, golden.profile, accumulator, len(side.dumps))


def said(matching: Matching, side: str) -> Iterator[str]:
    """How a side's dumps were matched and read, aloud."""
    ordered = [p for p in matching.pairs if p.by == "order"]
    if ordered:
        listed = [f"{p.dump.file or p.dump.name} is {p.wanted.name}" for p in ordered]
        yield f"{side}: matched by order and shape: {_few(listed)}"
    read: dict[str, list[str]] = {}
    for pair in matching.pairs:
        if pair.fitted is not None and pair.fitted.read_as:
            read.setdefault(pair.fitted.read_as, []).append(pair.dump.file or pair.dump.name)
        elif pair.fitted is not None and pair.dump.raw:
            how = f"raw {pair.wanted.dtype} in the model's shape"
            read.setdefault(how, []).append(pair.dump.file)
    for how, files in read.items():
        yield f"{side}: read as {how}: {_few(files)}"


def _few(texts: Sequence[str]) -> str:
    more = f" and {len(texts) - NAMED} more" if len(texts) > NAMED else ""
    return ", ".join(texts[:NAMED]) + more
