"""Studies: shifts of a deployed network, what reuse saves, and what restoring leaves behind."""

import csv
import json
from dataclasses import replace
from itertools import product
from math import comb

import numpy as np
import pytest
from scipy import stats

from npusim import Session, models
from npusim.head import find_head, until_features
from npusim.models.fine_tune import STOP
from zo.cost import Cost
from zo.data import in_memory
from zo.demo import SHIFTS as DEMO_SHIFTS
from zo.reproduce.audit import STARTS, Audit, Audited, run_audit
from zo.reproduce.compare import combined, compare, mcnemar, versus
from zo.reproduce.experiment import Plan
from zo.reproduce.repair import WAYS, Repair, Repaired, run_repair
from zo.reproduce.small import RECIPE, small_task
from zo.reproduce.store import Store
from zo.reproduce.tables import STUDIES
from zo.reproduce.task import (
    FAULTS,
    HEALTHY,
    SHIFTS,
    deployed,
    digits_task,
    faulty,
    parts_of,
    picture_task,
)

QUICK = Plan(seeds=1, epochs=1, quick=True)


@pytest.fixture(scope="module")
def task():
    return digits_task()


def repaired(answers, cost=Cost(), network="n"):  # noqa: B008
    bits = np.packbits(np.array(answers, bool)).tobytes().hex()
    return Repaired(bits, len(answers), network, cost, 1.0)


def test_digits_are_shifted_as_the_demo_shifts_them(task):
    test = models.digits().test
    rows = parts_of(task, 0).test
    for name, shift in (("1-px translation", "moved one pixel"), ("inversion", "inverted"),
                        ("contrast", "low contrast")):  # fmt: skip
        expected = models.to_int8(DEMO_SHIFTS[shift](test.images))
        assert np.array_equal(task.codes(name, rows), expected)
    assert np.array_equal(task.codes(HEALTHY, rows), models.to_int8(test.images))
    assert np.array_equal(task.labels[rows], test.labels)


def test_there_are_ten_shifts_and_each_changes_the_codes(task):
    shifts = [shift for shift in SHIFTS if shift != HEALTHY]
    assert len(shifts) + len(FAULTS) == 10
    rows = parts_of(task, 0).test
    healthy = task.codes(HEALTHY, rows)
    seen = {task.codes(shift, rows).tobytes() for shift in shifts}
    assert len(seen | {healthy.tobytes()}) == len(SHIFTS)
    few = task.codes("noise", rows[5:7])
    assert np.array_equal(few, task.codes("noise", rows)[5:7])
    for fault, count in zip(FAULTS, (3, 11), strict=True):
        hit = faulty(task, task.graph, fault, 0)
        apart = hit.tensor(task.first).data != task.graph.tensor(task.first).data
        assert np.count_nonzero(apart) == count
        assert np.array_equal(task.codes(fault, rows), healthy)
        assert np.array_equal(hit.tensor("head").data, task.graph.tensor("head").data)


def test_nothing_is_the_network_itself(task):
    found = run_repair(Repair("", "nothing", "blur", 20, 8), task)
    rows = parts_of(task, 0).test
    logits = Session(task.graph).run(task.codes("blur", rows))
    expected = logits.argmax(1) == task.labels[rows]
    assert np.array_equal(found.answers, expected)
    assert (found.total, found.cost) == (449, Cost())
    assert found.accuracy == expected.mean()


def test_a_way_back_that_ctrl_c_cuts_has_no_outcome(task, ctrl_c_in_step_3):
    with pytest.raises(KeyboardInterrupt):
        run_repair(Repair("", "exact head", "inversion", 20, 8), task)
    assert len(ctrl_c_in_step_3) == 3


