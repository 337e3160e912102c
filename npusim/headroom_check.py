"""Head-room: what every node's sums can reach, what they reach on given inputs, what is spoiled.

headroom = npusim.check_headroom(npusim.load("model.tflite"), images)
print(headroom.findings)
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np

from . import channels
from .arena import tensor_bytes
from .channels import Channels
from .clamps import Clamps, Reach, Stage, clamps_inside, node_clamps, reach
from .engine import Arrays, Session
from .graph import Accumulator, Graph, Node
from .headroom import (
    WEIGHTED,
    accumulator,
    accumulator_of,
    bits_needed,
    bits_of_range,
    channel_bounds,
)
from .lost import Lost, lost_multipliers
from .progress import Progress
from .tally import Sums, node_sums

TRACE_BYTES = 64 << 20
"""Activations of so many bytes are held at a time."""
STEPS = 20
"""Progress is told so often, or oftener."""


@dataclass(frozen=True)
class NodeHeadroom:
    """One node; channels are output channels, by number.

    node, op             its name and operator
    count                output channels, 0 where the node has no weights
    bound, bits          largest magnitude a sum can reach, and the bits that hold it; None without
                         weights
    unproven             channels that may leave the accumulator; on Neural-ART, those whose code a
                         stage's clamp may change
    saturated_biases     channels whose bias is the first or last int32
    biases_out_of_range  channels whose bias the accumulator does not hold
    saturated_offsets    channels whose BC_c, on Neural-ART, is the first or last int32
    dead                 channels with weights of 0 only
    lost                 multipliers of 0, by reason
    constant             channels whose outputs were all the same on the inputs; information, no
                         finding
    bounds               of every channel
    accumulator          of its sums; None without weights
    sums                 what they did on the inputs; None without inputs or weights
    sums_formed          how many there were
    stages               those of Neural-ART that clamp on the way to a code
    clamps               what they did on the inputs; None without inputs or stages
    """

    node: str
    op: str
    count: int = 0
    bound: int | None = None
    bits: int | None = None
    unproven: Channels = ()
    saturated_biases: Channels = ()
    biases_out_of_range: Channels = ()
    saturated_offsets: Channels = ()
    dead: Channels = ()
    lost: tuple[Lost, ...] = ()
    constant: Channels = ()
    bounds: Channels = ()
    sums: Sums | None = None
    sums_formed: int = 0
    accumulator: Accumulator | None = None
    stages: tuple[Stage, ...] = ()
    clamps: Clamps | None = None

    @property
    def low(self) -> int | None:
        """The least sum seen."""
        return None if self.sums is None else int(self.sums.low.min())

    @property
    def high(self) -> int | None:
        """The greatest sum seen."""
        return None if self.sums is None else int(self.sums.high.max())

    @property
    def bits_seen(self) -> int | None:
        """Bits of the narrowest accumulator that would have held every sum seen."""
        if self.low is None or self.high is None:
            return None
        return bits_of_range(self.low, self.high)

    @property
    def overflowing(self) -> Channels:
        """Channels with a sum that left the accumulator."""
        return () if self.sums is None else tuple(np.flatnonzero(self.sums.overflows).tolist())

    @property
    def clamped(self) -> Channels:
        """Channels with a code that a clamp on the way changed."""
        return () if self.clamps is None else tuple(np.flatnonzero(self.clamps.changed).tolist())

    @property
    def without_multiplier(self) -> Channels:
        """Channels with a multiplier of 0, for any reason."""
        return tuple(sorted({channel for lost in self.lost for channel in lost.channels}))

    def total(self, what: str) -> int:
        """Overflows, outputs or changed of all channels."""
        return 0 if self.sums is None else int(getattr(self.sums, what).sum())

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON's types.

        The fields under their names, channels as lists of numbers; `accumulator` as an object
        with `bits` and `overflow`, `lost` as objects with `reason` and `channels`; and
          stages   objects with `name`, width `bits` and, before the clamp, `bits_needed` and by
                   channel `low`, `high`
          seen     None without inputs or weights, else `low`, `high` (sums, in units of
                   s_x * s_w), the `bits` that hold them, totals `overflows`, `outputs`, `changed`
                   (counts), and these and the extremes by channel under `channels`
          clamps   None without inputs or stages, else totals `stages` (counts by stage),
                   `outputs`, `changed`, and the same by channel under `channels`
        """
        own = ("lost", "stages", "sums", "clamps", "accumulator")
        facts = {f.name: getattr(self, f.name) for f in fields(self) if f.name not in own}
        return {
            **facts,
            "accumulator": None if self.accumulator is None else asdict(self.accumulator),
            "lost": [lost._asdict() for lost in self.lost],
            "stages": [_stage_facts(stage) for stage in self.stages],
            "seen": self._seen_facts(),
            "clamps": None if self.clamps is None else _clamp_facts(self.clamps),
        }

    def _seen_facts(self) -> dict[str, Any] | None:
        if self.sums is None:
            return None
        totals = {name: self.total(name) for name in ("overflows", "outputs", "changed")}
        by_channel = {name: values.tolist() for name, values in self.sums._asdict().items()}
        return {"low": self.low, "high": self.high, "bits": self.bits_seen, **totals,
                "channels": by_channel}  # fmt: skip


