"""The pages of docs/: their examples print what the pages say, and their links lead somewhere."""

import contextlib
import csv
import doctest
import gzip
import importlib
import io
import json
import re
import shlex
from pathlib import Path

import pytest

import npusim.cli
import zo.cli
from zo.reproduce.tables import EXPERIMENTS as TABLES

CLONE = Path(__file__).resolve().parents[1]
PAGES = sorted((CLONE / "docs").glob("*.md"))
EXPERIMENTS = sorted((CLONE / "docs" / "experiments").glob("*.md"))
SCRIPTS = ["experiment_tables", "neural_art_tables", "readme_tables", "rules_table"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_page_examples_print_what_it_says(page, tmp_path, monkeypatch):
    """Python first, then the commands, in one folder."""
    monkeypatch.chdir(tmp_path)
    fences_removed = page.read_text("utf-8").replace("```", "\n")
    examples = doctest.DocTestParser().get_doctest(fences_removed, {}, page.name, str(page), 0)
    lines = []
    doctest.DocTestRunner().run(examples, out=lines.append)
    assert "".join(lines) == ""
    shown = re.findall(r"```console\n(.*?)```", page.read_text("utf-8"), re.DOTALL)
    assert "".join(map(timeless, map(printed, shown))) == "".join(map(timeless, shown))


@pytest.mark.parametrize("script", SCRIPTS)
def test_tables_are_what_the_script_makes(script, monkeypatch):
    monkeypatch.syspath_prepend(CLONE / "docs")
    module = importlib.import_module(script)
    page = module.PAGE.read_text("utf-8")
    assert set(module.TABLES) == set(re.findall(r"<!-- (?!end)(\w+) -->", page))
    filled = importlib.import_module("pages").filled(page, module.TABLES)
    assert filled == page, f"run python docs/{script}.py"


def printed(block):
    """A block of `$ command` lines with what the commands print now."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        for line in block.splitlines():
            if line.startswith("$ "):
                print(line)
                program, *arguments = shlex.split(line[2:])
                {"npusim": npusim.cli.main, "zo": zo.cli.main}[program](arguments)
    return out.getvalue()


def timeless(text):
    """The text without seconds, which differ at every run."""
    return re.sub(r" +\d+\.\d s$|(?<=^seconds ).*$", "", text, flags=re.MULTILINE)


def test_seconds_do_not_count():
    text = "epoch   1  forwards       144      0.1 s\nseconds      training 0.4\n"
    assert timeless(text) == "epoch   1  forwards       144\nseconds \n"


@pytest.mark.parametrize(
    "page", [*PAGES, *EXPERIMENTS, CLONE / "README.md"], ids=lambda page: page.name
)
def test_page_names_only_files_that_exist(page):
    text = page.read_text("utf-8")
    assert text.startswith("# ")
    links = re.findall(r"\]\((?!https?://|#)([^)#]+)", text)
    paths = re.findall(r"`((?:npusim|zo|models|tests|docs|benchmarks)/[\w/.]*)`", text)
    missing = [link for link in links if not (page.parent / link).exists()]
    missing += [path for path in paths if not (CLONE / path).exists()]
    assert missing == []


@pytest.mark.parametrize("page", EXPERIMENTS, ids=lambda page: page.stem)
def test_an_experiment_has_its_command_its_machine_and_a_conclusion(page):
    text = page.read_text("utf-8")
    name, _, of = page.stem.partition("-")
    assert f"\nzo {f'search {of}' if name == 'T1' else f'reproduce {name}'} " in text
    assert re.search(r"^\* Written at commit [0-9a-f]{7,}; .+\.$", text, re.MULTILINE)
    assert len(text.partition("## Conclusion\n")[2].split()) > 10


def whole(page):
    """Whether it is of an experiment whose histories are not cut; studies have other tables."""
    experiment = TABLES.get(page.stem.partition("-")[0])
    return experiment is not None and experiment.limit is None


@pytest.mark.parametrize("page", list(filter(whole, EXPERIMENTS)), ids=lambda page: page.stem)
def test_the_figures_of_an_experiment_are_those_of_its_runs(page):
    """Validation accuracies of whole runs: means over seeds of the last ten epochs."""
    data = gzip.decompress((CLONE / "benchmarks/results" / f"{page.stem}.csv.gz").read_bytes())
    lines = list(csv.DictReader(io.StringIO(data.decode())))
    runs = {}
    for line in lines:
        if line["epoch"] != "0":
            runs.setdefault((line["row"], line["seed"]), []).append(float(line["accuracy"]))
    finals = {}
    for (row, _), accuracies in runs.items():
        finals.setdefault(row, []).append(100 * sum(accuracies[-10:]) / len(accuracies[-10:]))
    shown = dict(re.findall(r"^\| ([^|]+) \| ([\d.]+) ± ", page.read_text("utf-8"), re.MULTILINE))
    assert {row: f"{sum(f) / len(f):.1f}" for row, f in finals.items()} == shown


SEARCHES = [page for page in EXPERIMENTS if page.stem.startswith("T1-")]


@pytest.mark.parametrize("page", SEARCHES, ids=lambda page: page.stem)
def test_the_rates_of_a_search_are_the_best_of_its_trials(page):
    results = CLONE / "benchmarks" / "results"
    data = gzip.decompress((results / f"{page.stem}.csv.gz").read_bytes()).decode()
    trials = {}
    for line in csv.DictReader(io.StringIO(data)):
        trials.setdefault(line["method"], []).append((float(line["accuracy"]), float(line["rate"])))
    best = {method: max(found, key=lambda trial: trial[0]) for method, found in trials.items()}
    rates = json.loads((results / f"{page.stem}.json").read_text())["rates"]
    assert rates == {method: rate for method, (_, rate) in best.items()}
    assert len({len(found) for found in trials.values()}) == 1
    lines = re.findall(r"^\| (\w[^|]*) \| (\d.*)", page.read_text("utf-8"), re.MULTILINE)
    assert [method for method, _ in lines] == list(best)
    for (_, line), (accuracy, rate) in zip(lines, best.values(), strict=True):
        assert f"| {rate:.3g} | {100 * accuracy:.1f} |" in line