@pytest.mark.parametrize("way", [way for way in WAYS if way != "nothing"])
def test_ways_change_what_they_say_and_nothing_else(task, way):
    found = {}
    for seed in (0, 1):
        repair = Repair("", way, "1-px translation", 20, 8, seed)
        found[seed] = run_repair(repair, task)
        again = run_repair(repair, task)
        assert replace(again, seconds=0) == replace(found[seed], seconds=0)
    nothing = run_repair(Repair("", "nothing", "1-px translation", 20, 8), task)
    assert len({found[0].network, found[1].network, nothing.network}) == 3
    made = WAYS[way]
    if made.backward:
        assert found[0].cost.forwards % STOP.look == 0 < found[0].cost.forwards <= STOP.steps
        return
    steps = (65 if made.q == 64 else 17 if made.first else 1) if made.first or made.head else 0
    assert found[0].cost.forwards == 8 * steps + 8 * made.statistics


def test_a_run_on_pictures_deploys_a_head_of_its_own():
    """The digit reader's body on pictures of another size, with fewer classes."""
    part = models.digits().train
    few = part.labels < 4
    pixels = np.repeat(np.repeat(part.images[few] * 15, 2, 1), 2, 2)
    dataset = in_memory("pictures.npz", pixels, part.labels[few])
    task = picture_task(models.digits_cnn(), dataset)
    assert task.images.shape[1:] == (8, 8, 1)
    assert task.source == "digits_cnn at 8x8, pictures.npz"
    graph = deployed(task, 0)
    assert len(graph.tensors[find_head(graph).inputs[1]].data) == 4
    assert deployed(task, 1).tensor("head").data.tolist() != graph.tensor("head").data.tolist()
    train, validation, test = map(set, map(tuple, parts_of(task, 0)))
    assert len(train | validation | test) == len(task.labels)
    healthy = run_repair(Repair("", "nothing", HEALTHY, 20, 8), task)
    turned = run_repair(Repair("", "nothing", "inversion", 20, 8), task)
    assert healthy.total == len(test)
    assert healthy.accuracy > 0.95 > turned.accuracy


def test_a_graph_that_ends_at_its_features_gets_the_head_that_one_with_a_head_gets():
    part = models.digits().train
    dataset = in_memory("digits", part.images * 15, part.labels)
    graph = models.digits_cnn()
    bare, whole = (picture_task(g, dataset) for g in (until_features(graph), graph))
    accuracies = []
    for task in (bare, whole):
        found = deployed(task, 0)
        accuracies.append(run_repair(Repair("", "nothing", "noise", 20, 8), task).right)
        assert np.abs(found.tensor("head").data).max() > 5
    assert accuracies[0] == accuracies[1]


def test_mcnemar_matches_scipy_on_the_discordant_images():
    one = np.array([1] * 12 + [0] * 3 + [1] * 40 + [0] * 5, bool)
    other = np.array([0] * 12 + [1] * 3 + [1] * 40 + [0] * 5, bool)
    assert mcnemar(one, other) == stats.binomtest(12, 15).pvalue == pytest.approx(0.03515625)
    assert mcnemar(other, one) == mcnemar(one, other)
    assert mcnemar(one, one) == 1.0


def test_mcnemar_is_twice_the_smaller_tail_of_the_coin():
    """As statsmodels.stats.contingency_tables.mcnemar(exact=True) states it; in whole numbers."""
    for b, c in product(range(9), repeat=2):
        tail = sum(comb(b + c, i) for i in range(min(b, c) + 1))
        expected = min(1.0, 2 * tail / 2 ** (b + c))
        one, other = np.repeat([1, 0], (b, c)).astype(bool), np.repeat([0, 1], (b, c)).astype(bool)
        assert mcnemar(one, other) == pytest.approx(expected)


def test_several_p_values_are_twice_their_median():
    assert combined([0.03]) == 0.03
    assert combined([0.01, 0.2, 0.02]) == pytest.approx(0.04)
    assert combined([0.9, 0.8]) == 1.0