def _stage_facts(stage: Stage) -> dict[str, Any]:
    return {"name": stage.name, "bits": stage.bits, "bits_needed": stage.bits_needed,
            "low": stage.low.tolist(), "high": stage.high.tolist()}  # fmt: skip


def _clamp_facts(clamps: Clamps) -> dict[str, Any]:
    stages = {name: counts.tolist() for name, counts in clamps.stages.items()}
    by_channel = {"outputs": clamps.outputs.tolist(), "changed": clamps.changed.tolist()}
    return {
        "stages": {name: sum(counts) for name, counts in stages.items()},
        **{name: sum(counts) for name, counts in by_channel.items()},
        "channels": {"stages": stages, **by_channel},
    }


class Finding(NamedTuple):
    """Something to look at: its kind, one of KINDS; the node; its channels."""

    kind: str
    node: str
    channels: Channels


KINDS: Mapping[str, str] = {
    "overflow": "overflowing",
    "clamp": "clamped",
    "unproven": "unproven",
    "saturated bias": "saturated_biases",
    "bias out of range": "biases_out_of_range",
    "saturated offset": "saturated_offsets",
    "dead channel": "dead",
    "no multiplier": "without_multiplier",
}
"""Kinds of findings, and the channels of a `NodeHeadroom` that each is about."""


@dataclass(frozen=True)
class Headroom:
    """A model's head-room.

    nodes    those with weights, and others that have a finding, in the order of execution
    images   how many the sums were formed for; 0 without inputs
    """

    name: str
    profile: str
    accumulator: Accumulator
    images: int
    nodes: tuple[NodeHeadroom, ...]

    @property
    def findings(self) -> tuple[Finding, ...]:
        """All findings, in the order of KINDS and of execution."""
        found = ((kind, n.node, getattr(n, of)) for kind, of in KINDS.items() for n in self.nodes)
        return tuple(Finding(*f) for f in found if f[2])

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON's types.

        `model` and `profile` (names), `accumulator` (`bits`, `overflow`), `images` (how many),
        `nodes` (as `NodeHeadroom.as_dict`), `findings` (objects with `kind`, `node`, `channels`)
        """
        return {
            "model": self.name,
            "profile": self.profile,
            "accumulator": asdict(self.accumulator),
            "images": self.images,
            "nodes": [node.as_dict() for node in self.nodes],
            "findings": [finding._asdict() for finding in self.findings],
        }


def check_headroom(
    graph: Graph,
    x: Arrays | None = None,
    *,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Headroom:
    """How much room the accumulators of a graph leave, and which channels are spoiled.

    x          inputs as `Session.run` takes them; only what holds for all inputs is told if None
    threads    as of `Session`
    progress   called with the images done and their number
    returns    Headroom; counts follow the documented order of accumulation. Under an accumulator
               that refuses ("error") the model runs on with exact sums, so that every overflow that
               it would refuse is counted. On Neural-ART sums have no bias and do not overflow;
               there the stages behind them clamp, which is counted instead
    raises     as `Session` and its `run` do
    """
    session = Session(_running(graph), threads=threads)
    whole = replace(session.graph, accumulator=graph.accumulator)
    nodes = {k: _static(whole, n) for k, n in enumerate(whole.nodes)}
    seen: dict[int, _Seen] = {}
    done = 0
    for done, values in () if x is None else _traces(session, x, progress):  # noqa: B007
        for k, node in enumerate(whole.nodes):
            if node.op in WEIGHTED or clamps_inside(whole, node):
                fresh = _see(whole, node, values)
                seen[k] = seen[k].joined(fresh) if k in seen else fresh
    for k, s in seen.items():
        nodes[k] = replace(nodes[k], sums=s.sums, sums_formed=0 if s.sums is None else s.formed,
                           constant=s.constant, clamps=s.clamps)  # fmt: skip
    told = (n for n in nodes.values()
            if n.count or n.stages or any(getattr(n, of) for of in KINDS.values()))  # fmt: skip
    return Headroom(graph.name, graph.profile, accumulator(graph), done, tuple(told))


class _Seen(NamedTuple):
    """A node's sums and clamps, how many codes, and the least and greatest of every channel."""

    sums: Sums | None
    clamps: Clamps | None
    formed: int
    low: np.ndarray
    high: np.ndarray

    def joined(self, other: "_Seen") -> "_Seen":
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        sums = self.sums and other.sums and self.sums.joined(other.sums)
        clamps = self.clamps and other.clamps and self.clamps.joined(other.clamps)
        return _Seen(sums, clamps, self.formed + other.formed, low, high)

    @property
    def constant(self) -> Channels:
        """Channels with one code in all of several outputs."""
        several = self.formed > len(self.low)
        return tuple(np.flatnonzero(self.low == self.high).tolist()) if several else ()


