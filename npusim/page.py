"""Pages that people open in a browser: one file, no script, nothing fetched, light and dark."""

from base64 import b64encode
from collections.abc import Iterable
from html import escape

from . import __version__

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --soft: #5b6475; --line: #d9dee7;
  --paper: #f6f7f9; --card: #fff; --cell: #eef0f4; --good: #3d8b5f; --bad: #c8402f;
  --up: #d95f02; --down: #1f77b4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7eaf0; --soft: #9aa4b5; --line: #333a47;
  --paper: #14171d; --card: #1c2028; --cell: #262b35; --good: #59b383; --bad: #f0705f;
  --up: #f28c3c; --down: #58a6e0; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 15px/1.5 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; overflow-wrap: anywhere; }
main { max-width: 1080px; margin: 0 auto; padding: 32px 24px 64px; }
code, .code { font-family: ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", monospace;
  font-size: 0.92em; overflow-wrap: anywhere; }
h1 { font-size: 27px; line-height: 1.25; margin: 4px 0 8px; font-weight: 650; }
h2 { font-size: 18px; margin: 40px 0 12px; font-weight: 650; }
h3 { font-size: 17px; margin: 0; font-weight: 650; }
.soft { color: var(--soft); } .small { font-size: 13px; } p { margin: 6px 0; }
.eyebrow { color: var(--soft); font-size: 13px; letter-spacing: .04em; }
.lead { font-size: 18px; max-width: 62em; }
.figures { display: flex; flex-wrap: wrap; gap: 4px 26px; margin: 14px 0 4px; }
.figures div { min-width: 70px; } .figures dt { color: var(--soft); font-size: 12px; }
.figures dd { margin: 0; font-variant-numeric: tabular-nums; font-weight: 600; }
.figures dl { margin: 0; }
.pictures { display: flex; flex-wrap: wrap; gap: 18px 40px; align-items: flex-start;
  margin-top: 16px; }
figure { margin: 0; } figcaption { color: var(--soft); font-size: 12px; margin-top: 4px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px;
  font-variant-numeric: tabular-nums; }
th { text-align: right; color: var(--soft); font-weight: 600; font-size: 12px; }
td { text-align: right; } th, td { padding: 5px 9px; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th:first-child, td:first-child { text-align: left; }
td a { color: inherit; }
details { margin: 0 0 10px; } summary { cursor: pointer; color: var(--soft); margin: 6px 0 10px; }
ul.notes { padding-left: 20px; margin: 6px 0; }
@media print { body { background: none; } .card { break-inside: avoid; } }
"""


def page(title: str, body: Iterable[str], style: str = "") -> str:
    """A whole page.

    title   as text
    body    lines of HTML
    style   rules besides `STYLE`
    """
    lines = (
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}{style}</style></head><body><main>",
        *body,
        f'<p class="soft small">npusim {__version__}</p>',
        "</main></body></html>",
    )
    return "\n".join(lines) + "\n"


def figures(cells: Iterable[tuple[str, str]]) -> str:
    """Names and numbers side by side."""
    pairs = "".join(f"<div><dt>{escape(k)}</dt><dd>{escape(v)}</dd></div>" for k, v in cells)
    return f'<dl class="figures">{pairs}</dl>'


def image(data: bytes, alt: str, attributes: str = "") -> str:
    """A PNG within the page."""
    source = b64encode(data).decode()
    return f'<img alt="{escape(alt)}" {attributes} src="data:image/png;base64,{source}">'
