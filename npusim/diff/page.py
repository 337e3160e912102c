"""A report as one HTML page: no script, no file or address beside it, readable light and dark."""

from collections.abc import Iterator, Sequence
from html import escape

from ..page import figures, image, page
from ..plurals import counted
from .figures import Figures
from .gate import Excess, Limit
from .heat import Map, png
from .histogram import Bar
from .report import DEPARTS, EQUAL, FOLLOWS, INHERITED, UNFIT, VERDICTS, Judged, Party, Report
from .style import STYLE
from .table import few, number, verdict_lines, where

SHOWN = 12
"""Departures that are shown in full before a click."""
SMALLEST, LARGEST, TALLEST = 4, 26, 208
"""Pixels of a map's cell at least and at most; of a map's side, where the cells allow it."""
STRIP_ROWS, STRIP_HEIGHT, WIDEST_STRIP = 4, 20, 768
"""Maps of so few rows are strips: pixels of a row, and of the whole width."""


def html(report: Report, gate: tuple[Limit, ...] = (), stopped: Sequence[Excess] = ()) -> str:
    """The page."""
    body = (
        *_top(report, gate, stopped),
        *_chain(report),
        *_departures(report),
        *_table(report),
        *_others(report),
        *_remarks(report),
    )
    return page(_title(report), body, STYLE)


def _title(report: Report) -> str:
    first = report.first
    if first is None:
        count = len(report.tensors)
        return f"All {count} tensors are equal" if count > 1 else "The only tensor is equal"
    return f"{first.label} departs first"


def _top(report: Report, gate: tuple[Limit, ...], stopped: Sequence[Excess]) -> Iterator[str]:
    first = report.first
    yield '<p class="eyebrow">npusim diff</p>'
    yield f"<h1>{escape(_title(report))}</h1>"
    if first is not None:
        text = first.reason or (first.cause.sentence if first.cause else VERDICTS[first.verdict])
        maker = f" <span class='soft'>({escape(first.node)})</span>" if first.node else ""
        yield f'<p class="lead">{escape(_capital(text))}.{maker}</p>'
    if report.likelier is not None:
        command = f"; try <code>{escape(report.again)}</code>" if report.again else ""
        yield f"<p>Likelier: profile {escape(str(report.likelier))}{command}</p>"
    for line in verdict_lines(report, gate, stopped):
        yield f'<p class="soft">{escape(line)}</p>'
    yield f'<div class="sides">{_side("A", report.a)}{_side("B", report.b)}</div>'


def _side(label: str, party: Party) -> str:
    facts = [f"{party.kind}, {counted(party.tensors, 'tensor')}"]
    if party.profile:
        facts.append(f"profile {party.profile}, accumulator {party.accumulator}")
    return (f'<div class="side"><b>{label}</b><code>{escape(party.path)}</code>'
            f'<div class="soft small">{"<br>".join(map(escape, facts))}</div></div>')  # fmt: skip


def _chain(report: Report) -> Iterator[str]:
    """Every tensor as a little square, in the order of execution."""
    yield "<h2>From input to output</h2>"
    yield '<ol class="chain">'
    for k, t in enumerate(report.tensors):
        label = escape(f"{t.label}: {t.verdict}")
        yield f'<li><a class="{t.verdict}" href="#t{k}" title="{label}">{k}</a></li>'
    yield "</ol>"
    yield '<ul class="legend small soft">'
    for verdict in (EQUAL, DEPARTS, INHERITED, FOLLOWS, UNFIT):
        if any(t.verdict == verdict for t in report.tensors):
            yield f'<li><i class="{verdict}"></i><b>{verdict}</b>: {escape(VERDICTS[verdict])}</li>'
    yield "</ul>"


def _departures(report: Report) -> Iterator[str]:
    departures = [(k, t) for k, t in enumerate(report.tensors) if t.verdict in (DEPARTS, UNFIT)]
    if departures:
        yield "<h2>Departures</h2>"
    if len(departures) > 1:
        yield '<ul class="notes">'
        for text, names in report.reasons.items():
            listed = f"<span class='code'>{escape(report.in_short(few(names)))}</span>"
            yield f"<li>{escape(_capital(text))}: {listed}</li>"
        yield "</ul>"
    for k, tensor in departures[:SHOWN]:
        yield from _card(report, k, tensor)
    if len(departures) > SHOWN:
        yield f"<details><summary>{len(departures) - SHOWN} more departures</summary>"
        for k, tensor in departures[SHOWN:]:
            yield from _card(report, k, tensor)
        yield "</details>"


def _others(report: Report) -> Iterator[str]:
    """Tensors that differ through no fault of their own, behind a click."""
    others = [(k, t) for k, t in enumerate(report.tensors) if t.verdict in (INHERITED, FOLLOWS)]
    if others:
        yield f"<details><summary>Where the {len(others)} other tensors differ</summary>"
        for k, tensor in others:
            yield from _card(report, k, tensor)
        yield "</details>"


