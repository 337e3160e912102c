"""docs/neural-art.md: its tables are made from the results."""

from pathlib import Path

CLONE = Path(__file__).resolve().parents[1]


def test_tables_are_made_from_results():
    script = CLONE / "docs" / "neural_art_tables.py"
    namespace = {"__name__": "neural_art_tables", "__file__": str(script)}
    exec(compile(script.read_text("utf-8"), script.name, "exec"), namespace)
    page = (CLONE / "docs" / "neural-art.md").read_text("utf-8")
    assert namespace["filled"](page) == page, "run python docs/neural_art_tables.py"
