"""How a run's page looks, besides what every page has."""

STYLE = """
.plots { display: grid; grid-template-columns: repeat(auto-fit, minmax(380px, 1fr)); gap: 14px; }
.plot { background: #fff; border: 1px solid var(--line); border-radius: 10px; padding: 8px; }
.plot svg { width: 100%; height: auto; display: block; }
.confusion { width: auto; } .confusion td, .confusion th { text-align: right; padding: 4px 8px; }
.confusion td { border: 1px solid var(--line); min-width: 40px; }
.confusion th:first-child, .confusion td:first-child { text-align: left; }
.confusion .right { background: color-mix(in srgb, var(--good) var(--share), transparent); }
.confusion .wrong { background: color-mix(in srgb, var(--bad) var(--share), transparent); }
.confusion .none { color: var(--soft); opacity: 0.5; }
.histogram { display: flex; align-items: flex-end; gap: 0; width: 192px; height: 34px;
  border-bottom: 1px solid var(--line); }
.histogram i { display: block; width: 3px; background: var(--down); }
.histogram i.rail { background: var(--bad); }
.thumbs { display: grid; grid-template-columns: repeat(auto-fill, minmax(112px, 1fr)); gap: 14px; }
.thumbs img { width: 100%; image-rendering: pixelated; border-radius: 6px; display: block;
  border: 1px solid var(--line); }
.thumbs b { color: var(--good); } .thumbs em { color: var(--bad); font-style: normal;
  font-weight: 600; }
"""
