"""The tables of docs/experiments.md: what can be reproduced, made from the experiments themselves.

    python docs/experiment_tables.py        # rewrites docs/experiments.md in place

Each table stands in the page between `<!-- name -->` and `<!-- end -->`.
"""

import re
from pathlib import Path

from pages import markdown, rewrite

from zo.reproduce.experiment import Experiment, Plan
from zo.reproduce.families import methods
from zo.reproduce.study import Study
from zo.reproduce.tables import EXPERIMENTS, STUDIES
from zo.reproduce.task import digits_task

PAGE = Path(__file__).resolve().parents[1] / "docs" / "experiments.md"
RESULTS = PAGE.parent / "experiments"


def tables() -> str:
    """Name, question and size of every experiment."""
    head = ("name", "what it compares", "question", "rows", "methods with a rate of their own")
    rows = []
    for e in sorted(EXPERIMENTS.values(), key=_order):
        cells = e.cells(Plan())
        rows.append((f"`{e.name}`", e.title, e.question, str(len(cells)),
                     str(len(methods(e, Plan())))))  # fmt: skip
    return markdown(head, rows)


def deviations() -> str:
    """How every experiment deviates from the paper, in its own words."""
    lines = []
    for e in sorted(EXPERIMENTS.values(), key=_order):
        said = " ".join(e.differs) or "The paper has no such comparison."
        lines.append(f"* `{e.name}`: {said}")
    return "\n".join(lines)


def results() -> str:
    """Every page of docs/experiments: its title and the first paragraph of its conclusion."""
    rows = []
    for page in sorted(RESULTS.glob("*.md"), key=_page_order):
        text = page.read_text("utf-8")
        title = text.partition("\n")[0][2:].partition(": ")[2]
        conclusion = text.partition("## Conclusion\n")[2].strip().partition("\n\n")[0]
        rows.append((f"[{page.stem}](experiments/{page.name})", title,
                     " ".join(conclusion.split())))  # fmt: skip
    return markdown(("page", "what it compares", "conclusion"), rows)


def _page_order(page: Path) -> list[tuple[str, int]]:
    """By letters and numbers: T1-T9, T1-T10, T2."""
    return [(letters, int(number or 0)) for letters, number in re.findall(r"(\D+)(\d*)", page.stem)]


def studies() -> str:
    """Name, question and size of every study, and what it takes."""
    head = ("name", "what it compares", "question", "runs", "takes")
    rows = [(f"`{s.name}`", s.title, s.question, str(len(s.runs(Plan(), digits_task()))), _taken(s))
            for s in sorted(STUDIES.values(), key=_order)]  # fmt: skip
    return markdown(head, rows)


def _taken(study: Study) -> str:
    material = "model and images, or the shipped digit reader" if study.material == "task" else ""
    return "; ".join(filter(None, (material, ", ".join(study.tools)))) or "nothing"


def _order(experiment: Experiment | Study) -> tuple[str, int]:
    """Figures before tables, each by number."""
    return experiment.name[0], int(experiment.name[1:])


TABLES = {"tables": tables, "deviations": deviations, "studies": studies, "results": results}

if __name__ == "__main__":
    rewrite(PAGE, TABLES)
