"""A run as one HTML page: no script, no file or address beside it, readable light and dark."""

from collections.abc import Iterator
from html import escape
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from npusim.images import pillow
from npusim.page import figures, image, page
from npusim.plurals import counted

from ..history import best_accuracy, final_accuracy
from .charts import accuracy_chart, loss_chart
from .facts import BINS, Confusion, LayerFacts, RunReport
from .style import STYLE

MOST_CLASSES = 40
"""Of more classes a matrix cannot be read."""
RAIL_BINS = (0, BINS - 1)
THUMBNAIL = 112
"""Pixels of a picture's side."""


def html(report: RunReport) -> str:
    """The page."""
    body = (*_top(report), *_curves(report), *_answers(report), *_layers(report), *_events(report))
    return page(_title(report), body, STYLE)


def _title(report: RunReport) -> str:
    last = report.history[-1]
    return f"{100 * last.accuracy:.1f} % after {counted(last.epoch, 'epoch')}"


def _top(report: RunReport) -> Iterator[str]:
    first, last = report.history[0], report.history[-1]
    yield f'<p class="eyebrow">zo report {escape(report.name)}</p><h1>{escape(_title(report))}</h1>'
    yield f'<p class="lead">From {100 * first.accuracy:.1f} % before training: '
    yield f"{last.correct:,} of {last.total:,} validation images are classified right.</p>"
    if report.interrupted is not None:
        yield "<p>Ctrl-C ended this run. The figures here are of its whole epochs; the model as "
        yield f"written classifies {report.interrupted:,} of {last.total:,} right.</p>"
    cells = [
        ("best epoch", f"{100 * best_accuracy(report.history):.1f} %"),
        ("mean of the last ten", f"{100 * final_accuracy(report.history):.1f} %"),
        ("q", _samples(report)),
        ("forwards of a batch", f"{last.cost.forwards:,}"),
        ("multiply-accumulates", f"{last.cost.macs:,}"),
        ("random bits", f"{last.cost.random_bits:,}"),
        ("bytes of weights written", f"{last.cost.bytes_written:,}"),
        ("seconds", f"{last.seconds:,.1f}"),
    ]
    yield figures(cells)


def _samples(report: RunReport) -> str:
    path = [epoch.q for epoch in report.history if epoch.q]
    steps = [q for i, q in enumerate(path) if i == 0 or q != path[i - 1]]
    return " → ".join(map(str, steps)) or "not used"


def _curves(report: RunReport) -> Iterator[str]:
    if len(report.history) < 2:
        return
    yield '<h2>Training</h2><div class="plots">'
    for chart in (accuracy_chart, loss_chart):
        yield f'<div class="plot">{chart(report.history)}</div>'
    yield "</div>"


def _answers(report: RunReport) -> Iterator[str]:
    found = report.confusion
    yield "<h2>Answers</h2>"
    if found is None:
        yield '<p class="soft">Name the images with --data to see which classes are taken for '
        yield "which, and the images that are classified wrongly.</p>"
        return
    wrong = len(found.wrong)
    yield f'<p class="soft">{escape(report.images)}: {100 * found.accuracy:.1f} %, {wrong:,} of '
    yield f"{int(found.counts.sum()):,} wrong.</p>"
    if len(found.counts) <= MOST_CLASSES:
        yield from _matrix(found, report.classes)
    yield from _thumbnails(report)


def _matrix(found: Confusion, classes: tuple[str, ...]) -> Iterator[str]:
    yield '<div class="scroll"><table class="confusion"><thead><tr><th>label</th>'
    yield "".join(f"<th>{escape(name)}</th>" for name in classes)
    yield "<th>found</th></tr></thead><tbody>"
    for c, row in enumerate(found.counts.tolist()):
        total = sum(row)
        cells = "".join(_cell(n, total, c == k) for k, n in enumerate(row))
        share = f"{100 * row[c] / total:.0f} %" if total else "-"
        yield f"<tr><td>{escape(classes[c])}</td>{cells}<td>{share}</td></tr>"
    yield "<tr><td>right of these answers</td>"
    for c, total in enumerate(found.counts.sum(0).tolist()):
        yield f"<td>{f'{100 * found.counts[c, c] / total:.0f} %' if total else '-'}</td>"
    yield "<td></td></tr></tbody></table></div>"
    yield '<p class="soft small">A row is a label, a column an answer.</p>'


