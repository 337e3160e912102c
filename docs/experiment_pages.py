"""A page of docs/experiments for one `zo reproduce`: table, picture, command, machine, conclusion.

    python docs/experiment_pages.py T4 --model m64.h5 --data EuroSAT_RGB.zip --output runs/

takes what `zo reproduce` takes and runs it; runs that the output folder holds are not run again,
and with `--kept` nothing is run at all: the folder has the table of these very options. The table
goes to docs/experiments, all of its numbers to benchmarks/results. `--page NAME` names the page,
else the experiment does. The conclusion of an earlier page stays: people write it. With `--search`
it is the page of `zo search`, T1-NAME, and the rates that it found go to benchmarks/results too.
"""

import argparse
import gzip
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES, RESULTS = ROOT / "docs" / "experiments", ROOT / "benchmarks" / "results"
QUESTION = "Which learning rate suits each method, if all may look for theirs equally long?"
CONCLUSION = "## Conclusion\n"

sys.path.insert(0, str(ROOT / "benchmarks"))


def main() -> int:
    """Run the experiment, then write its page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name")
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--page")
    parser.add_argument("--kept", action="store_true")
    parser.add_argument("--search", action="store_true")
    given, options = parser.parse_known_args()
    from zo.cli import main as zo

    command = ["zo", "search" if given.search else "reproduce", given.name, *options]
    code = 0 if given.kept else zo([*command[1:], "--output", str(given.output)])
    if code == 0:
        name = "T1" if given.search else given.name
        page = given.page or (f"T1-{given.name}" if given.search else name)
        _write(name, page, given.output, command)
    return code


def _write(name: str, page: str, folder: Path, command: list[str]) -> None:
    PAGES.mkdir(exist_ok=True)
    RESULTS.mkdir(exist_ok=True)
    if name == "T1":
        shutil.copy(folder / "rates.json", RESULTS / f"{page}.json")
    else:
        shutil.copy(folder / f"{name}.png", PAGES / f"{page}.png")
    data = (folder / f"{name}.csv").read_bytes()
    (RESULTS / f"{page}.csv.gz").write_bytes(gzip.compress(data, mtime=0))
    path = PAGES / f"{page}.md"
    text = path.read_text("utf-8") if path.exists() else ""
    conclusion = text.partition(CONCLUSION)[2] or "\n"
    table = (folder / f"{name}.md").read_text("utf-8")
    path.write_text(_page(table, page, command) + CONCLUSION + conclusion, "utf-8")


def _page(table: str, page: str, command: list[str]) -> str:
    """Title and question, the command, what it wrote, on what machine, and the picture."""
    from provenance import provenance

    title, _, question, rest = table.split("\n", 3)
    if question.startswith("|"):  # a search asks nothing
        question, rest = QUESTION, f"\n{question}\n{rest}"
    short = shlex.join(Path(word).name if "/" in word else word for word in command)
    machine = provenance()["machine"]
    picture = [f"![{title[2:]}]({page}.png)", ""] if (PAGES / f"{page}.png").exists() else []
    return "\n".join([
        title, "", question, "", "```", f"{short} --output runs/", "```", rest.rstrip("\n"),
        f"* Written at commit {_commit()}; {machine}.", "", *picture,
        f"All of its numbers: [{page}.csv.gz](../../benchmarks/results/{page}.csv.gz).", "",
        "",
    ])  # fmt: skip


def _commit() -> str:
    """The last one that changed the packages; pages themselves do not count."""
    command = ["git", "log", "-1", "--format=%h", "--", "npusim", "zo", "models"]
    found = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return found.stdout.strip()


if __name__ == "__main__":
    sys.exit(main())
