"""Head-room: what every node's sums can reach, what they reach on given inputs, what is spoiled.

headroom = npusim.check_headroom(npusim.load("model.tflite"), images)
print(headroom.findings)
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from . import channels
from .arena import tensor_bytes
from .channels import Channels
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
    unproven             channels that may leave the accumulator
    saturated_biases     channels whose bias is the first or last int32
    biases_out_of_range  channels whose bias the accumulator does not hold
    dead                 channels with weights of 0 only
    without_multiplier   channels whose scales leave a multiplier of 0
    constant             channels whose outputs were all the same on the inputs; information, no
                         finding
    bounds               of every channel
    accumulator          of its sums; None without weights
    sums                 what they did on the inputs; None without inputs or weights
    sums_formed          how many there were
    """

    node: str
    op: str
    count: int = 0
    bound: int | None = None
    bits: int | None = None
    unproven: Channels = ()
    saturated_biases: Channels = ()
    biases_out_of_range: Channels = ()
    dead: Channels = ()
    without_multiplier: Channels = ()
    constant: Channels = ()
    bounds: Channels = ()
    sums: Sums | None = None
    sums_formed: int = 0
    accumulator: Accumulator | None = None

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

    def total(self, what: str) -> int:
        """Overflows, outputs or changed of all channels."""
        return 0 if self.sums is None else int(getattr(self.sums, what).sum())

    def as_dict(self) -> dict[str, Any]:
        """Everything as JSON's types."""
        facts = {k: v for k, v in asdict(replace(self, sums=None)).items() if k != "sums"}
        seen = None
        if self.sums is not None:
            totals = {name: self.total(name) for name in ("overflows", "outputs", "changed")}
            by_channel = {name: values.tolist() for name, values in self.sums._asdict().items()}
            seen = {"low": self.low, "high": self.high, "bits": self.bits_seen, **totals,
                    "channels": by_channel}  # fmt: skip
        return {**facts, "seen": seen}


class Finding(NamedTuple):
    """Something to look at: its kind, one of KINDS; the node; its channels."""

    kind: str
    node: str
    channels: Channels


KINDS: Mapping[str, str] = {
    "overflow": "overflowing",
    "unproven": "unproven",
    "saturated bias": "saturated_biases",
    "bias out of range": "biases_out_of_range",
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
        """Everything as JSON's types."""
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
               it would refuse is counted. Under the profile neural-art sums have no bias and do not
               overflow; what its stages clamp is not counted
    raises     as `Session` and its `run` do
    """
    session = Session(_running(graph), threads=threads)
    whole = replace(session.graph, accumulator=graph.accumulator)
    nodes = {k: _static(whole, n) for k, n in enumerate(whole.nodes)}
    seen: dict[int, _Seen] = {}
    done = 0
    for done, values in () if x is None else _traces(session, x, progress):  # noqa: B007
        for k, node in enumerate(whole.nodes):
            if node.op in WEIGHTED:
                fresh = _see(whole, node, values)
                seen[k] = seen[k].joined(fresh) if k in seen else fresh
    for k, s in seen.items():
        nodes[k] = replace(nodes[k], sums=s.sums, sums_formed=s.formed, constant=s.constant)
    told = (n for n in nodes.values() if n.count or any(getattr(n, of) for of in KINDS.values()))
    return Headroom(graph.name, graph.profile, accumulator(graph), done, tuple(told))


class _Seen(NamedTuple):
    """A node's sums, how many, and the least and greatest code of every channel."""

    sums: Sums
    formed: int
    low: np.ndarray
    high: np.ndarray

    def joined(self, other: "_Seen") -> "_Seen":
        low, high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return _Seen(self.sums.joined(other.sums), self.formed + other.formed, low, high)

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
    lost = channels.without_multiplier(graph, node)
    if node.op not in WEIGHTED:
        return NodeHeadroom(node.name, node.op, without_multiplier=lost)
    bounds, held = channel_bounds(graph, node).tolist(), accumulator_of(graph, node)
    return NodeHeadroom(
        node=node.name,
        op=node.op,
        count=len(bounds),
        bound=max(bounds),
        bits=bits_needed(max(bounds)),
        unproven=channels.unproven(graph, node, held),
        saturated_biases=channels.saturated_biases(graph, node),
        biases_out_of_range=channels.biases_out_of_range(graph, node, held),
        dead=channels.dead(graph, node),
        without_multiplier=lost,
        bounds=tuple(bounds),
        accumulator=held,
    )


def _see(graph: Graph, node: Node, values: Mapping[str, np.ndarray]) -> _Seen:
    """What a node does in one run."""
    x, y = (values[graph.tensors[i].name] for i in (node.inputs[0], node.outputs[0]))
    sums = node_sums(graph, node, x, accumulator_of(graph, node))
    codes = y.reshape(-1, len(sums.low))
    return _Seen(sums, codes.size, codes.min(0), codes.max(0))


def _traces(
    session: Session, x: Arrays, progress: Progress | None
) -> Iterator[tuple[int, Mapping[str, np.ndarray]]]:
    """Images done and every tensor's values, some images at a time."""
    rows = {t.name: (t.shape or (1,))[0] for t in (session.graph.tensors[i] for i in
                                                  session.graph.inputs)}  # fmt: skip
    if not isinstance(x, Mapping) and len(rows) == 1:
        x = dict.fromkeys(rows, x)
    named = isinstance(x, Mapping) and x.keys() == rows.keys()
    if not named or not all(map(np.ndim, x.values())):  # type: ignore[union-attr]
        session.run(x)  # says what is wrong with it
    assert isinstance(x, Mapping)
    arrays = {name: np.atleast_1d(values) for name, values in x.items()}
    total = max(len(values) // rows[name] for name, values in arrays.items())
    if not total:
        raise ValueError("inputs: must hold at least one image, got none")
    batch = next(iter(rows.values()))
    step = max(1, min(TRACE_BYTES // _batch_bytes(session.graph), -(-total // STEPS)))
    told = progress or (lambda done, total: None)
    told(0, total * batch)
    for start in range(0, total, step):
        done = min(start + step, total)
        last = None if done == total else done
        part = {n: v[start * rows[n] : last and last * rows[n]] for n, v in arrays.items()}
        yield done * batch, dict(session.trace(part))
        told(done * batch, total * batch)


def _batch_bytes(graph: Graph) -> int:
    """Bytes of all activations of one batch."""
    return sum(tensor_bytes(graph, i) for i, t in enumerate(graph.tensors) if t.data is None)