def test_each_way_is_compared_with_the_best_other_one():
    answers = {"a": [1] * 9 + [0], "b": [1] * 5 + [0] * 5, "c": [0] * 8 + [1] * 2}
    results = [(Repair(label, label, "blur", 20, 1), repaired(bits))
               for label, bits in answers.items()]  # fmt: skip
    rows = {row.label: row for row in compare(results)}
    assert [rows[name].against for name in "abc"] == ["b", "a", "a"]
    assert rows["a"].accuracy == pytest.approx(90)
    assert rows["c"].p == stats.binomtest(1, 9).pvalue


def test_one_way_is_compared_with_another_seed_by_seed():
    answers = {"a": ([1] * 9 + [0], [1] * 10), "b": ([1] * 5 + [0] * 5, [0] * 2 + [1] * 8)}
    results = [(Repair(label, label, "blur", 20, 1, seed), repaired(bits))
               for label, found in answers.items() for seed, bits in enumerate(found)]  # fmt: skip
    (found,) = versus(results, "a", "b")
    assert (found.shift, found.images) == ("blur", 20)
    assert found.points == pytest.approx(30)
    assert found.half == pytest.approx(stats.t.ppf(0.975, 1) * 10)
    pairs = [stats.binomtest(4, 4).pvalue, stats.binomtest(2, 2).pvalue]
    assert found.p == combined(pairs)
    assert versus(results, "a", "c") == []


def test_a_model_without_floats_has_no_backpropagation(task):
    bare = replace(task, net=None)
    runs = [STUDIES["T11"].runs(Plan(seeds=1), material) for material in (task, bare)]
    assert runs[1] == [repair for repair in runs[0] if not WAYS[repair.way].backward] != runs[0]
    assert "Not run: backprop first + head, backprop all." in STUDIES["T11"].said(Plan(), bare)
    with pytest.raises(ValueError, match="must have a float network of its layers for backprop"):
        run_repair(Repair("", "backprop all", "blur", 20, 8), bare)


def test_fewer_test_images_are_the_first_ones(task):
    few = replace(task, most=100)
    assert few.digest != task.digest == replace(task, most=None).digest
    assert np.array_equal(parts_of(few, 0).test, parts_of(task, 0).test[:100])
    assert np.array_equal(parts_of(few, 0).train, parts_of(task, 0).train)
    (line,) = STUDIES["T11"].said(Plan(seeds=2, epochs=1), few)
    assert line.startswith("2 seeds; 8 steps of training in each integer way; ")
    assert "100 test images, the first of 449" in line


@pytest.fixture(scope="module")
def colourful():
    """180 pictures in three classes: what is bright is another colour."""
    pixels = np.random.RandomState(0).randint(0, 60, (180, 20, 24, 3)).astype(np.uint8)
    labels = np.arange(180) % 3
    pixels[np.arange(180), :, :, labels] += 120
    return in_memory("colourful.npz", pixels, labels)


def test_the_small_network_is_trained_once(colourful, tmp_path):
    seen = []
    recipe = RECIPE._replace(epochs=10)
    task = small_task(colourful, tmp_path, None, lambda *done: seen.append(done), recipe)
    assert seen == [(i + 1, 10) for i in range(10)]
    assert task.source == "small_cnn at 32x32, colourful.npz"
    assert [len(part) for part in parts_of(task, 3)] == [126, 0, 36]
    healthy = run_repair(Repair("", "nothing", HEALTHY, 20, 8), task)
    assert healthy.accuracy > 0.9
    again = small_task(colourful, tmp_path, None, lambda *done: seen.append(done), recipe)
    assert len(seen) == 10
    assert again.digest == task.digest
    other = small_task(colourful, tmp_path, None, None, recipe._replace(epochs=1))
    assert other.digest != task.digest
    mended = run_repair(Repair("", "backprop all", "inversion", 20, 8), task)
    broken = run_repair(Repair("", "nothing", "inversion", 20, 8), task)
    assert mended.accuracy > broken.accuracy