def _card(report: Report, k: int, tensor: Judged) -> Iterator[str]:
    quiet = "" if tensor.verdict in (DEPARTS, UNFIT) else " quiet"
    shape = " &times; ".join(map(str, tensor.shape))
    maker = f"made by {tensor.node} ({tensor.op})" if tensor.node else "an input"
    yield f'<section class="card{quiet}" id="t{k}"><header><h3 class="code">{escape(tensor.name)}'
    yield f'</h3><span class="badge {tensor.verdict}">{tensor.verdict}</span>'
    yield f'<span class="soft small">{escape(maker)}, {tensor.dtype} {shape}</span></header>'
    if tensor.reason:
        yield f'<p class="cause">{escape(_capital(tensor.reason))}</p>'
    if tensor.cause is not None:
        yield f'<p class="cause">{escape(_capital(tensor.cause.sentence))}</p>'
        yield f'<p class="soft">{escape(_capital(tensor.cause.evidence))}</p>'
    for text in tensor.stated:
        yield f"<p>Stated: {escape(text)}</p>"
    if tensor.place is not None:
        yield f"<p>{escape(_capital(where(tensor)))}</p>"
    if tensor.judged is not None:
        yield from _figures(tensor, report.in_short(tensor.judged_from))
    yield '<div class="pictures">'
    for picture in tensor.maps[:-1]:
        yield _picture(picture)
    yield from _histogram(tensor.histogram)
    for picture in tensor.maps[-1:]:
        yield _picture(picture)
    yield "</div></section>"


def _figures(tensor: Judged, judged_from: str) -> Iterator[str]:
    shown = tensor.judged if tensor.verdict == DEPARTS else tensor.total
    assert shown is not None
    cells = {
        "differ": f"{shown.differing:,} of {shown.elements:,}",
        "share": f"{100 * shown.share:.3g} %",
        "max": f"{number(shown.max_lsb)} LSB",
        "mean": f"{number(shown.mean_lsb, 2)} LSB",
        "bias": f"{shown.bias:+.2f}",
        "cosine": "-" if shown.cosine is None else f"{shown.cosine:.6f}",
        "rmse": f"{shown.rmse:.3g}",
        "mae": f"{shown.mae:.3g}",
    }
    whose = judged_from if tensor.verdict == DEPARTS else ""
    yield figures(cells.items())
    if whose:
        yield f'<p class="soft small">Judged from {escape(whose)}.</p>'


def _picture(picture: Map) -> str:
    rows, columns = picture.magnitude.shape
    strip = rows <= STRIP_ROWS
    widest = WIDEST_STRIP if strip else TALLEST
    width = max(SMALLEST, min(widest // columns, LARGEST))
    height = STRIP_HEIGHT if strip else max(SMALLEST, min(TALLEST // rows, LARGEST))
    ends = f"{picture.title} 0 .. {columns - 1}" if rows == 1 else picture.title
    caption = f"{ends}; strongest: {picture.magnitude.max():.3g} on average"
    size = f'class="map" width="{columns * width}" height="{rows * height}"'
    drawn = image(png(picture), f"differences by {caption}", size)
    return f"<figure>{drawn}<figcaption>{escape(caption)}</figcaption></figure>"


def _histogram(bars: Sequence[Bar]) -> Iterator[str]:
    largest = max((bar.number for bar in bars), default=0)
    if not largest:
        return
    yield '<figure><div class="bars">'
    for bar in bars:
        sign = "up" if bar.low is not None and bar.low > 0 else "down"
        width = f"{100 * bar.number / largest:.1f}%" if bar.number else "0; min-width: 0"
        yield (f'<span class="label">{escape(bar.label)}</span><span><span class="bar {sign}" '
               f'style="width: {width}"></span></span><span>{bar.number:,}</span>')  # fmt: skip
    yield '</div><figcaption>codes by which B is <b class="down">below</b> or '
    yield '<b class="up">above</b>; the same colours in the maps</figcaption></figure>'


def _table(report: Report) -> Iterator[str]:
    heads = ("tensor", "elements", "differ", "share", "max", "mean", "bias", "cosine", "rmse",
             "mae", "own", "verdict")  # fmt: skip
    yield '<h2>Every tensor</h2><div class="scroll"><table><thead><tr>'
    yield "".join(f"<th>{head}</th>" for head in heads) + "</tr></thead><tbody>"
    for k, t in enumerate(report.tensors):
        own = "" if t.own is None else f"{t.own.differing:,}"
        cells = [*_cells(t.total), own] if t.total else [""] * (len(heads) - 2)
        link = f'<a href="#t{k}">' if t.verdict != EQUAL else f'<a id="t{k}">'
        row = "".join(f"<td>{escape(cell)}</td>" for cell in cells)
        yield f'<tr><td class="code">{link}{escape(t.label)}</a></td>{row}<td>{t.verdict}</td></tr>'
    yield "</tbody></table></div>"
    yield '<p class="soft small">Side B against side A; max and mean in codes, rmse and mae in '
    yield "real units. own: elements that differ from what A's model makes of B's inputs.</p>"


def _cells(f: Figures) -> list[str]:
    if not f.differing:
        return [f"{f.elements:,}", "0", *[""] * 7]
    cosine = "-" if f.cosine is None else f"{f.cosine:.6f}"
    return [f"{f.elements:,}", f"{f.differing:,}", f"{100 * f.share:.3g} %", number(f.max_lsb),
            number(f.mean_lsb, 2), f"{f.bias:+.2f}", cosine, f"{f.rmse:.3g}",
            f"{f.mae:.3g}"]  # fmt: skip


def _remarks(report: Report) -> Iterator[str]:
    notes = list(report.notes)
    for label, names in (("not in B", report.missing), ("only in B", report.extra)):
        if names:
            notes.append(f"{label}: {', '.join(names)}")
    if notes:
        yield "<h2>What was assumed</h2>"
        listed = "".join(f"<li>{escape(report.in_short(note))}</li>" for note in notes)
        yield f'<ul class="notes">{listed}</ul>'


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