def _cell(count: int, total: int, right: bool) -> str:
    if not count:
        return '<td class="none">0</td>'
    share = max(8, round(85 * count / total))
    return f'<td class="{"right" if right else "wrong"}" style="--share: {share}%">{count}</td>'


def _thumbnails(report: RunReport) -> Iterator[str]:
    found = report.confusion
    if found is None or not report.pictures:
        return
    shown = found.wrong[: len(report.pictures)]
    yield f"<h2>The {counted(len(shown), 'answer')} most wrong</h2>"
    yield '<p class="soft small">By how many codes the logit of the answer is above that of the '
    yield 'label.</p><div class="thumbs">'
    for wrong, picture in zip(shown, report.pictures, strict=True):
        label, answer = (escape(report.classes[c]) for c in (wrong.label, wrong.answer))
        drawn = image(png(picture), f"image {wrong.row}, {report.classes[wrong.label]}")
        yield f"<figure>{drawn}<figcaption><b>{label}</b> taken for <em>{answer}</em>, by "
        yield f"{wrong.margin}; image {wrong.row}</figcaption></figure>"
    yield "</div>"


def png(pixels: NDArray[np.uint8]) -> bytes:
    """A picture (H, W, 1 or 3) as a file, small ones enlarged by whole factors."""
    factor = max(1, -(-THUMBNAIL // max(pixels.shape[:2])))
    large = pixels.repeat(factor, 0).repeat(factor, 1)
    file = BytesIO()
    pillow().fromarray(large[..., 0] if large.shape[2] == 1 else large).save(file, "PNG")
    return file.getvalue()


def _layers(report: RunReport) -> Iterator[str]:
    with_outputs = any(layer.outputs is not None for layer in report.layers)
    heads = ["layer", "operator", "weights", "codes -128 .. 127", "at a rail", "dead outputs"]
    if with_outputs:
        heads += ["codes of its outputs", "cut off"]
    yield '<h2>Layers</h2><div class="scroll"><table><thead><tr>'
    yield "".join(f"<th>{head}</th>" for head in heads) + "</tr></thead><tbody>"
    for layer in report.layers:
        cells = [f"<td>{escape(cell)}</td>" for cell in (layer.op, f"{layer.weights:,}")]
        cells.append(f"<td>{_histogram(layer.histogram)}</td>")
        cells += [f"<td>{cell}</td>" for cell in _counts(layer)]
        if with_outputs and layer.outputs is not None:
            cells.append(f"<td>{_histogram(layer.outputs)}</td>")
            cells.append(f"<td>{100 * (layer.saturated or 0):.2f} %</td>")
        yield f'<tr><td class="code">{escape(layer.node)}</td>{"".join(cells)}</tr>'
    yield "</tbody></table></div>"
    yield '<p class="soft small">At a rail: weights of -128, -127 or 127. Dead: all weights are 0. '
    yield "Cut off: outputs at -128 or 127 that the activation does not explain.</p>"


def _counts(layer: LayerFacts) -> tuple[str, str]:
    return f"{100 * layer.at_rail / layer.weights:.2f} %", str(layer.dead or "none")


def _histogram(counts: NDArray[np.int64]) -> str:
    """Bars whose heights are the counts' square roots, so that rare codes show."""
    heights = np.sqrt(counts / max(int(counts.max()), 1))
    bars = (
        f'<i class="{"rail" if k in RAIL_BINS else ""}" style="height: {100 * h:.0f}%"></i>'
        for k, h in enumerate(heights)
    )
    return f'<div class="histogram">{"".join(bars)}</div>'


def _events(report: RunReport) -> Iterator[str]:
    told = [(epoch.epoch, event) for epoch in report.history for event in epoch.events]
    if not told:
        return
    yield f"<h2>Scales</h2><details><summary>{counted(len(told), 'change')}</summary>"
    yield '<ul class="notes">'
    yield from (f"<li>epoch {epoch}: {escape(event)}</li>" for epoch, event in told)
    yield "</ul></details>"