def test_the_small_network_needs_a_batch(colourful, tmp_path):
    with pytest.raises(ValueError, match=r"colourful\.npz: must hold 32 images to train on, got 7"):
        small_task(colourful.take(np.arange(10)), tmp_path)


def test_outcomes_come_back_from_disk_and_damaged_ones_do_not(tmp_path):
    cells = ((Repair("a", "nothing", "blur", 20, 8), repaired([1, 0, 1] * 5, Cost(1, 2, 3, 4))),
             (Audit("a", "clip", STARTS[0], 5), Audited(1, 2, 3, 4, 5.0)))  # fmt: skip
    for cell, outcome in cells:
        store = Store(tmp_path / type(cell).__name__, "material", type(outcome))
        assert store.find(cell) is None
        store.keep(cell, outcome)
        assert store.find(cell) == outcome
        assert store.find(replace(cell, label="b")) == outcome
        assert store.find(replace(cell, seed=1)) is None
        (file,) = (tmp_path / type(cell).__name__).iterdir()
        file.write_text(file.read_text()[:-9])
        assert store.find(cell) is None
    store = Store(tmp_path / "Repair", "material", Repaired)
    store.keep(cells[0][0], replace(cells[0][1], total=99))
    assert store.find(cells[0][0]) is None


@pytest.mark.parametrize("start", STARTS)
def test_restoring_matches_python_integers(start):
    """One step of the clamped way, number by number; zo's two ways leave every bit."""
    codes = run_audit(Audit("", "naive", start, 1))
    assert codes.first == codes.changed == codes.bits > 0
    if start == STARTS[0]:
        assert codes.changed == codes.weights
    for way in ("clip", "saturate"):
        found = run_audit(Audit("", way, start, 200))
        assert (found.first, found.changed, found.bits) == (0, 0, 0)


def test_float16_in_place_drifts():
    found = run_audit(Audit("", "float16", STARTS[1], 20))
    assert found.changed > found.weights // 20
    assert found.bits >= found.changed


@pytest.mark.parametrize("name", sorted(STUDIES))
def test_every_run_of_every_study_has_a_key_of_its_own(name, task):
    for plan in (QUICK, Plan(seeds=2)):
        cells = STUDIES[name].runs(plan, task)
        assert len({cell.key("material") for cell in cells}) == len(cells)


def test_reuse_changes_costs_and_no_bit(tmp_path, monkeypatch, zo_command):
    monkeypatch.chdir(tmp_path)
    command = ("reproduce", "T14", "--quick", "--seeds", 1, "--epochs", 1, "--output", "out")
    code, out, err = zo_command(*command, "--json")
    assert (code, err) == (0, "")
    rows = {row["way"]: row for row in json.loads(out)}
    exact, same = rows["exact head; prefix"], rows["exact head; no reuse"]
    assert exact["network"] == same["network"]
    assert exact["macs"] < same["macs"]
    q64 = [rows[f"ZO, q = 64; {reuse}"] for reuse in ("prefix, signs", "prefix", "no reuse")]
    assert len({row["network"] for row in q64}) == 1
    assert q64[0]["macs"] == q64[1]["macs"] < q64[2]["macs"]
    assert q64[0]["random_bits"] < q64[1]["random_bits"]
    assert q64[0]["bytes_written"] < q64[1]["bytes_written"]
    assert "DIFFER" not in (tmp_path / "out" / "T14.md").read_text()
    out = zo_command(*command)[1]
    assert out.count("equal") == 3
    assert "…" not in out


