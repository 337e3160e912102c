"""Experiments: a bank is the network's own features, and where or when a cell runs is no matter."""

import json
import os
import signal
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import zo
from npusim import Session, models
from npusim.head import replace_head
from npusim.kernels.structs import EVEN
from npusim.neural_art.settle import settle, settle_node
from zo.commands import reproduce as reproduce_command
from zo.cost import Cost
from zo.data import in_memory
from zo.data.augment import augmented
from zo.history import Epoch
from zo.options import Method, Options
from zo.reproduce import execute, spread
from zo.reproduce.bank import head_graph, make_bank, split_rows
from zo.reproduce.cell import Cell, Outcome, schedule_of
from zo.reproduce.execute import run_cell
from zo.reproduce.experiment import Experiment, Limit, Plan, interval, rows_of
from zo.reproduce.store import Store
from zo.reproduce.tables import EXPERIMENTS
from zo.reproduce.write import panels_of, write

SHORT = {"epochs": 2, "samples": {"q": 2}, "batch": 32}


@pytest.fixture(scope="module")
def digits():
    part = models.digits().train
    return in_memory("digits", models.to_int8(models.low_contrast(part.images[:400])),
                     part.labels[:400])  # fmt: skip


@pytest.fixture(scope="module")
def bank(digits):
    return make_bank(models.digits_cnn(), digits, variants=2)


def untimed(outcome):
    return [epoch._replace(seconds=0.0) for epoch in outcome.history], outcome.test


def history(accuracies, forwards=100):
    """Of 1,000 images; each epoch takes so many forwards."""
    return tuple(Epoch(i, 4 * bool(i), round(1000 * a), 1000, 0, 0, 64 * bool(i),
                       Cost(forwards * i), 0.0) for i, a in enumerate(accuracies))  # fmt: skip


def test_a_run_on_a_bank_is_a_run_on_the_whole_network(digits, bank):
    cell = Cell("", method={"recalibrate": True}, seed=3, augment=True, **SHORT)
    found = run_cell(cell, bank)
    start = execute._start(bank, 3, 32)
    head = execute._int8_head(cell, bank, start)
    graph = replace_head(models.digits_cnn(), head)
    # signs go by streams: those of the bank's head
    tensors = [t for t in head_graph(bank, head).tensors if t.name.startswith("head")]
    streams = {t.name: t.stream for t in tensors}
    graph = replace(graph, tensors=tuple(replace(t, stream=streams.get(t.name, t.stream))
                                         for t in graph.tensors))  # fmt: skip
    rows = split_rows(bank, 3)
    variants = augmented(digits, 2)
    chosen = np.concatenate([v * len(digits) + rows[0] for v in range(2)])
    train = replace(variants.take(chosen), variants=2)
    session = Session(graph, trainable=["head"])
    result = zo.train(session, train, digits.take(rows[1]), scheduler=zo.Constant(2),
                      options=Options(epochs=2, batch=32, seed=3))  # fmt: skip
    assert [e[:6] for e in found.history] == [e[:6] for e in result.history]
    test = digits.take(rows[2])
    logits = Session(result.graph).run(test.images())
    assert found.test == (int((logits.argmax(1) == test.labels).sum()), len(test))


def test_parts_are_disjoint_and_drawn_by_the_seed(bank):
    train, validation, test = split_rows(bank, 0)
    assert (len(train), len(validation), len(test)) == (280, 40, 80)
    assert sorted(np.concatenate([train, validation, test])) == list(range(400))
    others = split_rows(bank, 1)
    assert not np.array_equal(others[0], train)
    np.testing.assert_array_equal(others[2], test)  # what a seed chose has not seen it


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_every_cell_of_every_experiment_means_something(name):
    plan = Plan(seeds=2, epochs=6, steps=5)
    experiment = EXPERIMENTS[name]
    cells = experiment.runs(plan)
    labels = [cell.label for cell in experiment.cells(plan)]
    assert len(set(labels)) == len(labels)
    assert len(cells) == 2 * len(labels)
    assert len({cell.key("bank") for cell in cells}) == len(cells)
    assert experiment.baseline in {*labels, None}
    assert set(experiment.paper) <= set(labels)
    for cell in cells:
        schedule_of(cell)
        Method(**cell.method)


