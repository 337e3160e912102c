"""The README's tables, made from the code and from benchmarks/results.

    python docs/readme_tables.py            # rewrites README.md in place

Each table stands in README.md between `<!-- name -->` and `<!-- end -->`.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from npusim.formats.tflite_operators import SUPPORTED
from npusim.operators import RULES

CLONE = Path(__file__).resolve().parents[1]
README = CLONE / "README.md"
RESULTS = CLONE / "benchmarks" / "results"


def main() -> None:
    """Rewrite the tables of README.md."""
    README.write_text(filled(README.read_text("utf-8")), "utf-8")


def filled(text: str) -> str:
    """The text with every table made anew; KeyError for a name that no table has."""

    def replacement(match: re.Match[str]) -> str:
        return f"<!-- {match[1]} -->\n{TABLES[match[1]]()}\n<!-- end -->"

    return re.sub(r"<!-- (\w+) -->\n.*?<!-- end -->", replacement, text, flags=re.DOTALL)


def operators() -> str:
    """Operator x format: what files may call it, and its types."""
    names: dict[str, list[str]] = {}
    for code, support in SUPPORTED.items():
        names.setdefault(support.op, []).append(_tflite_name(code))
    rows = [
        (f"`{op}`", ", ".join(f"`{n}`" for n in names[op]), "yes", _types(rule.x, rule.y))
        for op, rule in RULES.items()
    ]
    return _table(("operator", "`.tflite`", "`.h5`", "types"), rows)


def _tflite_name(code: int) -> str:
    from tflite import BuiltinOperator

    return next(name for name, value in vars(BuiltinOperator).items() if value == code)


def _types(x: Sequence[str], y: Sequence[str]) -> str:
    if not y:
        return "any, unchanged"
    return ", ".join(x) if tuple(x) == tuple(y) else f"{', '.join(x)} to {', '.join(y)}"


def speed() -> str:
    """npusim against LiteRT, one row per file that litert_ratio.py wrote."""
    found = [json.loads(path.read_text()) for path in sorted(RESULTS.glob("litert_*.json"))]
    rows = [
        (
            r["model"].removesuffix(".tflite"),
            "" if r["input_size"] is None else f"{r['input_size']}x{r['input_size']}",
            r["rival"],
            f"{r['rival_ms']:.2f} ms",
            f"{r['npusim_ms']:.2f} ms",
            f"{r['ratio_median']:.2f}",
        )
        for r in found
    ]
    table = _table(("model", "input", "rival", "rival takes", "npusim takes", "ratio"), rows)
    return f"{table}\n\n{_provenance(found)}"


def _provenance(found: Iterable[Mapping[str, Any]]) -> str:
    """Where the figures come from, once for all rows that share it."""
    origins = {(r["machine"], r["commit"], r["threads"]) for r in found}
    lines = [
        f"{machine}, commit {commit}, {threads} thread{'s' * (threads != 1)}"
        for machine, commit, threads in sorted(origins)
    ]
    return "Measured on " + "; ".join(lines) + "."


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TABLES: Mapping[str, Callable[[], str]] = {"operators": operators, "speed": speed}

if __name__ == "__main__":
    main()
