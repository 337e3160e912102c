"""A report for a terminal: a line per operator, what is open or unexplained, how profiles fare."""

import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ..columns import GAP
from ..describe_page import PIPE_WIDTH
from ..neural_art.stored import PROFILE as NEURAL_ART
from ..neural_art.stored import RULE
from ..plurals import counted
from . import words
from .hypothesis import Rule
from .report import MIXED, Consistency, Kind, Report
from .suggest import Suggestion
from .verdict import DECIDED, SCALE_OPEN, SKIPPED, UNDECIDED, UNEXPLAINED, Verdict

TEXT_WIDTH = 80
FEW = 3
WIDEST_CELL = 44
STYLES = {
    DECIDED: "green",
    SCALE_OPEN: "green",
    UNDECIDED: "yellow",
    UNEXPLAINED: "bold red",
    MIXED: "bold red",
    SKIPPED: "dim",
}


class Column(NamedTuple):
    """A column: header, justification, one cell per operator."""

    header: str
    justify: str
    cell: Callable[[Kind], str]


COLUMNS = (
    Column("operator", "left", lambda k: k.name),
    Column("nodes", "right", lambda k: f"{len(k.verdicts)}"),
    Column("elements", "right", lambda k: f"{k.elements:,}"),
    Column("status", "left", lambda k: k.status),
    Column("rule", "left", lambda k: rule_cell(k)),
    Column("decided by", "right", lambda k: _decided_by(k)),
)


def page(
    report: Report, suggestion: Suggestion | None = None, console: Console | None = None
) -> str:
    """The report as text for `console`; for standard output if None."""
    console = console or Console(width=None if sys.stdout.isatty() else PIPE_WIDTH)
    with console.capture() as captured:
        _print(console, _heading(report))
        console.print(_table(report))
        _print(console, (*_open(report), *_problems(report), *_profiles(report)))
        if suggestion is not None:
            _print(console, _suggested(suggestion))
        _print(console, conclusion(report))
    return "".join(f"{line.rstrip()}\n" for line in captured.get().splitlines())


def rule_cell(kind: Kind) -> str:
    """The rule, or the first ones of those that are left."""
    names = simple_names(kind.groups)
    if not names:
        return "-"
    shown = 1
    while shown < len(names) and len(" or ".join(names[: shown + 1])) <= WIDEST_CELL:
        shown += 1
    more = f" or {len(names) - shown} more" if len(names) > shown else ""
    return " or ".join(names[:shown]) + more


def simple_names(groups: Sequence[Sequence[Rule]]) -> list[str]:
    """The plainest name of every group, without how M is computed."""
    return words.condensed([group[0].base for group in groups])


def conclusion(report: Report) -> Iterator[str]:
    """The last lines: whose arithmetic it is."""
    failed = list(report.failed)
    if report.accumulators is not None and not report.accumulators.common:
        failed.append("accumulator, of which layers need different ones")
    consistent = report.consistent
    yield ""
    if failed:
        yield from _wrapped(f"not explained: {', '.join(failed)}")
        return
    how = ""
    if report.accumulators is not None and report.accumulators.needed:
        how = f", whose accumulator {report.accumulators}"
    if len(consistent) == 1:
        stages = ", ties away from zero at every stage" * (consistent[0] == NEURAL_ART)
        yield from _wrapped(f"explained: profile {consistent[0]}{stages}{how}, and no other")
    elif len(report.distinct) == 1:
        yield from _wrapped(f"explained: profiles {_listed(consistent)}{how}, which are equal on "
                            "every input of this model")  # fmt: skip
    elif consistent:
        yield from _wrapped(f"explained: profiles {_listed(consistent)}{how}, which this dump does "
                            "not tell apart")  # fmt: skip
    else:
        yield from _wrapped(f"explained, operator by operator{how}; no profile combines these "
                            "rules")  # fmt: skip


def _listed(names: Sequence[str]) -> str:
    return f"{', '.join(names[:-1])} and {names[-1]}"


def _heading(report: Report) -> Iterator[str]:
    yield f"dump   {report.path}: {counted(report.images, 'image')}"
    yield f"model  {report.model}: {counted(len(report.verdicts), 'node')}"
    for note in report.notes:
        yield f"note: {note}"
    yield ""


def _table(report: Report) -> Table:
    table = Table(box=None, padding=(0, GAP, 0, 0), pad_edge=False)
    for column in COLUMNS:
        table.add_column(column.header, justify=column.justify, overflow="fold",  # type: ignore[arg-type]
                         no_wrap=column.header != "rule")  # fmt: skip
    for kind in report.kinds:
        table.add_row(*(Text(c.cell(kind), STYLES[kind.status] if c.header == "status" else "")
                        for c in COLUMNS))  # fmt: skip
    return table