def test_unknowns_reach_the_arithmetic_of_the_head(bank):
    fixed = {"method": {"recalibrate": False}, "profile": "neural-art", **SHORT}
    start = execute._start(bank, 0, 32)
    graph = head_graph(bank, execute._int8_head(Cell("", **fixed), bank, start), "neural-art")
    by_rules = settle_node(settle(graph), settle(graph).nodes[0])
    for unknowns, name, expected in (
        ({"ties": "even"}, "ties", [EVEN] * 3),
        ({"s0_more": 1}, "s0", [by_rules["s0"][0] + 1]),
        ({"s0_more": -50}, "s0", [0]),
        ({"partial_bits": 24}, "partial_bits", [24]),
    ):
        found = execute._with_unknowns(graph, unknowns)
        assert settle_node(found, found.nodes[0])[name].tolist() == expected
    histories = [untimed(run_cell(Cell("", unknowns=u, **fixed), bank))
                 for u in ({}, {"s0_more": 6})]  # fmt: skip
    assert histories[0] != histories[1]


def test_outcomes_come_back_from_disk_and_damaged_ones_do_not(tmp_path, bank):
    store, cell = Store(tmp_path, "bank", Outcome), Cell("a", seed=1)
    outcome = Outcome(history([0.1, 0.2]), (3, 4), 1.5)
    assert store.find(cell) is None
    store.keep(cell, outcome)
    assert store.find(cell) == outcome
    assert Store(tmp_path, "another", Outcome).find(cell) is None
    assert store.find(Cell("another label", seed=1)) == outcome
    assert store.find(Cell("a", seed=2)) is None
    (file,) = tmp_path.iterdir()
    file.write_text(file.read_text()[:-20])
    assert store.find(cell) is None


def test_rows_are_means_over_seeds_and_differences_are_paired():
    experiment = Experiment("X", "x", "?", lambda plan: [], {"a": 50.0}, "b")
    accuracies = {"a": (0.50, 0.56, 0.61), "b": (0.48, 0.55, 0.57)}
    results = [
        (Cell(label, seed=seed), Outcome(history([0.1, a]), (int(100 * a), 100), 1.0))
        for label, values in accuracies.items()
        for seed, a in enumerate(values)
    ]
    a, b = rows_of(experiment, Plan(), results)
    assert (a.label, a.seeds, a.paper, b.against) == ("a", 3, 50.0, None)
    assert a.final == pytest.approx(np.mean([50, 56, 61]))
    assert a.deviation == pytest.approx(np.std([50, 56, 61], ddof=1))
    paired = stats.ttest_rel([50, 56, 61], [48, 55, 57])
    low, high = paired.confidence_interval(0.95)
    assert a.against == pytest.approx(((low + high) / 2, (high - low) / 2))
    assert a.other == "b"
    turned = experiment._replace(pairs={"a": "a", "b": "a"})
    none, other = rows_of(turned, Plan(), results)
    assert none.against is None
    assert (-other.against[0], other.other) == (pytest.approx(a.against[0]), "a")
    assert interval([1.0]) == (1.0, float("inf"))


def test_histories_are_cut_at_equal_forwards():
    experiment = Experiment("X", "x", "?", lambda plan: [], limit=lambda plan: Limit(250))
    results = [(Cell("a"), Outcome(history([0.1, 0.2, 0.3, 0.9]), (9, 10), 1.0))]
    (row,) = rows_of(experiment, Plan(), results)
    assert (row.final, row.test, row.forwards) == (pytest.approx(25), None, 200)


