"""The README: its example prints what it shows, its commands are CI's."""

import contextlib
import io
import re
import shlex
from pathlib import Path

import numpy as np

import npusim.cli
import zo.cli
from npusim import models

CLONE = Path(__file__).resolve().parents[1]
README = (CLONE / "README.md").read_text("utf-8")
MAIN_JOB = 'pip install -e ".[all]" && zo demo'
TEST_COMMAND = 'pip install -e ".[all,test]" && pytest'


def test_example_prints_what_the_readme_shows():
    program, expected = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", README, re.S).groups()
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(program, "README.md", "exec"), {})
    assert printed.getvalue() == expected


def test_weights_are_found_and_changed_as_the_readme_says():
    made, name = re.search(r"`(npusim\.Session\(.*\))\.weights\[\"(\w+)\"\]`", README).groups()
    node = re.search(r"as `npusim inspect` lists them: here `(\w+)`", README)[1]
    names = {"npusim": npusim, "graph": models.digits_cnn()}
    session = eval(made, names)
    x = models.to_int8(models.digits().test.images)
    before = session.run(x)
    weights = session.weights[name]
    assert weights.dtype == np.int8
    weights[...] = 0
    assert not np.array_equal(session.run(x), before)
    again = npusim.Session(names["graph"], trainable=[node]).weights
    assert np.array_equal(again[node], again[name])


def test_commands_stand_alone_and_ci_runs_the_tests_with_them():
    lines = README.splitlines()
    assert lines.count(MAIN_JOB) == 1
    assert lines.count(TEST_COMMAND) == 1
    assert f"\n{TEST_COMMAND} | tee " in (CLONE / ".ci" / "run").read_text("utf-8")


def test_command_lines_parse():
    parsers = {"npusim": npusim.cli.parser(), "zo": zo.cli.parser()}
    shown = "".join(README.split("```")[1::2]).splitlines()
    lines = [line for line in shown if line.startswith(tuple(f"{name} " for name in parsers))]
    assert len(lines) > 5
    for program, *arguments in (shlex.split(line, comments=True) for line in lines):
        parsers[program].parse_args(arguments)


def test_map_names_every_folder():
    folders = {
        path.name
        for path in CLONE.iterdir()
        if path.is_dir() and not path.name.startswith(".") and any(path.glob("*.py"))
    }
    assert {name for name in folders if f"| `{name}/` |" not in README} <= {"build"}