def _running(graph: Graph) -> Graph:
    """The graph as it runs here: what must not overflow is wide enough that nothing does."""
    if accumulator(graph).overflow != "error":
        return graph
    return replace(graph, accumulator=Accumulator(64, "wrap"))


def _static(graph: Graph, node: Node) -> NodeHeadroom:
    """What holds for all inputs."""
    lost = lost_multipliers(graph, node)
    inside = reach(graph, node) if clamps_inside(graph, node) else Reach((), ())
    if node.op not in WEIGHTED:
        return NodeHeadroom(node.name, node.op, lost=lost, stages=inside.stages,
                            unproven=inside.unproven)  # fmt: skip
    bounds, held = channel_bounds(graph, node).tolist(), accumulator_of(graph, node)
    return NodeHeadroom(
        node=node.name,
        op=node.op,
        count=len(bounds),
        bound=max(bounds),
        bits=bits_needed(max(bounds)),
        unproven=inside.unproven if inside.stages else channels.unproven(graph, node, held),
        saturated_biases=channels.saturated_biases(graph, node),
        biases_out_of_range=channels.biases_out_of_range(graph, node, held),
        saturated_offsets=channels.saturated_offsets(graph, node),
        dead=channels.dead(graph, node),
        lost=lost,
        bounds=tuple(bounds),
        accumulator=held,
        stages=inside.stages,
    )


def _see(graph: Graph, node: Node, values: Mapping[str, np.ndarray]) -> _Seen:
    """What a node does in one run."""
    x, y = (values[graph.tensors[i].name] for i in (node.inputs[0], node.outputs[0]))
    weighted = node.op in WEIGHTED
    sums = node_sums(graph, node, x, accumulator_of(graph, node)) if weighted else None
    clamps = node_clamps(graph, node, x) if clamps_inside(graph, node) else None
    codes = y.reshape(-1, y.shape[-1])
    return _Seen(sums, clamps, codes.size, codes.min(0), codes.max(0))


def _traces(
    session: Session, x: Arrays, progress: Progress | None
) -> Iterator[tuple[int, Mapping[str, np.ndarray]]]:
    """Images done and every tensor's values, some images at a time."""
    shapes = {t.name: t.shape for t in (session.graph.tensors[i] for i in session.graph.inputs)}
    codes = session.input_codes(x)
    first = next(iter(shapes))
    batch = (shapes[first] or (1,))[0]
    total = len(codes[first]) // batch
    if not total:
        raise ValueError("inputs: must hold at least one image, got none")
    step = max(1, min(TRACE_BYTES // _batch_bytes(session.graph), -(-total // STEPS)))
    told = progress or (lambda done, total: None)
    told(0, total * batch)
    for start in range(0, total, step):
        done = min(start + step, total)
        part = {n: _batches(v, shapes[n], start, done) for n, v in codes.items()}
        yield done * batch, dict(session.trace(part))
        told(done * batch, total * batch)


def _batches(codes: np.ndarray, shape: tuple[int, ...], start: int, end: int) -> np.ndarray:
    """Some of the batches of an input of that declared shape; a scalar is the only one."""
    return codes[start * shape[0] : end * shape[0]] if shape else codes.reshape(())


def _batch_bytes(graph: Graph) -> int:
    """Bytes of all activations of one batch."""
    return sum(tensor_bytes(graph, i) for i, t in enumerate(graph.tensors) if t.data is None)