def test_files_hold_what_the_runs_were(tmp_path):
    experiment = Experiment("X", "Title", "Why?", lambda plan: [], {"a": 50.0}, "b", ("Differs.",))
    results = [(Cell(label, seed=seed), Outcome(history([0.1, 0.2]), (1, 2), 1.0))
               for label in "ab" for seed in range(2)]  # fmt: skip
    write(experiment, Plan(), results, tmp_path, ["Note."])
    lines = (tmp_path / "X.csv").read_text().splitlines()
    assert lines[0] == "row,schedule,q,seed,epoch,accuracy,forwards,macs,seconds"
    assert lines[2] == "a,constant,4,0,1,0.200000,100,0,0.000"
    assert len(lines) == 1 + 4 * 2
    text = (tmp_path / "X.md").read_text()
    assert text.startswith("# X: Title\n\nWhy?\n\n|")
    assert "| a | 20.0 ± 0.0 | 50.0 | 100 | 4 | 1 | 50.0 | -30.0 | +0.00 ± 0.00 |" in text
    assert "over 2 seeds; differences seed by seed, with the 95 % interval by Student's" in text
    assert "* Note.\n* Differs.\n" in text
    assert (tmp_path / "X.png").read_bytes().startswith(b"\x89PNG")


def test_one_seed_has_no_spread(tmp_path):
    experiment = Experiment("X", "Title", "Why?", lambda plan: [], baseline="b")
    results = [(Cell(label), Outcome(history([0.1, accuracy]), (1, 2), 1.0))
               for label, accuracy in (("a", 0.25), ("b", 0.2))]  # fmt: skip
    write(experiment, Plan(), results, tmp_path, [])
    text = (tmp_path / "X.md").read_text()
    assert "| a | 25.0 | 50.0 | 100 | 4 | 1 | +5.00 |" in text
    assert "Accuracies in per cent, of one seed.\n" in text


def test_a_picture_has_a_panel_for_each_method_and_the_others_together():
    def panels(*labels):
        experiment = Experiment("X", "Title", "?", lambda plan: [])
        results = [(Cell(label, profile=label.partition(",")[0], seed=seed),
                    Outcome(history([0.1, 0.2]), None, 1.0))
                   for label in labels for seed in range(2)]  # fmt: skip
        return [(panel.title, list(panel.curves)) for panel in panels_of(experiment, results)]

    assert panels("a, q = 4", "a, q = 8", "b") == [("a", ["q = 4", "q = 8"]), ("b", ["b"])]
    assert panels("a", "b, q = 4", "b, q = 8", "c") == [
        ("b", ["q = 4", "q = 8"]), ("", ["a", "c"]),
    ]  # fmt: skip
    assert panels(*"abcdefgh") == [("Title", list("abcd")), ("", list("efgh"))]
    many = [f"q = {q}" for q in range(1, 8)]
    assert panels(*(f"a, {name}" for name in many), "b") == [
        ("a", many[:3]), ("", many[3:]), ("b", ["b"]),
    ]  # fmt: skip


def test_a_spread_is_that_of_the_rows(tmp_path):
    experiment = Experiment("X", "Title", "Why?", lambda plan: [], spread=True)
    results = [(Cell(label, seed=seed), Outcome(history([0.1, accuracy]), (test, 100), 1.0))
               for label, accuracy, test in (("a", 0.2, 30), ("b", 0.25, 28))
               for seed in range(2)]  # fmt: skip
    write(experiment, Plan(), results, tmp_path, [])
    text = (tmp_path / "X.md").read_text()
    assert "mean and standard deviation over 2 seeds.\n" in text
    assert "* From the lowest row to the highest: 5.00 points in validation.\n" in text
    assert "* From the lowest row to the highest: 2.00 points in test.\n" in text
    assert "within a row, in validation: 0.00.\n" in text


def test_the_command_goes_on_where_it_stopped(tmp_path, monkeypatch, zo_command):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("NPUSIM_CACHE_DIR", str(tmp_path / "cache"))
    model = Path(models.__file__).parent / "digits_cnn.h5"
    command = ("reproduce", "F5", "--model", model, "--data", "digits", "--seeds", 1,
               "--epochs", 1, "--augment", 1, "--output", "out", "--json")  # fmt: skip
    code, out, err = zo_command(*command)
    assert (code, err) == (0, "")
    rows = json.loads(out)
    assert len(rows) == 8
    kept = sorted((tmp_path / "out" / "runs").iterdir())
    assert len(kept) == 8
    kept[2].unlink()
    ran = []
    monkeypatch.setattr(reproduce_command, "run_cell", lambda cell, bank: ran.append(cell) or
                        run_cell(cell, bank))  # fmt: skip
    again = json.loads(zo_command(*command)[1])
    assert len(ran) == 1
    seconds = "seconds"
    assert [{**r, seconds: 0} for r in again] == [{**r, seconds: 0} for r in rows]


