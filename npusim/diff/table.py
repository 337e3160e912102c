"""A report for a terminal: who was compared, a line per tensor, the first departure in full."""

import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Console

from ..columns import Column, fitted
from ..describe_page import PIPE_WIDTH
from ..plurals import counted
from .figures import Figures
from .gate import Excess, Limit
from .report import DEPARTS, EQUAL, FOLLOWS, INHERITED, UNFIT, Judged, Party, Report

TEXT_WIDTH = 80
LABEL = 10
FEW = 8
FIRST_TO_GO = ("tensor", "mean", "bias", "share", "own", "max", "differ")
STYLES = {EQUAL: "", INHERITED: "dim", DEPARTS: "bold red", FOLLOWS: "yellow", UNFIT: "bold red"}


def _of(tensor: Judged, text: Callable[[Figures], str]) -> str:
    return "" if tensor.total is None or not tensor.total.differing else text(tensor.total)


COLUMNS = (
    Column("tensor", "left", lambda t: t.label),
    Column("differ", "right", lambda t: _of(t, lambda f: f"{f.differing:,}")),
    Column("share", "right", lambda t: _of(t, lambda f: f"{100 * f.share:.3g} %")),
    Column("max", "right", lambda t: _of(t, lambda f: number(f.max_lsb))),
    Column("mean", "right", lambda t: _of(t, lambda f: number(f.mean_lsb, 2))),
    Column("bias", "right", lambda t: _of(t, lambda f: f"{f.bias:+.2f}")),
    Column("own", "right", lambda t: "" if t.own is None else f"{t.own.differing:,}"),
    Column("verdict", "left", lambda t: t.verdict),
)


def page(
    report: Report,
    gate: tuple[Limit, ...] = (),
    stopped: Sequence[Excess] = (),
    console: Console | None = None,
) -> str:
    """The report as text for `console`; for standard output if None."""
    console = console or Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    with console.capture() as captured:
        _print(console, map(report.in_short, _heading(report)))
        console.print(fitted(COLUMNS, report.tensors, console.width, FIRST_TO_GO,
                             lambda tensor: STYLES[tensor.verdict] or None).table)  # fmt: skip
        _print(console, map(report.in_short, _explanations(report)))
        _print(console, _likelier(report))
        if report.again:
            console.print(f"  {report.again}", markup=False, highlight=False, soft_wrap=True)
        _print(console, map(report.in_short, _remarks(report)))
        for line in verdict_lines(report, gate, stopped):
            console.print(line, markup=False, highlight=False, soft_wrap=True)
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def number(value: float | None, digits: int = 0) -> str:
    """A number with a comma in thousands; a dash for none."""
    return "-" if value is None else f"{value:,.{digits}f}"


def where(tensor: Judged) -> str:
    """Where a tensor differs, in words; "" where it does not."""
    if tensor.place is None:
        return ""
    at = ", ".join(f"{axis} {index}" for axis, index in tensor.place.worst.items())
    values = f"expected {tensor.place.expected:g}, got {tensor.place.actual:g}"
    telling = [str(spread) for spread in tensor.place.spreads if spread.telling]
    spread = "; ".join(telling) or "all over"
    return f"{spread}; worst at {at or 'the only element'}: {values}"


def distances(figures: Figures) -> str:
    """Figures in words: how far, in codes and in real units."""
    parts = [f"{figures.differing:,} of {counted(figures.elements, 'element')}"]
    if figures.max_lsb is not None:
        parts.append(f"by {figures.max_lsb:,} at most and {number(figures.mean_lsb, 2)} on average")
    cosine = "none" if figures.cosine is None else f"{figures.cosine:.6f}"
    parts.append(f"cosine {cosine}, rmse {figures.rmse:.3g}, mae {figures.mae:.3g}")
    return ", ".join(parts)


