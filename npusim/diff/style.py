"""How the page of a report looks, besides what every page has."""

STYLE = """
:root { --equal: var(--good); --inherited: #9aa3b2; --departs: var(--bad); --follows: #d28a1d;
  --unfit: #8f2fc8; }
@media (prefers-color-scheme: dark) { :root { --inherited: #6b7484; --follows: #e5a847;
  --unfit: #c084f5; } }
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
.map { background: var(--cell); border: 1px solid var(--line); display: block;
  image-rendering: pixelated; max-width: 100%; }
figcaption .up { color: var(--up); } figcaption .down { color: var(--down); }
.bars { display: grid; grid-template-columns: auto 220px auto; gap: 1px 8px; font-size: 12px;
  align-items: center; }
.bars span:first-child, .bars .label { text-align: right; color: var(--soft); }
.bar { display: block; height: 11px; border-radius: 2px; min-width: 1px; }
.bar.up { background: var(--up); } .bar.down { background: var(--down); }
th:first-child, td:first-child, th:last-child, td:last-child { text-align: left; }
@media (max-width: 720px) { .sides { grid-template-columns: 1fr; } }
@media print { body { background: none; } .card, .side { break-inside: avoid; } }
"""