@pytest.mark.full
def test_workers_and_their_death_change_no_bit(bank, tmp_path):
    """Two processes, one of which kills itself in the middle of its first run."""
    cells = [Cell(f"{seed}", seed=seed, **SHORT) for seed in range(4)]
    expected = [untimed(run_cell(cell, bank)) for cell in cells]
    found = {}
    victim = tmp_path / "victim"
    spread.run_cells(
        [Cell(c.label, seed=c.seed, **SHORT) for c in cells], bank,
        lambda cell, outcome: found.__setitem__(int(cell.label), untimed(outcome)), workers=2,
        run=dying(victim),
    )  # fmt: skip
    assert victim.exists()
    assert [found[i] for i in range(4)] == expected


def dying(path):
    """A run that, once, takes its process with it."""

    def run(cell, bank):
        if cell.label == "1" and not path.exists():
            path.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return run_cell(cell, bank)

    return run


def test_a_limit_counts_what_steps_cost_besides_their_forwards():
    whole, cut = history([0.1, 0.2, 0.3]), Limit(600, per_step=20)  # 100 forwards, 10 steps
    assert [cut.holds(epoch, 10) for epoch in whole] == [True, True, True]
    assert [Limit(599, 20).holds(epoch, 10) for epoch in whole] == [True, True, False]
    assert [Limit(200).holds(epoch, 10) for epoch in whole] == [True, True, True]


def test_cost_aware_goes_by_what_lies_before_the_head(bank):
    """A dear network below the head makes samples cheap beside it: q rises."""
    ends = {}
    for frozen in (0, 5000):
        plan = Plan(epochs=2, steps=4, frozen=frozen)
        cells = EXPERIMENTS["T15"].cells(plan)
        (cell,) = (cell for cell in cells if cell.label == "cost_aware")
        stored = json.loads(json.dumps(asdict(cell)))  # as a file has it
        samples = {**cell.samples, "q_max": 64, "costs": stored["samples"]["costs"][:6]}
        found = run_cell(replace(cell, samples=samples, batch=32), bank)
        ends[frozen] = found.history[-1].q
    assert ends[0] < ends[5000] == 64


def test_rows_are_chosen_by_patterns():
    chosen = EXPERIMENTS["T4"].only(["ours, q = *4", "exact head"])
    labels = [cell.label for cell in chosen.cells(Plan())]
    assert labels == ["ours, q = 4", "ours, q = 64", "exact head"]
    with pytest.raises(ValueError, match=r"row: must match one of cosine, q = 4; .*, got 'q = 4'"):
        EXPERIMENTS["T2"].only(["cosine*", "q = 4"]).cells(Plan())


def test_a_run_stops_behind_its_limit(bank):
    whole = run_cell(Cell("", epochs=3, stop_after=0, samples={"q": 2}, batch=32), bank)
    epochs = [epoch.cost.forwards for epoch in whole.history]
    limited = Cell("", epochs=3, stop_after=0, samples={"q": 2}, batch=32, limit=(epochs[1], 0))
    found = run_cell(limited, bank)
    assert untimed(found)[0] == untimed(whole)[0][:3]  # the one that passes it is the last
    assert found.test is None
    assert limited.key("bank") != replace(limited, limit=None).key("bank")


@pytest.mark.parametrize("numbers", ["int8", "float32"])
def test_a_run_that_ctrl_c_cuts_has_no_outcome(bank, ctrl_c_in_step_3, numbers):
    with pytest.raises(KeyboardInterrupt):
        run_cell(Cell("", numbers=numbers, **SHORT), bank)
    assert len(ctrl_c_in_step_3) == 3
