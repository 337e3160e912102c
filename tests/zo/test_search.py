"""Search for rates: equal trials for every method, shared, resumed, and on validation alone."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from itertools import chain
from pathlib import Path

import pytest

from npusim import models
from zo.commands import experiment_options
from zo.cost import Cost
from zo.history import Epoch
from zo.options import Method
from zo.reproduce.cell import Cell, Outcome, schedule_of
from zo.reproduce.experiment import Experiment, Plan
from zo.reproduce.families import families_of, methods, tuned
from zo.reproduce.rates import read_rates, write_rates
from zo.reproduce.search import Search, search_rates
from zo.reproduce.tables import EXPERIMENTS

MODEL = Path(models.__file__).parent / "digits_cnn.h5"
OPTIMUM = 0.02


class Bank:
    """All that a search asks of a bank."""

    digest = "bank"


def rows(plan):
    return [Cell(f"{rule}, q = {q}", samples={"q": q}, method={"rule": rule})
            for rule in ("nearest", "sign") for q in (1, 4)]  # fmt: skip


EXPERIMENT = Experiment("X", "Rules", "?", rows)


def history(right):
    """Of 1,000 images, before training and after an epoch of it."""
    return tuple(Epoch(i, i, i * right, 1000, 0, 0, 64, Cost(i), 0.0) for i in range(2))


def train(ran, cells):
    """Outcomes that are best at a rate of OPTIMUM a sample, and a test that says the opposite."""
    ran += cells
    found = []
    for cell in cells:
        rate = cell.rate / cell.samples["q"]
        right = round(1000 / (1 + abs(rate / OPTIMUM - 1)))
        found.append((cell, Outcome(history(right), (1000 - right, 1000), 0.0)))
    return found


def searched(storage, trials, seed=0, run=train):
    ran = []
    search = Search(EXPERIMENT, Plan(), trials, seed)
    return search_rates(search, Bank(), str(storage), partial(run, ran)), ran


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_row_of_every_experiment_has_one_method(name):
    plan = Plan(epochs=6, steps=5)
    cells, families = EXPERIMENTS[name].cells(plan), methods(EXPERIMENTS[name], plan)
    names = [family.name for family in families]
    assert len(set(names)) == len(names)
    assert sorted(c.label for f in families for c in f.cells) == sorted(c.label for c in cells)
    for family in families:
        low, high = family.space
        assert 0 < low < (family.own or (low * high) ** 0.5) < high
        for cell in family.at(low):
            q = schedule_of(cell).q if family.per_sample else 1
            assert cell.rate == low * q
            method = Method(**cell.method)
            follows_q = method.lr_scaling == "linear" and not method.exact_head
            assert family.per_sample == follows_q


def test_rows_that_differ_in_q_alone_are_one_method():
    nearest, sign = families_of(rows(Plan()))
    assert (nearest.name, sign.name) == ("nearest", "sign")
    assert [cell.rate for cell in nearest.at(0.01)] == [0.01, 0.04]
    paper = {f.name: f for f in families_of(EXPERIMENTS["T4"].cells(Plan()))}["paper's"]
    assert {cell.rate for cell in paper.at(0.1)} == {0.1}


def test_every_method_gets_equal_trials_and_the_first_is_the_rate_without_a_search(tmp_path):
    found, ran = searched(tmp_path / "s.db", 12)
    assert [(one.family.name, len(one.trials)) for one in found] == [("nearest", 12), ("sign", 12)]
    assert len(ran) == 2 * 12 * 2
    for one in found:
        low, high = one.family.space
        assert one.trials[0].rate == one.family.own
        assert all(low <= trial.rate <= high for trial in one.trials)
        assert len({trial.rate for trial in one.trials}) == 12
        best = min(one.trials, key=lambda trial: abs(trial.rate / OPTIMUM - 1))
        assert one.best == best  # of validation: the test images say the opposite
        assert one.best.accuracy > one.trials[0].accuracy


def test_search_is_reproducible_and_the_seed_counts(tmp_path):
    first, _ = searched(tmp_path / "a.db", 3)
    again, _ = searched(tmp_path / "b.db", 3)
    other, ran = searched(tmp_path / "b.db", 3, seed=1)
    assert [one.trials for one in first] == [one.trials for one in again]
    assert first[0].trials[1:] != other[0].trials[1:]
    assert {cell.seed for cell in ran} == {1}


def test_interrupted_search_goes_on_as_if_it_had_not_been(tmp_path):
    whole, _ = searched(tmp_path / "whole.db", 4)

    def interrupted(ran, cells):
        if len(ran) == 4:
            raise KeyboardInterrupt
        return train(ran, cells)

    with pytest.raises(KeyboardInterrupt):
        searched(tmp_path / "s.db", 4, run=interrupted)
    resumed, ran = searched(tmp_path / "s.db", 4)
    assert [one.trials for one in resumed] == [one.trials for one in whole]
    assert len(ran) == 2 * 4 * 2 - 4


def test_more_trials_go_on_and_fewer_are_the_first(tmp_path):
    more, _ = searched(tmp_path / "s.db", 4)
    fewer, ran = searched(tmp_path / "s.db", 2)
    assert [one.trials for one in fewer] == [one.trials[:2] for one in more]
    assert ran == []


def test_files_hold_what_was_found_and_rates_come_back(tmp_path):
    found, _ = searched(tmp_path / "s.db", 3)
    write_rates(Search(EXPERIMENT, Plan(), 3), found, tmp_path, ["Note."])
    with (tmp_path / "T1.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert [float(line["rate"]) for line in lines] == [t.rate for f in found for t in f.trials]
    assert lines[0]["of"] == "a sample"
    text = (tmp_path / "T1.md").read_text()
    assert "\n| nearest | 2 | a sample | 0.00019 to 0.19 | 3 | " in text
    assert "* Note.\n" in text
    rates = read_rates(tmp_path / "rates.json", "X")
    assert rates == {one.family.name: one.best.rate for one in found}
    cells = tuned(EXPERIMENT, rates).runs(Plan(seeds=2))
    assert [c.label for c in cells] == [c.label for c in EXPERIMENT.runs(Plan(seeds=2))]
    assert {c.rate / c.samples["q"] for c in cells} == set(rates.values())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "must be a rates.json of zo search, got Expecting property name"),
        ('{"experiment": "T9", "rates": "ab"}', "of zo search, got no experiment or no rates"),
        ("[]", "must be a rates.json of zo search, got no experiment"),
        ('{"experiment": "Y", "rates": {}}', "must be rates of X, got those of Y"),
        ('{"experiment": "X", "rates": {"a": -1}}', "rate of a must be a number above 0, got -1"),
        ('{"experiment": "X", "rates": {"a": true}}', "must be a number above 0, got True"),
        ('{"experiment": "X", "rates": {"a": NaN}}', "must be a number above 0, got nan"),
    ],
)
def test_rates_reject_what_is_none(tmp_path, content, message):
    path = tmp_path / "r.json"
    path.write_text(content)
    with pytest.raises(ValueError, match=message):
        read_rates(path, "X")


def test_tuned_rejects_rates_of_other_methods():
    with pytest.raises(ValueError, match="rates: must be of X's methods nearest, sign, got odd"):
        tuned(EXPERIMENT, {"odd": 1.0}).runs(Plan())


def test_search_rejects_runs_without_an_epoch(tmp_path):
    def nothing(ran, cells):
        return [(cell, Outcome(history(1)[:1], None, 0.0)) for cell in cells]

    with pytest.raises(ValueError, match="X: runs must have an epoch that counts, got none"):
        searched(tmp_path / "s.db", 1, run=nothing)


def test_search_rejects_a_file_that_is_no_database(tmp_path):
    (tmp_path / "s.db").write_text("no database at all" * 100)
    with pytest.raises(ValueError, match=r"s\.db: must be a file or URL of a database of trials"):
        searched(tmp_path / "s.db", 1)


def test_search_names_the_extra_where_optuna_is_missing(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ImportError, match=r'got none; pip install "npusim\[sweep\]"'):
        searched(tmp_path / "s.db", 1)


def command(name, *more):
    return (name, "F5", "--model", MODEL, "--data", "digits/test", "--epochs", 1, "--augment", 1,
            *more)  # fmt: skip


def test_command_finds_rates_that_reproduce_takes(tmp_path, monkeypatch, zo_command):
    features = tmp_path / "features"  # kernels stay where they are compiled already
    monkeypatch.setattr(experiment_options, "default_folder", lambda: features)
    folder = tmp_path / "T1"
    code, out, err = zo_command(*command("search", "--trials", 2, "--output", folder))
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines()[:-1])) <= 80
    assert "head-room 32" in out
    assert sorted(path.name for path in folder.iterdir()) == [
        "T1.csv", "T1.md", "rates.json", "runs", "trials.db",
    ]  # fmt: skip
    reproduce = command("reproduce", "--seeds", 1, "--output", tmp_path / "F5", "--json")
    code, out, err = zo_command(*reproduce, "--rates", folder / "rates.json")
    assert (code, err) == (0, "")
    rates = json.loads((folder / "rates.json").read_text())["rates"]
    with (folder / "T1.csv").open() as file:
        trials = list(csv.DictReader(file))
    best = {row["label"]: row["final"] / 100 for row in json.loads(out)}
    for name, rate in rates.items():
        accuracies = {float(t["rate"]): float(t["accuracy"]) for t in trials if t["method"] == name}
        assert accuracies[rate] == max(accuracies.values()) == pytest.approx(best[name], abs=1e-6)
    assert (
        "Rates of `zo search`, rates.json: head-room 1, rec" in (tmp_path / "F5/F5.md").read_text()
    )


@pytest.mark.parametrize("name", ["search", "reproduce"])
def test_help_fits_80_columns(name, monkeypatch, zo_command):
    monkeypatch.setenv("COLUMNS", "80")
    code, out, _ = zo_command(name, "--help")
    assert code == 0
    assert [line for line in out.splitlines() if len(line) > 80] == []


@pytest.mark.full
def test_two_processes_share_the_trials_and_outlive_one_that_is_killed(tmp_path):
    """One of three is killed in the middle; the rest do the asked number, each trial once."""
    program = Path(__file__).with_name("search_together.py")
    database = tmp_path / "s.db"
    started = [subprocess.Popen([sys.executable, str(program), str(database), str(tmp_path / name)])
               for name in ("killed", "a", "b")]  # fmt: skip
    while not (tmp_path / "killed").exists():
        time.sleep(0.05)
    os.kill(started[0].pid, signal.SIGKILL)
    assert [process.wait(300) for process in started[1:]] == [0, 0]
    first, second = (json.loads((tmp_path / f"{name}.json").read_text()) for name in "ab")
    assert first == second
    assert [len(trials) for trials in first] == [12, 12]
    ran = [(tmp_path / name).read_text().splitlines() for name in ("killed", "a", "b")]
    assert min(map(len, ran)) > 0
    runs = list(chain.from_iterable(ran))
    assert len(set(runs)) == 24
    assert len(runs) <= 24 + 1  # what the killed one had begun
