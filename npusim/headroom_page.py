"""Head-room as a page for people: a line per node, then what was found, kind by kind."""

import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence

from rich.console import Console

from .columns import Column, fitted, left_out_line
from .describe_page import PIPE_WIDTH
from .headroom_check import Channels, Headroom, NodeHeadroom
from .neural_art.stored import PROFILE, VISIBLE_BITS
from .plurals import counted

TEXT_WIDTH = 100
FEW = 6


def _count(channels: Channels) -> str:
    return str(len(channels) or "")


def _number(value: int | None) -> str:
    return "" if value is None else f"{value:,}"


def _of(what: str) -> Callable[[NodeHeadroom], str]:
    return lambda n: f"{n.total(what):,}" if n.overflowing else ""


def _register(name: str) -> Column:
    """Bits that a stage of that name would need so as never to clamp."""

    def cell(n: NodeHeadroom) -> str:
        return "".join(str(stage.bits_needed) for stage in n.stages if stage.name == name)

    return Column(name, "right", cell)


def _clamps(what: str) -> Callable[[NodeHeadroom], str]:
    return lambda n: f"{getattr(n.clamps, what).sum():,}" if _clamping(n) else ""


def _clamping(n: NodeHeadroom) -> bool:
    """Whether a stage clamped on the inputs."""
    return n.clamps is not None and bool(n.clamps.outputs.any())


STAGES = ("t", "r0", "r1", "p")
COLUMNS = (
    Column("node", "left", lambda n: n.node),
    Column("op", "left", lambda n: n.op),
    Column("bound", "right", lambda n: _number(n.bound)),
    Column("bits", "right", lambda n: _number(n.bits)),
    Column("least", "right", lambda n: _number(n.low)),
    Column("greatest", "right", lambda n: _number(n.high)),
    Column("seen", "right", lambda n: _number(n.bits_seen)),
    *map(_register, STAGES),
    Column("clamped", "right", _clamps("outputs")),
    Column("altered", "right", _clamps("changed")),
    Column("overflows", "right", _of("overflows")),
    Column(
        "channels", "right", lambda n: f"{len(n.overflowing)}/{n.count}" if n.overflowing else ""
    ),
    Column("outputs", "right", _of("outputs")),
    Column("changed", "right", _of("changed")),
    Column("bias", "right", lambda n: _count(_biases(n))),
    Column("dead", "right", lambda n: _count(n.dead)),
    Column("lost", "right", lambda n: _count(n.without_multiplier)),
    Column("constant", "right", lambda n: _count(n.constant)),
)


def _biases(n: NodeHeadroom) -> Channels:
    return tuple({*n.saturated_biases, *n.biases_out_of_range, *n.saturated_offsets})


FIRST_TO_GO = ("op", "node", "constant", "least", "greatest", "outputs", "bound", "channels",
               "changed", "clamped")  # fmt: skip


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
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def _style(node: NodeHeadroom) -> str | None:
    """Red where sums left the accumulator or a channel is spoiled, yellow where they may leave."""
    spoiled = (node.overflowing, node.clamped, _biases(node), node.dead, node.lost)
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
    images = f", {counted(h.images, 'image')}" if h.images else ", no input"
    return f"{h.name}: profile {h.profile}, {held}{images}"


def _results(h: Headroom) -> Iterator[str]:
    """What was found, one line for each kind; the last line is the verdict."""
    summing = [n for n in h.nodes if n.bound is not None]
    if not summing:
        yield "no node forms sums of products"
    for nodes, proof, seen in (
        ([n for n in summing if not n.stages], _proof, _seen),
        ([n for n in summing if n.stages], _proof_of_exact, _seen_exact),
        ([n for n in h.nodes if n.stages], _proof_of_stages, _seen_in_stages),
    ):
        if nodes:
            yield proof(h, nodes)
            if h.images:
                yield seen(h, nodes)
    for text, found in _spoiled(h).items():
        more = f"; and {counted(len(found) - FEW, 'more node')}" if len(found) > FEW else ""
        yield f"{text}: {'; '.join(found[:FEW])}{more}"
    if h.findings:
        kinds = list(dict.fromkeys(f.kind for f in h.findings))
        counts = (sum(f.kind == kind for f in h.findings) for kind in kinds)
        told = (f"{kind} in {counted(n, 'node')}" for kind, n in zip(kinds, counts, strict=True))
        yield f"found: {', '.join(told)}"
    else:
        yield "no findings"


