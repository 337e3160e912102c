"""Head-room as a page for people: a line per node, then what was found, kind by kind."""

import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console

from .columns import Column, fitted, left_out_line
from .describe_page import PIPE_WIDTH
from .headroom_check import Channels, Headroom, NodeHeadroom
from .neural_art.stored import PROFILE, VISIBLE_BITS

TEXT_WIDTH = 100
FEW = 6


def _count(channels: Channels) -> str:
    return str(len(channels) or "")


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _of(what: str) -> Callable[[NodeHeadroom], str]:
    return lambda n: f"{n.total(what):,}" if n.overflowing else ""


COLUMNS = (
    Column("node", "left", lambda n: n.node),
    Column("op", "left", lambda n: n.op),
    Column("bound", "right", lambda n: _number(n.bound)),
    Column("bits", "right", lambda n: _number(n.bits)),
    Column("least", "right", lambda n: _number(n.low)),
    Column("greatest", "right", lambda n: _number(n.high)),
    Column("seen", "right", lambda n: _number(n.bits_seen)),
    Column("overflows", "right", _of("overflows")),
    Column(
        "channels", "right", lambda n: f"{len(n.overflowing)}/{n.count}" if n.overflowing else ""
    ),
    Column("outputs", "right", _of("outputs")),
    Column("changed", "right", _of("changed")),
    Column("bias", "right", lambda n: _count((*n.saturated_biases, *n.biases_out_of_range))),
    Column("dead", "right", lambda n: _count(n.dead)),
    Column("lost", "right", lambda n: _count(n.without_multiplier)),
    Column("constant", "right", lambda n: _count(n.constant)),
)
FIRST_TO_GO = ("op", "node", "constant", "least", "greatest", "outputs", "bound", "channels",
               "changed")  # fmt: skip


def page(headroom: Headroom, console: Console | None = None) -> str:
    """The page, made for `console`: for standard output if None. Empty columns are not shown."""
    console = console or Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    filled = [c for c in COLUMNS if any(map(c.cell, headroom.nodes))]
    table, left_out = fitted(filled, headroom.nodes, console.width, FIRST_TO_GO, _style)
    with console.capture() as captured:
        _print(console, [_heading(headroom)])
        if headroom.nodes:
            console.print(table)
        if left_out:
            _print(console, [left_out_line(left_out)])
        _print(console, _results(headroom))
    return captured.get()


def _style(node: NodeHeadroom) -> str | None:
    """Red where sums left the accumulator or a channel is spoiled, yellow where they may leave."""
    spoiled = (node.overflowing, node.saturated_biases, node.biases_out_of_range, node.dead,
               node.without_multiplier)  # fmt: skip
    if any(spoiled):
        return "bold red"
    return "yellow" if node.unproven else None


def _print(console: Console, lines: Sequence[str] | Iterator[str]) -> None:
    for line in lines:
        width = min(console.width, TEXT_WIDTH)
        for part in textwrap.wrap(line, width, subsequent_indent="  ", break_on_hyphens=False):
            console.print(part, markup=False, highlight=False, soft_wrap=True)


def _heading(h: Headroom) -> str:
    a = h.accumulator
    held = "exact sums" if h.profile == PROFILE else f"accumulator {a.bits} bits, {a.overflow}"
    images = f", {h.images:,} image{'s' * (h.images != 1)}" if h.images else ", no input"
    return f"{h.name}: profile {h.profile}, {held}{images}"


def _results(h: Headroom) -> Iterator[str]:
    """What was found, one line for each kind; the last line is the verdict."""
    summing = [n for n in h.nodes if n.bound is not None]
    if not summing:
        yield "no node forms sums of products"
    else:
        yield _proof(h, summing)
        if h.images:
            yield _seen(h, summing)
    for text, of in SPOILED.items():
        found = [(n.node, getattr(n, of)) for n in h.nodes if getattr(n, of)]
        if found:
            places = [f"{node} {_listed(channels)}" for node, channels in found[:FEW]]
            more = f"; and {len(found) - FEW} more nodes" if len(found) > FEW else ""
            yield f"{text}: {'; '.join(places)}{more}"
    if h.findings:
        kinds = list(dict.fromkeys(f.kind for f in h.findings))
        counts = (sum(f.kind == kind for f in h.findings) for kind in kinds)
        told = (f"{kind} in {_nodes(n)}" for kind, n in zip(kinds, counts, strict=True))
        yield f"found: {', '.join(told)}"
    else:
        yield "nothing found"


SPOILED = {
    "bias at the end of int32, so s_x * s_w is too small for it": "saturated_biases",
    "bias that the accumulator does not hold": "biases_out_of_range",
    "dead, all weights are 0": "dead",
    "lost multiplier, the scales leave 0": "without_multiplier",
}
"""What is wrong with a channel, and which of a node's channels it is told of."""


def _proof(h: Headroom, nodes: Sequence[NodeHeadroom]) -> str:
    widest = max(nodes, key=lambda n: n.bound or 0)
    needs = f"{widest.node} may need {widest.bits} bits"
    unproven = [n for n in nodes if n.unproven]
    if unproven:
        return (f"not proven: sums of {len(unproven)} of {_nodes(len(nodes))} may leave "
                f"{_width(h, unproven[0])} bits: {needs}")  # fmt: skip
    if h.profile == PROFILE:
        return f"whatever the input: {needs}; a board shows {VISIBLE_BITS}"
    return f"whatever the input, no sum leaves {h.accumulator.bits} bits: {needs}"


def _seen(h: Headroom, nodes: Sequence[NodeHeadroom]) -> str:
    formed = f"{sum(n.sums_formed for n in nodes):,}"
    widest = max(nodes, key=lambda n: n.bits_seen or 0)
    overflowing = [n for n in nodes if n.overflowing]
    if not overflowing and h.profile == PROFILE:
        return f"on this input: {widest.node} needed {widest.bits_seen} bits"
    if not overflowing:
        return (f"on this input, no sum of {formed} outputs left {h.accumulator.bits} bits: "
                f"{widest.node} needed {widest.bits_seen}")  # fmt: skip
    counts = {w: sum(n.total(w) for n in nodes) for w in ("overflows", "outputs", "changed")}
    most = max(overflowing, key=lambda n: n.total("overflows"))
    assert most.sums is not None
    channel = int(most.sums.overflows.argmax())
    changed = (
        f", {counts['changed']:,} of them changed" if h.accumulator.overflow != "error" else ""
    )
    return (f"on this input: {counts['overflows']:,} overflows in {_nodes(len(overflowing))}, in "
            f"{counts['outputs']:,} of {formed} outputs{changed}; "
            f"most in {most.node}, channel {channel}")  # fmt: skip


def _width(h: Headroom, node: NodeHeadroom) -> int:
    """Bits of the accumulator of a node's sums."""
    return (node.accumulator or h.accumulator).bits


def _nodes(count: int) -> str:
    return f"{count} node{'s' * (count != 1)}"


def _listed(channels: Channels) -> str:
    """ "channels 3, 4 and 5 more"."""
    more = f" and {len(channels) - FEW} more" if len(channels) > FEW else ""
    plural = "s" * (len(channels) != 1)
    return f"channel{plural} {', '.join(map(str, channels[:FEW]))}{more}"
