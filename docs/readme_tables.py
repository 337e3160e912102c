"""The README's tables, made from the code and from benchmarks/results.

    python docs/readme_tables.py            # rewrites README.md in place

Each table stands in README.md between `<!-- name -->` and `<!-- end -->`.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pages import markdown, rewrite

from npusim.formats.tflite_operators import SUPPORTED
from npusim.operators import RULES

CLONE = Path(__file__).resolve().parents[1]
PAGE = CLONE / "README.md"
RESULTS = CLONE / "benchmarks" / "results"
RIVALS = {
    "LiteRT ref": "LiteRT, reference kernels",
    "LiteRT x86": "LiteRT, optimised kernels without delegate",
    "LiteRT xnnpack": "LiteRT, XNNPACK (the default)",
}


def operators() -> str:
    """Operator x format: what files may call it, and its types."""
    names: dict[str, list[str]] = {}
    for code, support in SUPPORTED.items():
        names.setdefault(support.op, []).append(_tflite_name(code))
    rows = [
        (f"`{op}`", ", ".join(f"`{n}`" for n in names[op]), "yes", _types(rule.x, rule.y))
        for op, rule in RULES.items()
    ]
    return markdown(("operator", "`.tflite`", "`.h5`", "types"), rows)


def _tflite_name(code: int) -> str:
    from tflite import BuiltinOperator

    return next(name for name, value in vars(BuiltinOperator).items() if value == code)


def _types(x: Sequence[str], y: Sequence[str]) -> str:
    if not y:
        return "any, unchanged"
    return ", ".join(x) if tuple(x) == tuple(y) else f"{', '.join(x)} to {', '.join(y)}"


def demo() -> str:
    """`zo demo`: what each way makes of each shift, over the seeds of benchmarks/demo.py."""
    found = json.loads((RESULTS / "demo.json").read_text())
    runs = list(found["runs"].values())
    shifts = list(dict.fromkeys(row["shift"] for row in runs[0]))
    rows = []
    for method in dict.fromkeys(row["method"] for row in runs[0]):
        same = [row for run in runs for row in run if row["method"] == method]
        cells = [_accuracies([r["after"] for r in same if r["shift"] == s]) for s in shifts]
        forwards = sorted({row["forwards"] for row in same})
        rows.append((method, *cells, _range(f"{n:,}" for n in forwards)))
    table = markdown(("way", *shifts, "forward passes of a batch"), rows)
    return f"{table}\n\n{len(runs)} seeds, {_origin(found)}."


def _accuracies(values: Sequence[float]) -> str:
    """Mean, and what the seeds reached."""
    mean = f"{100 * sum(values) / len(values):.1f} %"
    if min(values) == max(values):
        return mean
    return f"{mean} ({100 * min(values):.1f} to {100 * max(values):.1f})"


def _range(ascending: Iterable[str]) -> str:
    texts = list(ascending)
    return texts[0] if len(texts) == 1 else f"{texts[0]} to {texts[-1]}"


def accumulators() -> str:
    """What narrow accumulators do to a model's labels, from benchmarks/accumulators.py."""
    found = json.loads((RESULTS / "accumulators_pretrainedResnet_quant.json").read_text())
    rows = []
    for bits in dict.fromkeys(row["bits"] for row in found["rows"]):
        same = {row["overflow"]: row for row in found["rows"] if row["bits"] == bits}
        names = ("right", "labels_changed", "changed")
        cells = [f"{same[rule][name]:,}" for rule in ("wrap", "saturate") for name in names]
        rows.append((f"{bits} bits", *cells))
    told = ("right", "labels changed", "sums changed")
    head = [f"{rule}: {what}" for rule in ("wraps", "saturates") for what in told]
    table = markdown(("accumulator", *head), rows)
    sums = f"{found['rows'][0]['outputs']:,} sums in {found['nodes']} layers"
    return f"{table}\n\n{found['data']}, {sums}; {_origin(found)}."


def speed() -> str:
    """npusim against LiteRT, one row per file that litert_ratio.py wrote."""
    found = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("litert_*.json"))]
    rows = [
        (
            _model(r),
            RIVALS[r["rival"]],
            f"{r['rival_ms']:.2f} ms",
            f"{r['npusim_ms']:.2f} ms",
            f"{r['ratio_median']:.2f}",
        )
        for r in sorted(found, key=lambda r: (r["macs"], r["rival_ms"]), reverse=True)
    ]
    table = markdown(("model", "rival", "rival takes", "npusim takes", "ratio"), rows)
    origins = "; ".join(dict.fromkeys(map(_origin, found)))
    return f"{table}\n\nOne image, one thread, both engines in turn in one process; {origins}."


def _model(result: Mapping[str, Any]) -> str:
    size = result["input_size"]
    where = "" if size is None else f" at {size}x{size}"
    return f"{result['model'].removesuffix('.tflite')}{where}, {result['macs'] / 1e6:.1f} MMAC"


def _origin(result: Mapping[str, Any]) -> str:
    return f"{result['machine']}, commit {result['commit']}"


TABLES = {
    "operators": operators,
    "accumulators": accumulators,
    "demo": demo,
    "speed": speed,
}

if __name__ == "__main__":
    rewrite(PAGE, TABLES)