SPOILED = {
    "bias at the end of int32, so s_x * s_w is too small for it": "saturated_biases",
    "bias that the accumulator does not hold": "biases_out_of_range",
    "offset BC_c at the end of int32, which may not hold bias and zero point": "saturated_offsets",
    "dead, all weights are 0": "dead",
}
"""What is wrong with a channel, and which of a node's channels it is told of."""


def _spoiled(h: Headroom) -> dict[str, list[str]]:
    """What is wrong, and the nodes and channels where it is."""
    found: dict[str, list[str]] = {}
    for text, of in SPOILED.items():
        for n in h.nodes:
            if getattr(n, of):
                found.setdefault(text, []).append(_place(n, getattr(n, of)))
    for n in h.nodes:
        for reason, channels in n.lost:
            found.setdefault(f"lost multiplier, {reason}", []).append(_place(n, channels))
    return found


def _place(n: NodeHeadroom, channels: Channels) -> str:
    """ "conv2d_0 channels 3, 4 and 5 more"; the name alone where one number serves all channels."""
    if not n.count:
        return n.node
    more = f" and {len(channels) - FEW} more" if len(channels) > FEW else ""
    plural = counted(len(channels), "channel").partition(" ")[2]
    return f"{n.node} {plural} {', '.join(map(str, channels[:FEW]))}{more}"


def _needs(nodes: Sequence[NodeHeadroom]) -> str:
    widest = max(nodes, key=lambda n: n.bound or 0)
    return f"{widest.node} may need {widest.bits} bits"


def _proof_of_exact(h: Headroom, nodes: Sequence[NodeHeadroom]) -> str:
    return f"whatever the input: {_needs(nodes)}; a board shows {VISIBLE_BITS}"


def _seen_exact(h: Headroom, nodes: Sequence[NodeHeadroom]) -> str:
    widest = max(nodes, key=lambda n: n.bits_seen or 0)
    return f"on this input: {widest.node} needed {widest.bits_seen} bits"


def _proof_of_stages(h: Headroom, nodes: Sequence[NodeHeadroom]) -> str:
    changing = [n for n in nodes if n.unproven]
    stages = ((stage.bits_needed - stage.bits, n.node, stage)
              for n in changing or nodes for stage in n.stages)  # fmt: skip
    over, node, stage = max(stages, key=lambda found: found[0])
    needs = f"{stage.name} of {node} may need {stage.bits_needed} bits, not {stage.bits}"
    if changing:
        return f"not proven: clamps may change codes of {counted(len(changing), 'node')}: {needs}"
    if over > 0:
        return f"whatever the input, no clamp changes a code: {needs}"
    return "whatever the input, no stage clamps"


def _seen_in_stages(h: Headroom, nodes: Sequence[NodeHeadroom]) -> str:
    seen = {n.node: n.clamps for n in nodes if n.clamps}
    counts = {
        name: sum(int(c.stages[name].sum()) for c in seen.values() if name in c.stages)
        for name in STAGES
    }
    told = [f"{name} clamped in {counted(k, 'output')}" for name, k in counts.items() if k]
    if not told:
        return "on this input, no stage clamped"
    node, most = max(seen.items(), key=lambda item: item[1].changed.sum())
    if not most.changed.any():
        return f"on this input: {', '.join(told)}, which changed no code"
    changed = sum(int(c.changed.sum()) for c in seen.values())
    return (f"on this input: {', '.join(told)}, which changed {counted(changed, 'code')}; most in "
            f"{node}, channel {int(most.changed.argmax())}")  # fmt: skip


def _proof(h: Headroom, nodes: Sequence[NodeHeadroom]) -> str:
    needs = _needs(nodes)
    unproven = [n for n in nodes if n.unproven]
    if not unproven:
        return f"whatever the input, no sum leaves {h.accumulator.bits} bits: {needs}"
    return (f"not proven: sums of {len(unproven)} of {counted(len(nodes), 'node')} may leave "
            f"{_width(h, unproven[0])} bits: {needs}")  # fmt: skip


def _seen(h: Headroom, nodes: Sequence[NodeHeadroom]) -> str:
    formed = f"{sum(n.sums_formed for n in nodes):,}"
    widest = max(nodes, key=lambda n: n.bits_seen or 0)
    overflowing = [n for n in nodes if n.overflowing]
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
    overflows = counted(counts["overflows"], "overflow")
    return (f"on this input: {overflows} in {counted(len(overflowing), 'node')}, in "
            f"{counts['outputs']:,} of {formed} outputs{changed}; "
            f"most in {most.node}, channel {channel}")  # fmt: skip


def _width(h: Headroom, node: NodeHeadroom) -> int:
    """Bits of the accumulator of a node's sums."""
    return (node.accumulator or h.accumulator).bits