def test_tables_of_two_shifts(tmp_path, monkeypatch, zo_command):
    """A light twin of the next."""
    monkeypatch.chdir(tmp_path)
    runs = [Repair(way, way, shift, 20, 8, seed) for seed in (0, 1) for shift in ("blur", "noise")
            for way in ("nothing", "statistics", "exact head")]  # fmt: skip
    monkeypatch.setitem(STUDIES, "T11", STUDIES["T11"]._replace(runs=lambda plan, task: runs))
    code, out, err = zo_command("reproduce", "T11", "--output", "out")
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    with (tmp_path / "out" / "T11.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [(row["way"], row["shift"], row["seed"]) for row in rows] == [
        (run.way, run.shift, str(run.seed)) for run in runs
    ]
    accuracies = [int(row["right"]) / 4.49 for row in rows if row["way"] == "statistics"]
    blur, noise = (np.mean(accuracies[i::2]) for i in (0, 1))
    text = (tmp_path / "out" / "T11.md").read_text()
    assert f"{blur:.1f}±" in text.partition("| blur |")[2].splitlines()[0].split("|")[1]
    assert f"{noise:.1f}±" in text.partition("| noise |")[2].splitlines()[0].split("|")[1]


@pytest.mark.full
def test_tables_under_ten_shifts(tmp_path, monkeypatch, zo_command):
    monkeypatch.chdir(tmp_path)
    command = ("reproduce", "T11", "--quick", "--seeds", 1, "--epochs", 1, "--output", "out")
    code, out, err = zo_command(*command)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    with (tmp_path / "out" / "T11.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 81
    assert {row["of"] for row in rows} == {"449"}
    assert (tmp_path / "out" / "T11.png").read_bytes().startswith(b"\x89PNG")
    text = (tmp_path / "out" / "T11.md").read_text()
    assert "## 20 labelled images: p of McNemar's test against the best other way" in text
    assert "task " in text
    again = json.loads(zo_command(*command, "--json")[1])
    assert [str(row["right"]) for row in again] == [row["right"] for row in rows]


def test_audit_takes_no_model(tmp_path, monkeypatch, zo_command):
    monkeypatch.chdir(tmp_path)
    command = ("reproduce", "T12", "--quick", "--seeds", 1, "--output", "out")
    code, out, err = zo_command(*command)
    assert (code, err) == (0, "")
    assert max(map(len, out.splitlines())) <= 80
    assert "…" not in out
    with (tmp_path / "out" / "T12.csv").open() as file:
        rows = list(csv.DictReader(file))
    bits = {(row["way"], row["start"]): int(row["bits"]) for row in rows}
    assert {count for (way, _), count in bits.items() if way.startswith("zo")} == {0}
    code, _, err = zo_command(*command, "--data", "digits")
    assert code == 2
    assert err.strip().endswith("T12: needs no --model and no --data, got --data")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("T4",), "T4: --model and --data must be given, got neither"),
        (("T4", "--data", "digits"), "T4: --model and --data must be given, got --data"),
        (
            ("T11", "--data", "digits"),
            "T11: --model and --data must be given together, or neither for the shipped digit "
            "reader, got --data; a network to train on --data is --network small",
        ),
        (("T11", "--network", "small"), "T11: --network must go with --data alone, got neither"),
        (("T12", "--network", "small"), "--network: must go with T7, T11 or T14, got T12"),
        (("T4", "--test", "9"), "--test: must go with T11 or T14, got T4"),
        (("T7", "--test", "9"), "--test: must go with T11 or T14, got T7"),
        (("T14", "--ways", "statistics"), "--ways: must go with T11, got T14"),
        (("T4", "--labels", "20"), "--labels: must go with T11, got T4"),
        (
            ("T11", "--ways", "statistics,prayer"),
            "T11: --ways must be of nothing, statistics, exact head, statistics + exact head, "
            "ZO first layer, ZO first layer + exact head, backprop first + head, backprop all, "
            "got 'prayer'",
        ),
        (
            ("T11", "--labels", "20,2000"),
            "T11: --labels must be 1078 images at most, the part that trains, got 2000",
        ),
    ],
)
def test_missing_inputs_are_refused(tmp_path, zo_command, arguments, message):
    code, out, err = zo_command("reproduce", *arguments, "--output", tmp_path / "out")
    assert (code, out) == (2, "")
    assert err.strip().endswith(message)
    assert not (tmp_path / "out").exists()
