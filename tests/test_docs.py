"""The pages of docs/: their examples print what the pages say, and their links lead somewhere."""

import doctest
import re
from pathlib import Path

import pytest

CLONE = Path(__file__).resolve().parents[1]
PAGES = sorted((CLONE / "docs").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_examples_print_what_it_says(page):
    fences_removed = page.read_text("utf-8").replace("```", "\n")
    examples = doctest.DocTestParser().get_doctest(fences_removed, {}, page.name, str(page), 0)
    lines = []
    doctest.DocTestRunner().run(examples, out=lines.append)
    assert "".join(lines) == ""


@pytest.mark.parametrize("page", [*PAGES, CLONE / "README.md"], ids=lambda page: page.name)
def test_page_names_only_files_that_exist(page):
    text = page.read_text("utf-8")
    assert text.startswith("# ")
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    paths = re.findall(r"`((?:npusim|zo|models|tests|docs|benchmarks)/[\w/.]*)`", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [path for path in paths if not (CLONE / path).exists()]
    assert missing == []
