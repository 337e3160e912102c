"""Tables of the pages: each stands between `<!-- name -->` and `<!-- end -->`, made by a script."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

Tables = Mapping[str, Callable[[], str]]


def rewrite(page: Path, tables: Tables) -> None:
    """Make every table of a page anew, in place."""
    page.write_text(filled(page.read_text("utf-8"), tables), "utf-8")


def filled(text: str, tables: Tables) -> str:
    """The text with every table made anew; KeyError for a name that no table has."""

    def replacement(match: re.Match[str]) -> str:
        return f"<!-- {match[1]} -->\n{tables[match[1]]()}\n<!-- end -->"

    return re.sub(r"<!-- (\w+) -->\n.*?<!-- end -->", replacement, text, flags=re.DOTALL)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
