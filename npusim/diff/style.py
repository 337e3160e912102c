"""How the page of a report looks: light and dark, and nothing from elsewhere."""

STYLE = """
:root { color-scheme: light dark; --ink: #1d2330; --soft: #5b6475; --line: #d9dee7;
  --paper: #f6f7f9; --card: #fff; --cell: #eef0f4; --equal: #3d8b5f; --inherited: #9aa3b2;
  --departs: #c8402f; --follows: #d28a1d; --unfit: #8f2fc8; --up: #d95f02; --down: #1f77b4; }
@media (prefers-color-scheme: dark) { :root { --ink: #e7eaf0; --soft: #9aa4b5; --line: #333a47;
  --paper: #14171d; --card: #1c2028; --cell: #262b35; --equal: #59b383; --inherited: #6b7484;
  --departs: #f0705f; --follows: #e5a847; --unfit: #c084f5; --up: #f28c3c; --down: #58a6e0; } }
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
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 12px; margin: 20px 0 0; }
.side, .card { background: var(--card); border: 1px solid var(--line); border-radius: 10px;
  padding: 12px 16px; }
.side b { display: inline-block; width: 1.4em; }
.chain { display: flex; flex-wrap: wrap; gap: 4px; margin: 4px 0 10px; padding: 0;
  list-style: none; }
.chain a { display: block; min-width: 26px; height: 26px; border-radius: 5px; padding: 0 7px;
  color: #fff; text-decoration: none; font: 600 12px/26px ui-monospace, monospace;
  text-align: center; }
.equal { background: var(--equal); } .inherited { background: var(--inherited); }
.departs { background: var(--departs); } .follows { background: var(--follows); }
.unfit { background: var(--unfit); }
.legend { display: flex; flex-wrap: wrap; gap: 6px 18px; margin: 0; padding: 0; list-style: none; }
.legend i { display: inline-block; width: 11px; height: 11px; border-radius: 3px;
  margin-right: 7px; }
.card { margin: 0 0 14px; padding: 16px 20px; border-left: 5px solid var(--departs); }
.card.quiet { border-left-color: var(--inherited); }
.card header { display: flex; flex-wrap: wrap; gap: 4px 12px; align-items: baseline; }
.badge { border-radius: 20px; color: #fff; font-size: 12px; font-weight: 600; padding: 1px 10px; }
.cause { font-size: 18px; font-weight: 600; margin: 8px 0 2px; }
.figures { display: flex; flex-wrap: wrap; gap: 4px 26px; margin: 14px 0 4px; }
.figures div { min-width: 70px; } .figures dt { color: var(--soft); font-size: 12px; }
.figures dd { margin: 0; font-variant-numeric: tabular-nums; font-weight: 600; }
.figures dl { margin: 0; }
.pictures { display: flex; flex-wrap: wrap; gap: 18px 40px; align-items: flex-start;
  margin-top: 16px; }
figure { margin: 0; } figcaption { color: var(--soft); font-size: 12px; margin-top: 4px; }
.map { background: var(--cell); border: 1px solid var(--line); display: block;
  image-rendering: pixelated; max-width: 100%; }
figcaption .up { color: var(--up); } figcaption .down { color: var(--down); }
.bars { display: grid; grid-template-columns: auto 220px auto; gap: 1px 8px; font-size: 12px;
  align-items: center; }
.bars span:first-child, .bars .label { text-align: right; color: var(--soft); }
.bar { display: block; height: 11px; border-radius: 2px; min-width: 1px; }
.bar.up { background: var(--up); } .bar.down { background: var(--down); }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-size: 13.5px;
  font-variant-numeric: tabular-nums; }
th { text-align: right; color: var(--soft); font-weight: 600; font-size: 12px; }
td { text-align: right; } th, td { padding: 5px 9px; border-bottom: 1px solid var(--line);
  white-space: nowrap; }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }
td a { color: inherit; }
details { margin: 0 0 10px; } summary { cursor: pointer; color: var(--soft); margin: 6px 0 10px; }
ul.notes { padding-left: 20px; margin: 6px 0; }
@media (max-width: 720px) { .sides { grid-template-columns: 1fr; } }
@media print { body { background: none; } .card, .side { break-inside: avoid; } }
"""