def side(label: str, party: Party) -> str:
    """One side in words."""
    how = f", profile {party.profile}, accumulator {party.accumulator}" if party.profile else ""
    return f"{label}  {party.path}: {party.kind}, {counted(party.tensors, 'tensor')}{how}"


def verdict_lines(
    report: Report, gate: tuple[Limit, ...], stopped: Sequence[Excess]
) -> Iterator[str]:
    """The last line, and with a gate what it stops."""
    count = len(report.tensors)
    if report.equal:
        elements = sum(t.total.elements for t in report.tensors if t.total is not None)
        yield f"equal: {counted(count, 'tensor')}, {counted(elements, 'element')}"
        return
    differing = sum(t.verdict != EQUAL for t in report.tensors)
    among = counted(count, "tensor")
    summary = f"{differing} of {among} differ, {len(report.departures)} by their own fault"
    if not gate:
        yield f"different: {summary}"
        return
    limits = ",".join(map(str, gate))
    for excess in stopped[:FEW]:
        yield report.in_short(f"gate: {excess}")
    if len(stopped) > FEW:
        yield f"gate: and {len(stopped) - FEW} more"
    yield f"{'outside' if stopped else 'within'} the gate {limits}: {summary}"


def _heading(report: Report) -> Iterator[str]:
    yield side("A", report.a)
    yield side("B", report.b)
    for note in report.notes:
        yield f"note: {note}"
    yield ""


def _explanations(report: Report) -> Iterator[str]:
    """The first departure in full, the others in a line or two each."""
    first = report.first
    if first is None:
        return
    yield ""
    maker = f", made by {first.node}" if first.node not in ("", first.label) else ""
    yield f"first departure: {first.label}{maker}"
    for label, text in facts(first):
        yield f"  {label:<{LABEL}}{text}"
    yield from _also(report, first)


def _also(report: Report, first: Judged) -> Iterator[str]:
    """The other departures, those of one reason on one line."""
    others = {
        text: tuple(name for name in names if name != first.name)
        for text, names in report.reasons.items()
    }
    told = [(text, names) for text, names in others.items() if names]
    for text, names in told[:FEW]:
        yield f"also departs: {few(names)}: {text}"
    if len(told) > FEW:
        yield f"also departs, for other reasons: {sum(len(n) for _, n in told[FEW:])} more"


def few(names: Sequence[str]) -> str:
    """Names with commas; of many only the first ones, and how many more there are."""
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return f"{', '.join(names[:FEW])}{more}"


def facts(tensor: Judged) -> Iterator[tuple[str, str]]:
    """What is known of a departure: label and text."""
    if tensor.reason:
        yield "reason", tensor.reason
    if tensor.cause is not None:
        yield "cause", tensor.cause.sentence
        if tensor.cause.evidence:
            yield "evidence", tensor.cause.evidence
    for text in tensor.stated:
        yield "stated", text
    if tensor.judged is not None:
        whose = f", judged from {tensor.judged_from}" if tensor.judged_from else ""
        yield "differs", distances(tensor.judged) + whose
    if tensor.place is not None:
        yield "where", where(tensor)


def _likelier(report: Report) -> Iterator[str]:
    if report.likelier is not None:
        yield f"likelier: profile {report.likelier}{'; try' if report.again else ''}"


def _remarks(report: Report) -> Iterator[str]:
    yield ""
    for label, names in (("not in B", report.missing), ("only in B", report.extra)):
        if names:
            yield f"{label}: {few(names)}"


def _print(console: Console, lines: Iterable[str]) -> None:
    """Lines wrapped to the text's width; what follows a label stays to its right."""
    for line in lines:
        indent = " " * (LABEL + 2) if line.startswith("  ") else "  "
        width = min(console.width, TEXT_WIDTH)
        wrapped = textwrap.wrap(line, width, subsequent_indent=indent,
                                break_long_words=False, break_on_hyphens=False)  # fmt: skip
        for part in wrapped or [""]:
            console.print(part, markup=False, highlight=False, soft_wrap=True)