def _decided_by(kind: Kind) -> str:
    """Elements that exclude the nearest of the rules that are excluded."""
    exact = [e.elements for e in kind.excluded if e.exact]
    return f"{exact[0]:,}" if exact and kind.groups else ""


def _open(report: Report) -> Iterator[str]:
    """What is left undecided, operator by operator."""
    for kind in report.kinds:
        if kind.status in (UNDECIDED, SCALE_OPEN):
            yield ""
            yield from _wrapped(f"{kind.name} is undecided: no element here tells apart "
                                f"{_alternatives(kind)}", "  ")  # fmt: skip
        elif kind.groups and len(kind.groups[0]) > 1:
            yield ""
            names = list(dict.fromkeys(map(str, kind.groups[0])))
            if len(names) > 1:
                yield from _wrapped(f"{kind.name}: {_and(names)} are equal on every input", "  ")
    for kind in report.kinds:
        for v in kind.verdicts:
            if kind.own(v) and is_neural_art(report):
                yield from _wrapped(f"{v.node}: {' or '.join(kind.own(v))}", "  ")


def is_neural_art(report: Report) -> bool:
    """Whether Neural-ART explains every node, or alone explains those of an operator."""
    alone = any(
        kind.rules and all(rule.name.startswith(RULE) for rule in kind.rules)
        for kind in report.kinds
    )
    return alone or any(device.startswith(NEURAL_ART) for device in report.consistent)


def _alternatives(kind: Kind) -> str:
    firsts = words.condensed([str(group[0]) for group in kind.groups])
    if len(firsts) == 1:
        return "the ties of its stages, or what is a layer's own"
    return _and(firsts[: 4 * FEW]) + (f" and {len(firsts) - 4 * FEW} more"
                                      if len(firsts) > 4 * FEW else "")  # fmt: skip


def _and(texts: Sequence[str]) -> str:
    return " and ".join(filter(None, ("; ".join(texts[:-1]), texts[-1])))


def _problems(report: Report) -> Iterator[str]:
    """What is not explained, and what was not judged."""
    yield ""
    for kind in report.kinds:
        if kind.status == MIXED:
            yield from _wrapped(f"{kind.name}: every node has an explanation, but they have none "
                                "in common", "  ")  # fmt: skip
            for v in kind.verdicts:
                names = simple_names([h.rules for h in v.survivors])[:FEW]
                yield from _wrapped(f"  {v.node}: {' or '.join(names)}", "    ")
    for v in report.verdicts:
        if v.status == UNEXPLAINED:
            yield from _wrapped(f"{v.node}: none of {len(v.outcomes)} hypotheses explains it"
                                f"{_nearest(v)}", "  ")  # fmt: skip
        elif v.status == SKIPPED:
            yield from _wrapped(f"{v.node} is not judged: {v.reason}", "  ")
        elif v.together:
            yield from _wrapped(f"{v.node} is judged together with {', '.join(v.together)}: the "
                                "tensors between them are not in the dump", "  ")  # fmt: skip


def _nearest(v: Verdict) -> str:
    if v.nearest is None:
        return ""
    return (f"; nearest is {v.nearest.hypothesis.label}, with {v.nearest.differing:,} of "
            f"{counted(v.elements, 'element')} that differ")  # fmt: skip


def _profiles(report: Report) -> Iterator[str]:
    """Accumulator, and how every profile fares."""
    if report.accumulators is not None:
        yield from _wrapped(f"accumulator  {report.accumulators}", " " * 13)
    width = max(len(d.device.name) for d in report.devices)
    label = "profiles"
    for d in report.devices:
        yield from _wrapped(
            f"{label:<11}  {d.device.name:<{width}}  {_fate(d)}", " " * (15 + width)
        )
        label = ""


def _fate(d: Consistency) -> str:
    if d.consistent:
        return "gives every code"
    texts = []
    if len(d.differing) == 1:
        ((kind, count),) = d.differing
        texts.append(f"excluded by {counted(count, 'element')} of {kind}")
    elif d.differing:
        listed = ", ".join(f"{count:,} of {kind}" for kind, count in d.differing)
        texts.append(f"excluded by {counted(d.elements, 'element')}: {listed}")
    if d.silent:
        texts.append(f"has no rule for {', '.join(d.silent)}")
    return "; ".join(texts)


def _suggested(suggestion: Suggestion) -> Iterator[str]:
    """What the suggested input decides."""
    yield ""
    yield from _wrapped(str(suggestion), "  ")
    for line in suggestion.lines:
        yield from _wrapped(f"  {line}", "    ")


def _wrapped(text: str, indent: str = "") -> list[str]:
    return textwrap.wrap(text, TEXT_WIDTH, subsequent_indent=indent, break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def _print(console: Console, lines: Iterator[str] | Sequence[str]) -> None:
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
