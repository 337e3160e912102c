"""The tables of docs/neural-art.md, made from benchmarks/results.

    python docs/neural_art_tables.py        # rewrites docs/neural-art.md in place

Each table stands in the page between `<!-- name -->` and `<!-- end -->`.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from statistics import mean, median
from typing import Any

from pages import markdown, rewrite

from zo.demo import SHIFTS

CLONE = Path(__file__).resolve().parents[1]
PAGE = CLONE / "docs" / "neural-art.md"
RESULTS = CLONE / "benchmarks" / "results"
UNKNOWNS = ("s0 one less", "s0 one more", "ties to even", "ties up", "24-bit partial sums")


def models() -> str:
    """One row per model: layers by themselves, the output, and what the labels do."""
    rows = []
    for r in _results():
        alone = [100 * layer["alone"] / layer["elements"] for layer in r["layers"]]
        rule = r["answers"]["by the rules"]
        elements = r["layers"][-1]["elements"]
        in_network = 100 * r["layers"][-1]["in_network"] / elements
        right = f"{r['answers']['tflm']['right']}, {rule['right']}" if "right" in rule else ""
        changed = f"{rule['labels_not_tflms']} of {r['images']}" if r["labels"] else ""
        rows.append(
            (_name(r), f"{r['images']:,} {r['data']}", f"{median(alone):.2f} ({max(alone):.1f})",
             f"{in_network:.0f}", changed, right)
        )  # fmt: skip
    head = ("model", "inputs", "layers alone, %", "last layer, %", "labels changed",
            "right, tflm and here")  # fmt: skip
    origins = "; ".join(dict.fromkeys(f"{r['machine']}, commit {r['commit']}" for r in _results()))
    return f"{markdown(head, rows)}\n\n{origins}."


def unknowns() -> str:
    """For each thing nobody knows: labels that change with it, and right ones."""
    rows = [(_name(r), *(_answer(r, name) for name in UNKNOWNS)) for r in _results() if r["labels"]]
    return markdown(("model", *UNKNOWNS), rows)


def _answer(result: Mapping[str, Any], name: str) -> str:
    facts = result["answers"][name]
    right = f" ({facts['right']})" if "right" in facts else ""
    return f"{facts['labels_not_the_rules']}{right}"


def layers() -> str:
    """A table for each model, a row for each layer."""
    parts = []
    for r in _results():
        rows = [
            (f"`{x['node']}`", f"{x['elements']:,}", _share(x, "alone"), _share(x, "in_network"))
            for x in r["layers"]
        ]
        head = ("layer", "elements", "alone", "in the network")
        parts.append(f"**{_name(r)}** ({r['origin']})\n\n{markdown(head, rows)}")
    return "\n\n".join(parts)


def training() -> str:
    """Test accuracy of the demo's head, one row per shift and profile."""
    r = json.loads((RESULTS / "demo_head_profiles.json").read_text())
    ways = [name for name in r["rows"][0] if name not in ("profile", "shift", "before")]
    rows = [
        (row["shift"], f"`{row['profile']}`", f"{100 * row['before']:.1f}",
         *(f"{100 * mean(row[way]):.1f}" for way in ways))
        for row in sorted(r["rows"], key=lambda row: list(SHIFTS).index(row["shift"]))
    ]  # fmt: skip
    table = markdown(("digits", "profile", "before", *ways), rows)
    return f"{table}\n\nMeans of {r['seeds']} seeds, {r['epochs']} epochs, commit {r['commit']}."


def _share(layer: Mapping[str, Any], key: str) -> str:
    percent = 100 * layer[key] / layer["elements"]
    return f"{percent:.2f} %, at most {layer[f'{key}_max']}"


def _name(result: Mapping[str, Any]) -> str:
    return str(result["model"]).removesuffix(".tflite")


def _results() -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in sorted(RESULTS.glob("neural_art_*.json"))]


TABLES = {
    "models": models,
    "unknowns": unknowns,
    "training": training,
    "layers": layers,
}

if __name__ == "__main__":
    rewrite(PAGE, TABLES)
